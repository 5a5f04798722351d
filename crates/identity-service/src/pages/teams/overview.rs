//! One team and its members.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use askama::Template;
use auth_types::TeamRole;
use service_kit::http::Query;

use super::team_context::TeamPageContext;
use crate::error::Error;
use crate::pages::form_messages::{ListQuery, done_message};
use crate::pages::page_frame::PageFrame;
use crate::pages::text::{self, Pager};
use crate::photos::public_url;
use crate::teams::authorization::TeamMember;
use crate::teams::members;
use crate::teams::model::TeamRow;
use crate::teams::wire::{Member, PageQuery};

const PAGE: i64 = 100;

#[derive(Template)]
#[template(path = "teams/overview.html")]
struct TeamPage<'a> {
    frame: PageFrame,
    path: String,
    team: &'a TeamRow,
    role: TeamRole,
    members: Vec<MemberView>,
    total: i64,
    pager: Pager,
}

struct MemberView {
    member: Member,
    photo: Option<String>,
    initial: char,
    is_me: bool,
    /// Whether the viewer may change or remove the member.
    may_change: bool,
}

pub(super) async fn page(
    team: TeamPageContext<TeamMember>,
    query: Query<ListQuery>,
) -> Result<HttpResponse, Error> {
    let ListQuery { done, offset } = query.0;
    let path = team.path();
    let (visitor, member) = (team.visitor, team.member);
    let wanted = PageQuery {
        limit: Some(PAGE),
        offset: Some(offset),
    };
    let found = members::list_members(&visitor.app, &member, wanted).await?;
    let (me, role) = (member.caller.account.id, member.role);
    let listed = |listed: Member| MemberView {
        photo: on_this_host(&listed),
        initial: text::initial(&listed.username),
        is_me: listed.user_id == me,
        may_change: role >= TeamRole::Admin
            && listed.role != TeamRole::Owner
            && listed.user_id != me,
        member: listed,
    };
    let messages = done_message(done.as_deref());
    let page = TeamPage {
        frame: visitor.frame(&member.team.name).with(messages),
        team: &member.team,
        role,
        pager: Pager::by_offset(&path, offset, PAGE, found.total),
        members: found.members.into_iter().map(listed).collect(),
        total: found.total,
        path,
    };
    Ok(visitor.show(StatusCode::OK, &page))
}

/// Returns the photo's path on this host. Pages load images only from the host that serves them.
fn on_this_host(member: &Member) -> Option<String> {
    let address = member.profile_photo_url.as_deref()?;
    let (_, version) = address.split_once("?v=")?;
    public_url("", member.user_id, Some(version))
}
