//! Team pages: members, invitations, and handing a team over.

mod at_team;
mod ending;
mod member;
mod own;
mod people;
mod settings;
mod team;

use actix_web::web::ServiceConfig;
use service_kit::http::endpoint;

pub(super) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/teams").get(own::page))
        .service(
            endpoint("/teams/new")
                .get(own::create_page)
                .post(own::create),
        )
        .service(endpoint("/teams/invitations/accept").post(own::accept))
        .service(endpoint("/teams/invitations/decline").post(own::decline))
        .service(endpoint("/teams/{slug}").get(team::page))
        .service(
            endpoint("/teams/{slug}/settings")
                .get(settings::page)
                .post(settings::save),
        )
        .service(
            endpoint("/teams/{slug}/people")
                .get(people::page)
                .post(people::invite),
        )
        .service(endpoint("/teams/{slug}/people/add").post(people::add))
        .service(endpoint("/teams/{slug}/people/withdraw").post(people::withdraw))
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
                .get(ending::leave_page)
                .post(ending::leave),
        )
        .service(
            endpoint("/teams/{slug}/delete")
                .get(ending::delete_page)
                .post(ending::delete),
        );
}
