use actix_web::HttpResponse;
use askama::Template;
use chrono::{DateTime, Utc};
use messages::{Text, t};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use service_kit::crypto::random_token;

use super::timer::Timer;
use crate::api::{ApiError, Project, Projects, Session, SessionTotals, Tracking, UserData};
use crate::assets::{LIVE, TIMER};
use crate::form_messages::FormMessages;
use crate::page_frame::PageFrame;
use crate::text::{self, TimeFormatter};
use crate::visitor::SignedInVisitor;

/// Sessions that are loaded: the running one is the newest, and those not yet submitted are among the last.
const LOADED_SESSIONS: usize = 12;
/// Sessions in the list of the last ones.
const RECENT_SESSIONS: usize = 5;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct StartForm {
    #[serde(default)]
    pub(super) category: String,
    #[serde(default)]
    pub(super) duration: String,
    #[serde(default)]
    pub(super) project_id: String,
    #[serde(default)]
    pub(super) note: String,
    /// The same for every submission of one page, so that a second press starts no second session.
    #[serde(default, rename = "once")]
    pub(super) idempotency_key: String,
}

/// Everything that the page shows, from the services' responses.
pub(super) struct TodayData {
    data: UserData,
    /// The newest first.
    sessions: Vec<Session>,
    projects: Vec<Project>,
    today: Tracking,
}

#[derive(Deserialize)]
struct RecentSessions {
    sessions: Vec<Session>,
}

#[derive(Template)]
#[template(path = "today/page.html")]
struct TodayPage<'a> {
    frame: PageFrame,
    day: Text,
    now: String,
    sound: &'a str,
    timer: &'static str,
    live: &'static str,
    zone: TimeFormatter,
    running: Option<RunningTimer>,
    waiting: Vec<&'a Session>,
    recent: Vec<&'a Session>,
    start: StartForm,
    strict: bool,
    categories: Vec<&'a str>,
    projects: Vec<ProjectGroup>,
    data: &'a UserData,
    worked: SessionTotals,
    /// The sessions as the progress bar shows them, at most the goal.
    shown: i64,
}

/// The running session, with its plan.
struct RunningTimer {
    id: String,
    category: String,
    /// Empty for none.
    project: String,
    planned: String,
    note: String,
    timer: Timer,
}

impl std::ops::Deref for RunningTimer {
    type Target = Timer;

    fn deref(&self) -> &Timer {
        &self.timer
    }
}

/// The projects of one team, or the user's own.
struct ProjectGroup {
    name: String,
    projects: Vec<Project>,
}

impl TodayData {
    pub(super) async fn load(user: &SignedInVisitor) -> Result<Self, ApiError> {
        let call = user.call();
        let newest = format!("/api/sessions?limit={LOADED_SESSIONS}");
        let (data, sessions, projects, today) = tokio::try_join!(
            call.user_data(),
            call.get::<RecentSessions>(&newest),
            call.get::<Projects>("/api/all-projects"),
            call.get("/api/analytics/tracking?group=day"),
        )?;
        Ok(Self {
            data,
            sessions: sessions.sessions,
            projects: projects.projects,
            today,
        })
    }

    /// Returns the start that is likely: the default duration, with the category and project of the last session.
    pub(super) fn likely_start(&self) -> StartForm {
        let last = self.sessions.first();
        let project = last.map(|session| session.project.id.as_str());
        let is_there = |id: &&str| self.projects.iter().any(|project| project.id == *id);
        let favorite = || self.data.session_stats.favorite_category.clone();
        StartForm {
            category: last.map_or_else(favorite, |session| session.category.clone()),
            duration: self.data.preferences.default_duration.to_string(),
            project_id: project.filter(is_there).unwrap_or("none").to_owned(),
            note: String::new(),
            idempotency_key: random_token().expose_secret().to_owned(),
        }
    }

    pub(super) fn show(
        &self,
        user: &SignedInVisitor,
        messages: FormMessages,
        start: StartForm,
    ) -> HttpResponse {
        let (data, dashboard) = (&self.data, &user.visitor.dashboard);
        let (zone, now) = (TimeFormatter::new(&data.timezone), dashboard.clock.now());
        let running = self.sessions.iter().find(|it| it.status == "running");
        let running = running.map(|session| RunningTimer::new(session, now, zone));
        let title = match &running {
            Some(running) => format!("{} · {}", running.left, running.name),
            None => t("today-title").into(),
        };
        let of_status =
            |is_it: fn(&str) -> bool| self.sessions.iter().filter(move |it| is_it(&it.status));
        let settings = &dashboard.settings;
        let worked = self.today.buckets.last().map(|day| day.worked);
        let worked = worked.unwrap_or_default();
        let page = TodayPage {
            frame: user.frame(&title, data).with(messages),
            day: zone.day(&now),
            now: text::machine(&now),
            sound: &data.preferences.notification_sound,
            timer: TIMER.path(),
            live: LIVE.path(),
            zone,
            running,
            waiting: of_status(|status| status == "awaiting_submit").collect(),
            recent: of_status(|status| matches!(status, "completed" | "partial"))
                .take(RECENT_SESSIONS)
                .collect(),
            start,
            strict: settings.strict_categories,
            categories: self.categories(&settings.categories),
            projects: groups(&self.projects),
            data,
            worked,
            shown: worked.sessions.min(data.preferences.daily_goal),
        };
        user.show(page.frame.status(), &page)
    }

    /// Lists the categories of the last sessions, and then the suggested ones.
    fn categories<'a>(&'a self, suggested: &'a [String]) -> Vec<&'a str> {
        let mut all: Vec<&str> = Vec::new();
        let own = self.sessions.iter().map(|session| &session.category);
        for name in own.chain(suggested) {
            if !all.contains(&name.as_str()) {
                all.push(name);
            }
        }
        all
    }
}

impl RunningTimer {
    fn new(session: &Session, now: DateTime<Utc>, zone: TimeFormatter) -> Self {
        let span = (session.started_at, session.expected_end_at);
        let name = session.category.clone();
        Self {
            id: session.session_id.clone(),
            category: session.category.clone(),
            project: session.project.name.clone(),
            planned: text::minutes(session.planned_duration),
            note: session.planning_note.clone(),
            timer: Timer::new(span, now, zone, name, t("today-time-up")),
        }
    }
}

fn groups(projects: &[Project]) -> Vec<ProjectGroup> {
    let mut groups: Vec<ProjectGroup> = Vec::new();
    for project in projects {
        let team = project.team_name.clone();
        let name = team.unwrap_or_else(|| t("today-personal-projects").into());
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.projects.push(project.clone()),
            None => groups.push(ProjectGroup {
                name,
                projects: vec![project.clone()],
            }),
        }
    }
    groups
}
