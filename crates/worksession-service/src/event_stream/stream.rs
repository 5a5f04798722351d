use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Bytes;
use auth_types::UserId;
use chrono::{NaiveDateTime, TimeDelta};
use db_kit::{Db, DbError};
use futures_util::stream::{StreamExt as _, poll_fn};
use serde_json::json;
use service_kit::http::RequestId;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::OVERLAP;
use super::access::{AccessCheck, StreamAccess};
use super::frame::{self, LastEventId};
use super::queries::{self, MAX_MISSED, UpdateWindow};
use super::update::{SessionUpdate, UpdateBatch};
use crate::app_state::State;
use crate::auth::CurrentUser;
use crate::error::Error;

/// Frames buffered for a client that does not read them yet.
const FRAMES: usize = 32;
/// How long a client can be away and still receive what it missed.
const MAX_AWAY: TimeDelta = TimeDelta::minutes(5);

/// The request for a stream.
pub(super) struct StreamRequest {
    pub(super) user: Arc<CurrentUser>,
    pub(super) token: String,
    pub(super) request_id: RequestId,
    pub(super) last: LastEventId,
}

/// Opens a stream and returns its frames. When the client disconnects they are dropped, which ends the stream's task.
///
/// # Errors
/// 429 and 503 when there are too many streams, 503 when the database is not read.
pub(super) async fn open(
    state: State,
    request: StreamRequest,
) -> Result<impl futures_util::Stream<Item = Result<Bytes, Infallible>>, Error> {
    let slot = state.streams.open(request.user.id)?;
    let joined = state.streams.join().await;
    let (batches, position) = joined.ok_or(DbError::Busy)?;
    let (frames, mut body) = mpsc::channel(FRAMES);
    let (changes, access) = watch::channel(StreamAccess::for_user(&request.user));
    let check = AccessCheck {
        state: state.clone(),
        token: request.token,
        request_id: request.request_id.clone(),
        user: Arc::clone(&request.user),
    };
    let stream = EventStream {
        user: request.user.id,
        request_id: request.request_id,
        last: request.last,
        access,
        has_withheld: false,
        frames,
        state,
    };
    tokio::spawn(async move {
        stream.run(batches, position, check.run(changes)).await;
        drop(slot);
    });
    Ok(poll_fn(move |cx| body.poll_recv(cx)).map(Ok))
}

/// Why a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StreamEnd {
    /// The client disconnected, or reads too slowly to receive a reason.
    Silent,
    /// The client receives the reason.
    WithReason(&'static str),
}

/// Nothing, or why the stream ends.
type Sent = Result<(), StreamEnd>;

struct EventStream {
    state: State,
    user: UserId,
    request_id: RequestId,
    last: LastEventId,
    frames: mpsc::Sender<Bytes>,
    access: watch::Receiver<StreamAccess>,
    /// Whether a team event was withheld because the last validation was not answered.
    has_withheld: bool,
}

impl EventStream {
    /// Sends events until there is a reason to end, such as the result of `check`. It then ends even while a frame waits for
    /// the client. Frames that are already buffered can still arrive.
    async fn run(
        mut self,
        batches: broadcast::Receiver<Arc<UpdateBatch>>,
        position: NaiveDateTime,
        check: impl Future<Output = &'static str>,
    ) {
        let (frames, hub) = (self.frames.clone(), Arc::clone(&self.state.streams));
        let end = tokio::select! {
            biased;
            () = frames.closed() => StreamEnd::Silent,
            () = hub.wait_until_stopped() => StreamEnd::WithReason("shutdown"),
            reason = check => StreamEnd::WithReason(reason),
            end = self.send_all(batches, position) => end,
        };
        if let StreamEnd::WithReason(reason) = end {
            let last = frame::end(&json!({ "reason": reason }).to_string());
            // A client that does not read this still sees the stream end.
            drop(frames.try_send(last));
        }
    }

    async fn send_all(
        &mut self,
        batches: broadcast::Receiver<Arc<UpdateBatch>>,
        position: NaiveDateTime,
    ) -> StreamEnd {
        match self.send_first(position).await {
            Ok(()) => self.forward_updates(batches).await,
            Err(end) => end,
        }
    }

    /// Sends what the client missed, and then `hello`: every later change follows.
    async fn send_first(&mut self, position: NaiveDateTime) -> Sent {
        self.send(Bytes::from_static(frame::RETRY.as_bytes()))
            .await?;
        let now = self.state.clock.now();
        match self.last {
            LastEventId::None => {}
            LastEventId::At(at) if (now.naive_utc() - at).abs() <= MAX_AWAY => {
                self.send_missed(at, position).await?;
            }
            LastEventId::At(_) | LastEventId::Unreadable => self.reset("unknown", position).await?,
        }
        let hello = json!({ "server_time": now }).to_string();
        self.send(frame::event("hello", position, &hello)).await
    }

    /// Sends the changes after `at` again, because the client may have missed them.
    async fn send_missed(&mut self, at: NaiveDateTime, position: NaiveDateTime) -> Sent {
        let (user, after) = (self.user, at - OVERLAP);
        let teams = self.access.borrow().teams.clone();
        let window = UpdateWindow {
            after,
            now: self.state.clock.now_naive(),
        };
        let missed = move |db: &mut Db| queries::list_missed(db, user, &teams, window);
        let mut rows = match self.state.read(missed).await {
            Ok(Some(rows)) if rows.len() < MAX_MISSED => rows,
            Ok(_) => return self.reset("too_much", position).await,
            Err(cause) => {
                log::warn!(request_id:% = self.request_id; "missed events could not be read: {cause}");
                return self.reset("unknown", position).await;
            }
        };
        rows.sort_unstable_by_key(|row| (row.changed_at, row.seq));
        for row in rows {
            // A client that disconnects again resumes here. Because of the order nothing before it is missing.
            let position = at.max(row.changed_at);
            match SessionUpdate::new(row, None, after) {
                Ok(change) => self.send_change(&change, position).await?,
                Err(cause) => log::error!(request_id:% = self.request_id; "{cause}"),
            }
        }
        Ok(())
    }

    /// Sends the batches until there is a reason to end.
    async fn forward_updates(
        &mut self,
        mut batches: broadcast::Receiver<Arc<UpdateBatch>>,
    ) -> StreamEnd {
        let every = self.state.streams.config().heartbeat_seconds;
        let mut heartbeats = interval(Duration::from_secs(every));
        heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        heartbeats.reset();
        loop {
            let step = tokio::select! {
                biased;
                Ok(()) = self.access.changed() => self.report_withheld().await,
                batch = batches.recv() => self.send_batch(batch).await,
                _ = heartbeats.tick() => {
                    // The position is read first: its batch is already queued, so an empty queue means that the batch was sent.
                    let position = self.state.streams.position().filter(|_| batches.is_empty());
                    self.send(frame::heartbeat(position)).await
                }
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    async fn send_batch(&mut self, batch: Result<Arc<UpdateBatch>, RecvError>) -> Sent {
        let batch = match batch {
            Ok(batch) => batch,
            Err(RecvError::Lagged(_)) => return self.reset_now("behind").await,
            Err(RecvError::Closed) => return Err(StreamEnd::WithReason("shutdown")),
        };
        match batch.as_ref() {
            UpdateBatch::Changes { before, changes } => {
                for change in changes {
                    self.send_change(change, *before).await?;
                }
                Ok(())
            }
            UpdateBatch::TooMuch => self.reset_now("too_much").await,
        }
    }

    /// Sends the events of the change that the user may see.
    async fn send_change(&mut self, change: &SessionUpdate, position: NaiveDateTime) -> Sent {
        if change.user == self.user {
            self.send(frame::event("timer", position, &change.timer))
                .await?;
            if let Some(points) = &change.points {
                self.send(frame::event("points", position, points)).await?;
            }
        }
        let (is_member, is_verified) = {
            let access = self.access.borrow();
            let is_in = |team| access.teams.contains(&team);
            (change.team.is_some_and(is_in), access.is_verified)
        };
        match &change.team_event {
            Some(event) if is_member && is_verified => {
                self.send(frame::event("team", position, event)).await
            }
            Some(_) if is_member => {
                self.has_withheld = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Sends `reset` if events were withheld, as soon as a validation is answered again.
    async fn report_withheld(&mut self) -> Sent {
        if self.has_withheld && self.access.borrow().is_verified {
            self.has_withheld = false;
            return self.reset_now("withheld").await;
        }
        Ok(())
    }

    /// Sends `reset`. `GET /api/sync/status` has what was left out, and every endpoint has the current state.
    async fn reset_now(&mut self, reason: &'static str) -> Sent {
        let position = self.state.streams.position();
        let position = position.unwrap_or_else(|| self.state.clock.now_naive());
        self.reset(reason, position).await
    }

    async fn reset(&mut self, reason: &'static str, position: NaiveDateTime) -> Sent {
        let data = json!({ "reason": reason }).to_string();
        self.send(frame::event("reset", position, &data)).await
    }

    async fn send(&mut self, frame: Bytes) -> Sent {
        let unread = Duration::from_secs(self.state.streams.config().unread_seconds);
        match timeout(unread, self.frames.send(frame)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(StreamEnd::Silent),
        }
    }
}
