use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use messages::t;
use serde::Deserialize;
use service_kit::http::Query;
use web_kit::text::{Pager, with_query};

use super::bodies::{Leaderboard, PERIODS, period};
use crate::page_frame::PageFrame;
use crate::text;
use crate::visitor::SignedInVisitor;

const PATH: &str = "/leaderboard";

#[derive(Deserialize)]
pub(super) struct BoardQuery {
    period: Option<String>,
    #[serde(default)]
    cursor: String,
}

#[derive(Template)]
#[template(path = "team/leaderboard.html")]
struct BoardPage {
    frame: PageFrame,
    period: &'static str,
    /// The path of the links to periods.
    board_path: &'static str,
    board: Leaderboard,
    pager: Pager,
    opted_in: bool,
}

/// Shows the leaderboard of everybody who has opted in.
pub(super) async fn page(
    user: SignedInVisitor,
    query: Query<BoardQuery>,
) -> actix_web::Result<HttpResponse> {
    let (call, period) = (user.call(), period(query.0.period.as_deref()));
    let pairs = [("period", period), ("cursor", &*query.0.cursor)];
    let path = with_query("/api/leaderboard", &pairs);
    let (data, board) = user.on(tokio::try_join!(
        call.user_data(),
        call.get::<Leaderboard>(&path),
    ))?;
    let first = with_query(PATH, &[("period", period)]);
    let next = board.next_cursor.as_deref();
    let page = BoardPage {
        frame: user.frame(t("team-leaderboard"), &data),
        pager: Pager {
            previous: (!query.0.cursor.is_empty()).then_some(first),
            next: next.map(|next| with_query(PATH, &[("period", period), ("cursor", next)])),
        },
        opted_in: data.preferences.leaderboard_opt_in,
        board_path: PATH,
        period,
        board,
    };
    Ok(user.show(StatusCode::OK, &page))
}
