//! All sessions, with filters, in pages.

use actix_web::HttpResponse;
use askama::Template;
use messages::t;
use serde::Deserialize;
use service_kit::http::Query;
use web_kit::text::{Pager, with_query};

use crate::api::{Project, Projects, Session};
use crate::form_messages::FormMessages;
use crate::page_frame::PageFrame;
use crate::text::{self, TimeFormatter};
use crate::visitor::SignedInVisitor;

const PATH: &str = "/look-back/sessions";
const PAGE: &str = "25";

/// The filters of the list. An empty field does not filter.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct SessionFilter {
    status: String,
    project_id: String,
    category: String,
    tag: String,
    from: String,
    to: String,
    cursor: String,
}

#[derive(Default, Deserialize)]
struct SessionPage {
    sessions: Vec<Session>,
    next_cursor: Option<String>,
}

#[derive(Template)]
#[template(path = "history/session_list.html")]
struct SessionListPage<'a> {
    frame: PageFrame,
    filter: &'a SessionFilter,
    is_filtered: bool,
    projects: &'a [Project],
    zone: TimeFormatter,
    sessions: &'a [Session],
    pager: Pager,
}

impl SessionListPage<'_> {
    const STATUSES: [&'static str; 5] = [
        "completed",
        "partial",
        "running",
        "awaiting_submit",
        "abandoned",
    ];

    /// Returns what the user wrote last about a session.
    fn note(session: &Session) -> &str {
        match session.note.as_str() {
            "" => &session.planning_note,
            note => note,
        }
    }
}

pub(super) async fn page(
    user: SignedInVisitor,
    query: Query<SessionFilter>,
) -> actix_web::Result<HttpResponse> {
    let filter = query.0;
    let (call, path) = (user.call(), filter.request());
    let (data, projects, found) = tokio::join!(
        call.user_data(),
        call.get::<Projects>("/api/all-projects?archived=true"),
        call.get::<SessionPage>(&path),
    );
    let (data, projects) = (user.on(data)?, user.on(projects)?);
    let (messages, found) = match user.split_rejection(found)? {
        Ok(found) => (FormMessages::default(), found),
        Err(refused) => (
            refused.messages(&["from", "to", "tag"]),
            SessionPage::default(),
        ),
    };
    let page = SessionListPage {
        frame: user.frame(t("history-sessions"), &data).with(messages),
        is_filtered: filter.is_filtered(),
        projects: &projects.projects,
        zone: TimeFormatter::new(&data.timezone),
        sessions: &found.sessions,
        pager: filter.pager(found.next_cursor.as_deref()),
        filter: &filter,
    };
    Ok(user.show(page.frame.status(), &page))
}

impl SessionFilter {
    fn pairs<'a>(&'a self, cursor: &'a str) -> [(&'static str, &'a str); 7] {
        [
            ("status", &self.status),
            ("project_id", &self.project_id),
            ("category", &self.category),
            ("tag", &self.tag),
            ("from", &self.from),
            ("to", &self.to),
            ("cursor", cursor),
        ]
    }

    fn request(&self) -> String {
        let [status, project, category, tag, from, to, cursor] = self.pairs(&self.cursor);
        let limit = ("limit", PAGE);
        let pairs = [status, project, category, tag, from, to, cursor, limit];
        with_query("/api/sessions", &pairs)
    }

    fn is_filtered(&self) -> bool {
        self.pairs("").iter().any(|(_, value)| !value.is_empty())
    }

    /// Returns the links of the list. Cursors only lead forward, so the way back is to the beginning.
    fn pager(&self, next: Option<&str>) -> Pager {
        Pager {
            previous: (!self.cursor.is_empty()).then(|| with_query(PATH, &self.pairs(""))),
            next: next.map(|cursor| with_query(PATH, &self.pairs(cursor))),
        }
    }
}
