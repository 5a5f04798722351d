//! Leaderboards by UTC day, week, month and all time: of everybody who opted in, or of a team's members on its projects.
//! Each submit updates the rows. A request reads a whole board, which is then cached for a few seconds. A page and a rank
//! therefore cost the same, however many users are on the board.

mod cache;
mod model;
mod queries;
pub(crate) mod routes;
mod service;
mod wire;

pub(crate) use cache::LeaderboardCache;
pub(crate) use routes::configure;
