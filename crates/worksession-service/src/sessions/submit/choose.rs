use chrono::NaiveDateTime;

use crate::error::Error;
use crate::rules::locked::{self, Given, Plan};
use crate::sessions::model::SessionRow;
use crate::sessions::wire::Submission;

/// What a submit is about.
#[derive(Debug)]
pub(super) enum Choice {
    /// A session that was not submitted yet.
    Session(SessionRow),
    /// The same submit came before; this was the answer.
    Answered(String),
    /// Locked fields differ from the plan of this session.
    Differs(SessionRow, Vec<&'static str>),
}

/// Chooses among the sessions that were read: the named one, or all open ones and those that the same
/// submit closed before.
///
/// # Errors
/// Not found, none open, or submitted with other values.
pub(super) fn choose(
    rows: Vec<SessionRow>,
    submission: &Submission,
    digest: &str,
    now: NaiveDateTime,
) -> Result<Choice, Error> {
    let given_project = submission.project.map(|project| project.to_string());
    let given = Given {
        category: submission.category.as_deref(),
        duration: submission.duration,
        project_id: given_project.as_deref(),
        planning_note: None,
    };
    let differences = |row: &SessionRow| {
        let plan = Plan {
            category: &row.category,
            duration: row.planned_duration.into(),
            project_id: &row.project_id,
            planning_note: &row.planning_note,
        };
        locked::differences(&plan, &given)
    };
    if submission.session_id.is_some() {
        let row = rows.into_iter().next().ok_or(Error::SessionNotFound)?;
        let differing = differences(&row);
        return judge(row, differing, digest);
    }
    let distance = |row: &SessionRow| (row.started_at - submission.start_time).abs();
    let (matching, others): (Vec<_>, Vec<_>) = rows
        .into_iter()
        .partition(|row| differences(row).is_empty());
    // A repeated submit goes before what is open and nearer: the nearest is told by the client's clock, and
    // with a wrong one a lost answer must not cost the session that runs now.
    let repeated = |row: &SessionRow| (row.submit_digest.as_deref() != Some(digest), distance(row));
    if let Some(row) = matching.into_iter().min_by_key(repeated) {
        return judge(row, Vec::new(), digest);
    }
    let nearest = others
        .into_iter()
        .filter(|row| row.is_open(now))
        .min_by_key(distance);
    let row = nearest.ok_or(Error::NoOpenSession)?;
    let differing = differences(&row);
    Ok(Choice::Differs(row, differing))
}

fn judge(row: SessionRow, differing: Vec<&'static str>, digest: &str) -> Result<Choice, Error> {
    if row.submitted_at.is_none() {
        return Ok(if differing.is_empty() {
            Choice::Session(row)
        } else {
            Choice::Differs(row, differing)
        });
    }
    match row.submit_result {
        Some(answer) if differing.is_empty() && row.submit_digest.as_deref() == Some(digest) => {
            Ok(Choice::Answered(answer))
        }
        _ => Err(Error::AlreadySubmitted),
    }
}
