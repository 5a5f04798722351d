// The main job with openapi-fetch and the types that openapi-typescript has generated.
import createClient from "openapi-fetch";
import type { paths as Identity } from "./identity.js";
import type { paths as Worksession } from "./worksession.js";

declare const process: { env: Record<string, string> };

const { IDENTITY, WORKSESSION, NAME } = process.env;
const PASSWORD = "correct horse battery";
const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Returns the body of a success, and fails for an error. */
function need<Body>({ data, error }: { data?: Body; error?: unknown }): Body {
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

const accounts = createClient<Identity>({ baseUrl: IDENTITY });
const timer = createClient<Worksession>({ baseUrl: WORKSESSION });

need(await accounts.POST("/api/auth/register", { body: { username: NAME, password: PASSWORD } }));
const pair = need(await accounts.POST("/api/auth/login", { body: { username: NAME, password: PASSWORD } }));
for (const client of [accounts, timer]) {
  client.use({
    onRequest({ request }) {
      request.headers.set("Authorization", `Bearer ${pair.access_token}`);
    },
  });
}

need(await accounts.POST("/api/teams", { body: { name: "Night shift", slug: NAME } }));
const { teams } = need(await accounts.GET("/api/teams"));
console.log("Teams:", ...teams.map((team) => team.slug));

const photo = await accounts.PUT("/api/auth/user/{user_id}/profile-photo", {
  params: { path: { user_id: pair.user.id } },
  body: { photo: PIXEL },
  bodySerializer() {
    const form = new FormData();
    const bytes = Uint8Array.from(atob(PIXEL), (letter) => letter.charCodeAt(0));
    form.set("photo", new Blob([bytes], { type: "image/png" }), "photo.png");
    return form;
  },
});
console.log("Photo:", need(photo).has_photo);

need(await timer.PUT("/api/user/preferences", { body: { leaderboard_opt_in: true } }));
const started = need(await timer.POST("/api/session/start", { body: { category: "coding", duration: 25 } }));
console.log("Planned:", started.presession.planned_duration);
const submitted = need(
  await timer.POST("/api/pomodoro/submit", {
    body: {
      session_id: started.session_id,
      start_time: started.started_at,
      end_time: started.started_at,
      quality_rating: 4,
    },
  }),
);
console.log("Status:", submitted.status);
const board = need(await timer.GET("/api/leaderboard", { params: { query: { period: "day" } } }));
console.log("Board:", board.period);
