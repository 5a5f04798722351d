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
use super::access::{Recheck, StreamAccess};
use super::frame::{self, LastEventId};
use super::queries::{self, MOST_MISSED, UpdateWindow};
use super::update::{SessionUpdate, UpdateBatch};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::state::State;

/// Frames buffered for a client that does not read them yet.
const FRAMES: usize = 32;
/// How long a client can be away and still receive what it missed.
const MISSED: TimeDelta = TimeDelta::minutes(5);

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
    asked: StreamRequest,
) -> Result<impl futures_util::Stream<Item = Result<Bytes, Infallible>>, Error> {
    let slot = state.live.open(asked.user.id)?;
    let joined = state.live.join().await;
    let (batches, position) = joined.ok_or(DbError::Busy)?;
    let (frames, mut body) = mpsc::channel(FRAMES);
    let (changes, access) = watch::channel(StreamAccess::of(&asked.user));
    let recheck = Recheck {
        state: state.clone(),
        token: asked.token,
        request_id: asked.request_id.clone(),
        user: Arc::clone(&asked.user),
    };
    let stream = EventStream {
        user: asked.user.id,
        request_id: asked.request_id,
        last: asked.last,
        access,
        withheld: false,
        frames,
        state,
    };
    tokio::spawn(async move {
        stream.run(batches, position, recheck.run(changes)).await;
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
    Told(&'static str),
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
    withheld: bool,
}

impl EventStream {
    /// Sends events until there is a reason to end, such as the result of `recheck`. It then ends even while a frame waits for
    /// the client. Frames that are already buffered can still arrive.
    async fn run(
        mut self,
        batches: broadcast::Receiver<Arc<UpdateBatch>>,
        position: NaiveDateTime,
        recheck: impl Future<Output = &'static str>,
    ) {
        let (frames, hub) = (self.frames.clone(), Arc::clone(&self.state.live));
        let end = tokio::select! {
            biased;
            () = frames.closed() => StreamEnd::Silent,
            () = hub.stopped() => StreamEnd::Told("shutdown"),
            reason = recheck => StreamEnd::Told(reason),
            end = self.send_all(batches, position) => end,
        };
        if let StreamEnd::Told(reason) = end {
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
        match self.begin(position).await {
            Ok(()) => self.forward_updates(batches).await,
            Err(end) => end,
        }
    }

    /// Sends what the client missed, and then `hello`: every later change follows.
    async fn begin(&mut self, position: NaiveDateTime) -> Sent {
        self.send(Bytes::from_static(frame::RETRY.as_bytes()))
            .await?;
        let now = self.state.clock.now();
        match self.last {
            LastEventId::None => {}
            LastEventId::At(at) if (now.naive_utc() - at).abs() <= MISSED => {
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
        let missed = move |db: &mut Db| queries::missed(db, user, &teams, window);
        let mut rows = match self.state.read(missed).await {
            Ok(Some(rows)) if rows.len() < MOST_MISSED => rows,
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
                Ok(change) => self.tell(&change, position).await?,
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
        let every = self.state.live.config().heartbeat_seconds;
        let mut heartbeats = interval(Duration::from_secs(every));
        heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        heartbeats.reset();
        loop {
            let step = tokio::select! {
                biased;
                Ok(()) = self.access.changed() => self.report_withheld().await,
                batch = batches.recv() => self.pass(batch).await,
                _ = heartbeats.tick() => {
                    // The position is read first: its batch is already queued, so an empty queue means that the batch was sent.
                    let position = self.state.live.position().filter(|_| batches.is_empty());
                    self.send(frame::heartbeat(position)).await
                }
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    async fn pass(&mut self, batch: Result<Arc<UpdateBatch>, RecvError>) -> Sent {
        let batch = match batch {
            Ok(batch) => batch,
            Err(RecvError::Lagged(_)) => return self.ask_again("behind").await,
            Err(RecvError::Closed) => return Err(StreamEnd::Told("shutdown")),
        };
        match batch.as_ref() {
            UpdateBatch::Changes { before, changes } => {
                for change in changes {
                    self.tell(change, *before).await?;
                }
                Ok(())
            }
            UpdateBatch::TooMuch => self.ask_again("too_much").await,
        }
    }

    /// Sends the events of the change that the user may see.
    async fn tell(&mut self, change: &SessionUpdate, position: NaiveDateTime) -> Sent {
        if change.user == self.user {
            self.send(frame::event("timer", position, &change.timer))
                .await?;
            if let Some(points) = &change.points {
                self.send(frame::event("points", position, points)).await?;
            }
        }
        let (is_member, sure) = {
            let access = self.access.borrow();
            let is_among = |team| access.teams.contains(&team);
            (change.team.is_some_and(is_among), access.sure)
        };
        match &change.news {
            Some(news) if is_member && sure => {
                self.send(frame::event("team", position, news)).await
            }
            Some(_) if is_member => {
                self.withheld = true;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Sends `reset` if events were withheld, as soon as a validation is answered again.
    async fn report_withheld(&mut self) -> Sent {
        if self.withheld && self.access.borrow().sure {
            self.withheld = false;
            return self.ask_again("withheld").await;
        }
        Ok(())
    }

    /// Sends `reset`. `GET /api/sync/status` has what was left out, and every endpoint has the current state.
    async fn ask_again(&mut self, reason: &'static str) -> Sent {
        let position = self.state.live.position();
        let position = position.unwrap_or_else(|| self.state.clock.now_naive());
        self.reset(reason, position).await
    }

    async fn reset(&mut self, reason: &'static str, position: NaiveDateTime) -> Sent {
        let data = json!({ "reason": reason }).to_string();
        self.send(frame::event("reset", position, &data)).await
    }

    async fn send(&mut self, frame: Bytes) -> Sent {
        let unread = Duration::from_secs(self.state.live.config().unread_seconds);
        match timeout(unread, self.frames.send(frame)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(StreamEnd::Silent),
        }
    }
}
