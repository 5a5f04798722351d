use actix_web::HttpResponse;
use askama::Template;
use chrono::{DateTime, Utc};
use secrecy::ExposeSecret as _;
use serde::Deserialize;
use service_kit::crypto::random_token;

use super::timer::Timer;
use crate::api::{ApiError, Project, Projects, Session, Tracking, UserData};
use crate::assets::{LIVE, TIMER};
use crate::frame::PageFrame;
use crate::notices::FormMessages;
use crate::text::{self, TimeFormatter};
use crate::visitor::Member;

/// Sessions that are loaded: the running one is the newest, and those not yet submitted are among the last.
const LOOKED_AT: usize = 12;
/// Sessions in the list of the last ones.
const LISTED: usize = 5;

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Start {
    #[serde(default)]
    pub(super) category: String,
    #[serde(default)]
    pub(super) duration: String,
    #[serde(default)]
    pub(super) project_id: String,
    #[serde(default)]
    pub(super) note: String,
    /// The same for every submission of one page, so that a second press starts no second session.
    #[serde(default)]
    pub(super) once: String,
}

/// Everything that the page shows, from the services' responses.
pub(super) struct Day {
    data: UserData,
    /// The newest first.
    sessions: Vec<Session>,
    projects: Vec<Project>,
    today: Tracking,
}

#[derive(Deserialize)]
struct Sessions {
    sessions: Vec<Session>,
}

#[derive(Template)]
#[template(path = "today/page.html")]
struct TodayPage<'a> {
    frame: PageFrame,
    day: String,
    now: String,
    sound: &'a str,
    timer: &'static str,
    live: &'static str,
    running: Option<Running>,
    waiting: Vec<Row>,
    recent: Vec<Row>,
    start: Start,
    strict: bool,
    categories: Vec<&'a str>,
    projects: Vec<ProjectGroup>,
    progress: Progress,
    short_break: i64,
    long_break: i64,
}

/// The running session, with its plan.
struct Running {
    id: String,
    category: String,
    project: String,
    planned: String,
    note: String,
    timer: Timer,
}

impl std::ops::Deref for Running {
    type Target = Timer;

    fn deref(&self) -> &Timer {
        &self.timer
    }
}

struct Row {
    id: String,
    category: String,
    project: String,
    planned: String,
    from: String,
    when: String,
    credited: String,
}

/// The projects of one team, or the user's own.
struct ProjectGroup {
    name: String,
    projects: Vec<Project>,
}

struct Progress {
    sessions: i64,
    goal: i64,
    /// The sessions as the progress bar shows them, at most the goal.
    shown: i64,
    minutes: String,
    points: String,
    total: String,
    streak: String,
}

impl Day {
    /// Loads everything at once.
    pub(super) async fn load(member: &Member) -> Result<Self, ApiError> {
        let call = member.call();
        let newest = format!("/api/sessions?limit={LOOKED_AT}");
        let (data, sessions, projects, today) = tokio::try_join!(
            call.get("/api/user/data"),
            call.get::<Sessions>(&newest),
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
    pub(super) fn likely_start(&self) -> Start {
        let last = self.sessions.first();
        let project = last.map(|session| session.project.id.as_str());
        let is_there = |id: &&str| self.projects.iter().any(|project| project.id == *id);
        let favorite = || self.data.session_stats.favorite_category.clone();
        Start {
            category: last.map_or_else(favorite, |session| session.category.clone()),
            duration: self.data.preferences.default_duration.to_string(),
            project_id: project.filter(is_there).unwrap_or("none").to_owned(),
            note: String::new(),
            once: random_token().expose_secret().to_owned(),
        }
    }

    pub(super) fn show(
        &self,
        member: &Member,
        notices: FormMessages,
        start: Start,
    ) -> HttpResponse {
        let (data, dashboard) = (&self.data, &member.visitor.dashboard);
        let (face, now) = (TimeFormatter::of(&data.timezone), dashboard.clock.now());
        let running = self.sessions.iter().find(|it| it.status == "running");
        let running = running.map(|session| Running::new(session, now, face));
        let title = match &running {
            Some(running) => format!("{} · {}", running.left, running.name),
            None => "Today".to_owned(),
        };
        let of_status = |is_it: fn(&str) -> bool| {
            let found = self.sessions.iter().filter(move |it| is_it(&it.status));
            found.map(move |session| Row::new(session, face))
        };
        let settings = &dashboard.settings;
        let page = TodayPage {
            frame: member.frame(&title, data).with(notices),
            day: face.day(&now),
            now: text::machine(&now),
            sound: &data.preferences.notification_sound,
            timer: TIMER.path(),
            live: LIVE.path(),
            running,
            waiting: of_status(|status| status == "awaiting_submit").collect(),
            recent: of_status(|status| matches!(status, "completed" | "partial"))
                .take(LISTED)
                .collect(),
            start,
            strict: settings.strict_categories,
            categories: self.categories(&settings.categories),
            projects: groups(&self.projects),
            progress: self.progress(),
            short_break: data.preferences.short_break_duration,
            long_break: data.preferences.long_break_duration,
        };
        member.show(page.frame.status(), &page)
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

    fn progress(&self) -> Progress {
        let today = self.today.buckets.last();
        let worked = today.map(|day| day.worked).unwrap_or_default();
        let goal = self.data.preferences.daily_goal;
        Progress {
            sessions: worked.sessions,
            goal,
            shown: worked.sessions.min(goal),
            minutes: text::minutes(worked.minutes),
            points: text::points(self.data.points.today),
            total: text::points(self.data.points.total),
            streak: match self.data.streaks.current {
                0 => "none yet; ten minutes begin one".to_owned(),
                days => text::count(days, "day"),
            },
        }
    }
}

impl Running {
    fn new(session: &Session, now: DateTime<Utc>, face: TimeFormatter) -> Self {
        let span = (session.started_at, session.expected_end_at);
        let name = session.category.clone();
        Self {
            id: session.session_id.clone(),
            category: session.category.clone(),
            project: match session.project.name.as_str() {
                "" => "No project".to_owned(),
                name => name.to_owned(),
            },
            planned: text::minutes(session.planned_duration),
            note: session.planning_note.clone(),
            timer: Timer::new(span, now, face, name, "Time is up"),
        }
    }
}

impl Row {
    fn new(session: &Session, face: TimeFormatter) -> Self {
        Self {
            id: session.session_id.clone(),
            category: session.category.clone(),
            project: session.project.name.clone(),
            planned: text::minutes(session.planned_duration),
            from: face.time(&session.started_at),
            when: face.moment(&session.started_at),
            credited: text::minutes(session.credited_minutes),
        }
    }
}

fn groups(projects: &[Project]) -> Vec<ProjectGroup> {
    let mut groups: Vec<ProjectGroup> = Vec::new();
    for project in projects {
        let name = project.team_name.as_deref().unwrap_or("Personal");
        match groups.iter_mut().find(|group| group.name == name) {
            Some(group) => group.projects.push(project.clone()),
            None => groups.push(ProjectGroup {
                name: name.to_owned(),
                projects: vec![project.clone()],
            }),
        }
    }
    groups
}
