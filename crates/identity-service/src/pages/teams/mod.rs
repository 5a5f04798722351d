//! Team pages: members, invitations, and handing a team over.

mod add_members;
mod leave_or_delete;
mod member;
mod overview;
mod own_teams;
mod settings;
mod team_context;

use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;

pub(super) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/teams").get(own_teams::page))
        .service(
            endpoint("/teams/new")
                .get(own_teams::create_page)
                .post(own_teams::create),
        )
        .service(endpoint("/teams/invitations/accept").post(own_teams::accept))
        .service(endpoint("/teams/invitations/decline").post(own_teams::decline))
        .service(endpoint("/teams/{slug}").get(overview::page))
        .service(
            endpoint("/teams/{slug}/settings")
                .get(settings::page)
                .post(settings::save),
        )
        .service(
            endpoint("/teams/{slug}/people")
                .get(add_members::page)
                .post(add_members::invite),
        )
        .service(endpoint("/teams/{slug}/people/add").post(add_members::add))
        .service(endpoint("/teams/{slug}/people/withdraw").post(add_members::withdraw))
        .service(
            endpoint("/teams/{slug}/members/{username}")
                .get(member::page)
                .post(member::change_role),
        )
        .service(
            endpoint("/teams/{slug}/members/{username}/remove")
                .get(member::remove_page)
                .post(member::remove),
        )
        .service(
            endpoint("/teams/{slug}/members/{username}/hand-over")
                .get(member::hand_over_page)
                .post(member::hand_over),
        )
        .service(
            endpoint("/teams/{slug}/leave")
                .get(leave_or_delete::leave_page)
                .post(leave_or_delete::leave),
        )
        .service(
            endpoint("/teams/{slug}/delete")
                .get(leave_or_delete::delete_page)
                .post(leave_or_delete::delete),
        );
}
