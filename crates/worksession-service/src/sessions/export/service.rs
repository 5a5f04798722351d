use actix_web::web::Bytes;
use auth_types::UserId;
use chrono::NaiveDateTime;
use db_kit::Db;
use futures_util::Stream;
use futures_util::stream::try_unfold;

use super::format::ExportFormat;
use super::queries::{self, PAGE};
use super::wire::ExportQuery;
use crate::error::Error;
use crate::page::SessionCursor;
use crate::sessions::history::StartRange;
use crate::sessions::record::RecordRow;
use crate::state::State;

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
    let span = StartRange::parse(query.from.as_deref(), query.to.as_deref())?;
    let read = move |db: &mut Db| {
        let (from, until) = span.starts(db, user)?;
        Ok((
            queries::page(db, user, SessionCursor::at(from), until)?,
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
    /// Streams the file; each piece is read when it is needed. A failed read breaks the connection, so that a file
    /// with a proper end is complete.
    pub(super) fn into_stream(self) -> impl Stream<Item = Result<Bytes, Error>> {
        try_unfold(self, Self::piece)
    }

    async fn piece(mut self) -> Result<Option<(Bytes, Self)>, Error> {
        let (rows, first) = match std::mem::replace(&mut self.next, ExportStep::End) {
            ExportStep::First(rows) => (rows, true),
            ExportStep::After(place) => (self.read(place).await?, false),
            ExportStep::End => return Ok(None),
        };
        let mut piece = if first {
            self.format.head()?
        } else {
            Vec::new()
        };
        let last = rows
            .last()
            .map(|row| SessionCursor::of(row.started_at, &row.session_id));
        let more = last.filter(|_| rows.len() == PAGE);
        piece.extend(self.format.sessions(rows, first)?);
        match more {
            Some(place) => self.next = ExportStep::After(place),
            None => piece.extend(self.format.tail()),
        }
        Ok(Some((piece.into(), self)))
    }

    async fn read(&self, after: SessionCursor) -> Result<Vec<RecordRow>, Error> {
        let (user, until) = (self.user, self.until);
        let page = move |db: &mut Db| queries::page(db, user, after, until);
        let read = self.state.read(page).await;
        read.inspect_err(|cause| log::warn!("an export was aborted: {cause}"))
    }
}
