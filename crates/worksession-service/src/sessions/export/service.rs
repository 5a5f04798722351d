use actix_web::web::Bytes;
use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use futures_util::Stream;
use futures_util::stream::try_unfold;

use super::format::ExportFormat;
use super::queries::{self, PAGE};
use super::wire::ExportQuery;
use crate::app_state::State;
use crate::error::Error;
use crate::pagination::SessionCursor;
use crate::sessions::history::StartRange;
use crate::sessions::record::RecordRow;

/// An export in progress. It holds at most one page of sessions, and only a position between two pages.
pub(super) struct Export {
    state: State,
    user: UserId,
    pub(super) format: ExportFormat,
    until: NaiveDateTime,
    next: ExportStep,
}

enum ExportStep {
    /// The first page, read before the response begins, so that an early failure still gives an error response.
    First(Vec<RecordRow>),
    After(SessionCursor),
    End,
}

/// Begins an export of the user's sessions, oldest first.
///
/// # Errors
/// 400 for invalid parameters, 503 when the database is unavailable.
pub(super) async fn open(state: State, user: UserId, query: ExportQuery) -> Result<Export, Error> {
    let format = query.format.as_deref().unwrap_or("json").parse()?;
    let range = StartRange::parse(query.from.as_deref(), query.to.as_deref())?;
    let read = move |db: &mut Db| {
        let (from, until) = range.starts(db, user)?;
        Ok((
            queries::list_page(db, user, SessionCursor::before(from), until)?,
            until,
        ))
    };
    let (rows, until) = state.read(read).await?;
    Ok(Export {
        state,
        user,
        format,
        until,
        next: ExportStep::First(rows),
    })
}

impl Export {
    /// Streams the file; each chunk is read when it is needed. A failed read breaks the connection, so that a file
    /// with a proper end is complete.
    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Bytes, Error>> {
        try_unfold(self, Self::next_chunk)
    }

    async fn next_chunk(mut self) -> Result<Option<(Bytes, Self)>, Error> {
        let (rows, is_first) = match std::mem::replace(&mut self.next, ExportStep::End) {
            ExportStep::First(rows) => (rows, true),
            ExportStep::After(cursor) => (self.read(cursor).await?, false),
            ExportStep::End => return Ok(None),
        };
        let mut chunk = match is_first {
            true => self.format.head()?,
            false => Vec::new(),
        };
        let last = rows
            .last()
            .map(|row| SessionCursor::new(row.started_at, &row.session_id));
        let next = last.filter(|_| rows.len() == PAGE);
        chunk.extend(self.format.sessions(rows, is_first)?);
        match next {
            Some(cursor) => self.next = ExportStep::After(cursor),
            None => chunk.extend(self.format.tail()),
        }
        Ok(Some((chunk.into(), self)))
    }

    async fn read(&self, after: SessionCursor) -> Result<Vec<RecordRow>, Error> {
        let (user, until) = (self.user, self.until);
        let page = move |db: &mut Db| queries::list_page(db, user, after, until);
        let read = self.state.read(page).await;
        read.inspect_err(|cause| log::warn!("an export was aborted: {cause}"))
    }
}
