use std::time::{Duration, Instant};

use chrono::TimeDelta;
use serde_json::{Value, json};
use test_kit::{TestBackend, wait_until};

use crate::caller::{Caller, changed, honest};
use crate::open_transaction::{OpenTransaction, until_lock_waits};
use crate::service_fixture::Service;

impl Caller<'_> {
    async fn board(&self, query: &str) -> Value {
        let path = format!("/api/leaderboard?{query}");
        self.get(&path).await.expect(200).json()
    }

    async fn opt_in(&self, wish: bool) {
        let call = self
            .service
            .api
            .put("/api/user/preferences")
            .bearer(&self.token);
        let call = call.json(json!({"leaderboard_opt_in": wish}));
        call.send().await.expect(200);
    }

    /// Works on a project of the team and submits it.
    async fn work_on(&self, project: &str, minutes: i64) {
        let plan = json!({"category": "coding", "duration": minutes, "project_id": project});
        let started = self.start(plan).await;
        self.service.clock.advance(TimeDelta::minutes(minutes));
        self.submit(honest(&started, self.service))
            .await
            .expect(200);
    }
}

/// Returns rank, name and minutes of the entries.
fn entries(board: &Value) -> Vec<(i64, String, i64)> {
    let read = |entry: &Value| {
        let number = |name: &str| entry[name].as_i64().unwrap();
        let name = entry["username"].as_str().unwrap().to_owned();
        (number("rank"), name, number("minutes"))
    };
    board["entries"]
        .as_array()
        .unwrap()
        .iter()
        .map(read)
        .collect()
}

fn entry(rank: i64, user: i64, minutes: i64) -> (i64, String, i64) {
    (rank, format!("person{user}"), minutes)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_global_leaderboard_shows_users_who_opted_in() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let (eve, bob) = (Caller::outsider(&service, 8), Caller::member(&service, 9));
    bob.opt_in(true).await;
    eve.work("coding", 50).await;
    bob.work("coding", 25).await;
    let board = eve.board("").await;
    assert_eq!(
        board,
        json!({
            "success": true,
            "period": "week",
            "entries": [{"rank": 1, "user_id": 9, "username": "person9", "points": 2.55, "minutes": 25, "sessions": 1}],
            "me": null,
            "next_cursor": null,
        })
    );
    assert_eq!(bob.board("period=day").await["me"], board["entries"][0]);
    eve.opt_in(true).await;
    let both = [entry(1, 8, 50), entry(2, 9, 25)];
    for period in ["day", "week", "month", "all"] {
        let board = eve.board(&format!("period={period}")).await;
        assert_eq!(entries(&board), both, "earlier sessions count: {period}");
        assert_eq!(board["me"]["rank"], 1);
    }
    eve.opt_in(false).await;
    assert_eq!(entries(&bob.board("period=all").await), [entry(1, 9, 25)]);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_team_leaderboard_counts_the_teams_projects_and_is_for_its_members() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let (one, two) = (Caller::member(&service, 8), Caller::member(&service, 9));
    let outsider = Caller::outsider(&service, 10);
    let owner = Caller {
        service: &service,
        token: "user-".to_owned(),
    };
    let project = owner.team_project().await;
    one.work_on(&project, 30).await;
    one.work("coding", 200).await;
    two.work_on(&project, 40).await;
    let expected = [entry(1, 9, 40), entry(2, 8, 30)];
    for slug in ["engines", "Engines", "ENGINES"] {
        let board = one.board(&format!("team={slug}")).await;
        assert_eq!(
            entries(&board),
            expected,
            "nobody opted in, and nobody needs to: {slug}"
        );
        assert_eq!(board["me"]["minutes"], 30);
    }
    let refused = json!({"error": "Not authorized to access this team's leaderboard"});
    for slug in ["engines", "nobody", "", "0", "%00"] {
        let path = format!("/api/leaderboard?team={slug}");
        let reply = outsider.get(&path).await;
        if slug == "%00" {
            // NUL never reaches a query.
            assert!([400, 403].contains(&reply.status));
        } else {
            assert_eq!(reply.expect(403).json(), refused, "{slug}");
        }
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_belongs_to_the_utc_periods_of_its_start() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let caller = Caller::outsider(&service, 8);
    caller.set_zone("Pacific/Auckland").await;
    caller.opt_in(true).await;
    // Monday 23 November 2026, 09:00; then Sunday 29, 23:50, into Monday; Tuesday 1 December.
    caller.work("coding", 10).await;
    service
        .clock
        .advance(TimeDelta::minutes(6 * 24 * 60 + 14 * 60 + 40));
    caller.work("coding", 20).await;
    let minutes = async |period: &str| {
        let board = caller.board(&format!("period={period}")).await;
        entries(&board).first().map_or(0, |entry| entry.2)
    };
    assert_eq!(
        minutes("day").await,
        0,
        "it is Monday, and that was Sunday's"
    );
    assert_eq!(minutes("week").await, 0);
    assert_eq!(minutes("month").await, 30);
    service.clock.advance(TimeDelta::hours(36));
    caller.work("coding", 40).await;
    assert_eq!(minutes("day").await, 40);
    assert_eq!(minutes("week").await, 40);
    assert_eq!(minutes("month").await, 40);
    assert_eq!(minutes("all").await, 70);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ties_rank_by_who_reached_the_points_first_and_an_empty_session_keeps_the_rank() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let callers: Vec<_> = [12, 11, 10].map(|id| Caller::outsider(&service, id)).into();
    for caller in &callers {
        caller.opt_in(true).await;
        caller.work("coding", 25).await;
    }
    let expected = [entry(1, 12, 25), entry(2, 11, 25), entry(3, 10, 25)];
    assert_eq!(entries(&callers[0].board("period=all").await), expected);
    // A session that earns nothing does not change when the points were reached.
    let started = callers[0].start_coding().await;
    callers[0]
        .submit(honest(&started, &service))
        .await
        .expect(200);
    assert_eq!(entries(&callers[0].board("period=all").await), expected);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_suspect_session_does_not_count_for_the_leaderboard() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    let caller = Caller::outsider(&service, 8);
    caller.opt_in(true).await;
    caller.work("coding", 25).await;
    // An end time in the future.
    let started = caller.start_coding().await;
    service.clock.advance(TimeDelta::minutes(25));
    let ahead = service.time.now() + TimeDelta::minutes(10);
    let body = changed(honest(&started, &service), &json!({"end_time": ahead}));
    let answer = caller.submit(body).await.expect(200).json();
    assert_eq!(answer["credited_minutes"], 25, "it is credited");
    // Three attempts to change the plan.
    let started = caller.start_coding().await;
    service.clock.advance(TimeDelta::minutes(25));
    let honest = honest(&started, &service);
    for category in ["a", "b", "c"] {
        let other = changed(honest.clone(), &json!({ "category": category }));
        caller.submit(other).await.expect(422);
    }
    caller.submit(honest).await.expect(200);
    assert_eq!(
        entries(&caller.board("period=all").await),
        [entry(1, 8, 25)]
    );
    assert_eq!(caller.data().await["session_stats"]["total_minutes"], 75);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn leaderboard_pages_are_contiguous_and_invalid_queries_are_refused() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    for id in 20..27 {
        let caller = Caller::outsider(&service, id);
        caller.opt_in(true).await;
        caller.work("coding", id - 10).await;
    }
    let caller = Caller::outsider(&service, 20);
    let (mut read, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = caller.board(&format!("period=all&limit=3{cursor}")).await;
        read.extend(entries(&page));
        assert_eq!(page["me"]["rank"], 7, "on every page");
        let Some(next) = page["next_cursor"].as_str() else {
            break;
        };
        cursor = format!("&cursor={next}");
    }
    let expected: Vec<_> = (1..8)
        .map(|rank| entry(rank, 27 - rank, 17 - rank))
        .collect();
    assert_eq!(read, expected);
    for (query, error) in [
        ("period=year", "period must be one of day, week, month, all"),
        ("limit=0", "limit must be 1 to 200"),
        ("limit=201", "limit must be 1 to 200"),
        ("limit=-1", "limit must be 1 to 200"),
        ("limit=ten", "limit must be 1 to 200"),
        ("cursor=5", "cursor is not valid"),
    ] {
        let reply = caller.get(&format!("/api/leaderboard?{query}")).await;
        assert_eq!(
            reply.expect(400).json(),
            json!({ "error": error }),
            "{query}"
        );
    }
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cached_leaderboard_is_refreshed() {
    let (service, _identity) = Service::with_leaderboard_cache(1).await;
    let caller = Caller::outsider(&service, 8);
    caller.opt_in(true).await;
    assert_eq!(entries(&caller.board("period=all").await), []);
    caller.work("coding", 25).await;
    wait_until(
        "the board to show it",
        Duration::from_secs(10),
        async || (entries(&caller.board("period=all").await) == [entry(1, 8, 25)]).then_some(()),
    )
    .await;
    service.stop().await;
}

/// PostgreSQL only: in SQLite no reader waits for another connection.
#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_a_leaderboard_fails_after_two_seconds() {
    if TestBackend::current() != TestBackend::Postgres {
        return;
    }
    let (service, _identity) = Service::with_fake_identity(0).await;
    let caller = Caller::outsider(&service, 8);
    let locked = OpenTransaction::begin(&service, "LOCK TABLE board IN ACCESS EXCLUSIVE MODE");
    let first = caller.board("period=all");
    let second = async {
        until_lock_waits(&service, 1).await;
        let began = Instant::now();
        let refused = caller.get("/api/leaderboard?period=day").await.expect(503);
        let took = began.elapsed();
        assert_eq!(refused.json(), json!({"error": "Database unavailable"}));
        assert_eq!(refused.header("retry-after"), "2");
        assert!((1_900..4_000).contains(&took.as_millis()), "{took:?}");
        locked.commit();
    };
    let (board, ()) = tokio::join!(first, second);
    assert_eq!(entries(&board), []);
    service.stop().await;
}
