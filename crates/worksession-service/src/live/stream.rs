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
use super::change::{Batch, Change};
use super::frame::{self, LastEvent};
use super::queries::{self, MOST_MISSED, Span};
use super::standing::{Recheck, Standing};
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::state::State;

/// Frames that wait for a client to read them.
const FRAMES: usize = 32;
/// How long a client may have been away and still be told what it missed.
const MISSED: TimeDelta = TimeDelta::minutes(5);

/// Who asks for a stream, and from where on.
pub(super) struct Asked {
    pub(super) user: Arc<CurrentUser>,
    pub(super) token: String,
    pub(super) request_id: RequestId,
    pub(super) last: LastEvent,
}

/// Opens a stream: what its task sends, for as long as it sends. Dropped when the client is gone, which the task sees.
///
/// # Errors
/// 429 and 503 when there is no place for another one, 503 when the database is not read.
pub(super) async fn open(
    state: State,
    asked: Asked,
) -> Result<impl futures_util::Stream<Item = Result<Bytes, Infallible>>, Error> {
    let place = state.live.open(asked.user.id)?;
    let joined = state.live.join().await;
    let (batches, position) = joined.ok_or(DbError::Busy)?;
    let (frames, mut body) = mpsc::channel(FRAMES);
    let (changes, standing) = watch::channel(Standing::of(&asked.user));
    let recheck = Recheck {
        state: state.clone(),
        token: asked.token,
        request_id: asked.request_id.clone(),
        user: Arc::clone(&asked.user),
    };
    let stream = Stream {
        user: asked.user.id,
        request_id: asked.request_id,
        last: asked.last,
        standing,
        withheld: false,
        frames,
        state,
    };
    tokio::spawn(async move {
        stream.run(batches, position, recheck.run(changes)).await;
        drop(place);
    });
    Ok(poll_fn(move |cx| body.poll_recv(cx)).map(Ok))
}

/// Why a stream ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The client went, or reads too slowly to be told so.
    Silent,
    /// The client is told why.
    Told(&'static str),
}

struct Stream {
    state: State,
    user: UserId,
    request_id: RequestId,
    last: LastEvent,
    frames: mpsc::Sender<Bytes>,
    standing: watch::Receiver<Standing>,
    /// Whether something was not passed on because the standing was not known.
    withheld: bool,
}

impl Stream {
    /// Tells the client until there is a reason to end, such as `recheck` gives. It ends then, even in the middle of a
    /// frame that the client does not take; what it has not taken of those before may still reach it.
    async fn run(
        mut self,
        batches: broadcast::Receiver<Arc<Batch>>,
        position: NaiveDateTime,
        recheck: impl Future<Output = &'static str>,
    ) {
        let (frames, hub) = (self.frames.clone(), Arc::clone(&self.state.live));
        let end = tokio::select! {
            biased;
            () = frames.closed() => End::Silent,
            () = hub.stopped() => End::Told("shutdown"),
            reason = recheck => End::Told(reason),
            end = self.tell_all(batches, position) => end,
        };
        if let End::Told(reason) = end {
            let last = frame::end(&json!({ "reason": reason }).to_string());
            // Who does not take it now sees the stream end all the same.
            drop(frames.try_send(last));
        }
    }

    async fn tell_all(
        &mut self,
        batches: broadcast::Receiver<Arc<Batch>>,
        position: NaiveDateTime,
    ) -> End {
        match self.begin(position).await {
            Ok(()) => self.pass_on(batches).await,
            Err(end) => end,
        }
    }

    /// What comes first: what was missed, and that from now on nothing is.
    async fn begin(&mut self, position: NaiveDateTime) -> Result<(), End> {
        self.send(Bytes::from_static(frame::RETRY.as_bytes()))
            .await?;
        let now = self.state.clock.now();
        match self.last {
            LastEvent::None => {}
            LastEvent::At(at) if (now.naive_utc() - at).abs() <= MISSED => {
                self.make_up(at, position).await?;
            }
            LastEvent::At(_) | LastEvent::Unreadable => self.reset("unknown", position).await?,
        }
        let hello = json!({ "server_time": now }).to_string();
        self.send(frame::event("hello", position, &hello)).await
    }

    /// Tells what happened after `at` once more, since the client may have missed it.
    async fn make_up(&mut self, at: NaiveDateTime, position: NaiveDateTime) -> Result<(), End> {
        let (user, after) = (self.user, at - OVERLAP);
        let teams = self.standing.borrow().teams.clone();
        let span = Span {
            after,
            now: self.state.clock.now_naive(),
        };
        let missed = move |db: &mut Db| queries::missed(db, user, &teams, span);
        let mut rows = match self.state.read(missed).await {
            Ok(Some(rows)) if rows.len() < MOST_MISSED => rows,
            Ok(_) => return self.reset("too_much", position).await,
            Err(cause) => {
                log::warn!(request_id:% = self.request_id; "missed events: {cause}");
                return self.reset("unknown", position).await;
            }
        };
        rows.sort_unstable_by_key(|row| (row.changed_at, row.seq));
        for row in rows {
            // Who is cut off once more goes on from here; in the same order nothing before it is missing.
            let position = at.max(row.changed_at);
            match Change::new(row, None, after) {
                Ok(change) => self.tell(&change, position).await?,
                Err(cause) => log::error!(request_id:% = self.request_id; "{cause}"),
            }
        }
        Ok(())
    }

    /// Passes on what is handed out until there is a reason to end.
    async fn pass_on(&mut self, mut batches: broadcast::Receiver<Arc<Batch>>) -> End {
        let every = self.state.live.config().heartbeat_seconds;
        let mut heartbeats = interval(Duration::from_secs(every));
        heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        heartbeats.reset();
        loop {
            let step = tokio::select! {
                biased;
                Ok(()) = self.standing.changed() => self.make_known().await,
                batch = batches.recv() => self.pass(batch).await,
                _ = heartbeats.tick() => {
                    // In this order: a batch is there before the position that it leads to.
                    let position = self.state.live.position().filter(|_| batches.is_empty());
                    self.send(frame::heartbeat(position)).await
                }
            };
            if let Err(end) = step {
                return end;
            }
        }
    }

    async fn pass(&mut self, batch: Result<Arc<Batch>, RecvError>) -> Result<(), End> {
        let batch = match batch {
            Ok(batch) => batch,
            Err(RecvError::Lagged(_)) => return self.ask_again("behind").await,
            Err(RecvError::Closed) => return Err(End::Told("shutdown")),
        };
        match batch.as_ref() {
            Batch::Changes { before, changes } => {
                for change in changes {
                    self.tell(change, *before).await?;
                }
                Ok(())
            }
            Batch::TooMuch => self.ask_again("too_much").await,
        }
    }

    /// Tells the client what of this change is for it.
    async fn tell(&mut self, change: &Change, position: NaiveDateTime) -> Result<(), End> {
        if change.user == self.user {
            self.send(frame::event("timer", position, &change.timer))
                .await?;
            if let Some(points) = &change.points {
                self.send(frame::event("points", position, points)).await?;
            }
        }
        let (is_member, sure) = {
            let standing = self.standing.borrow();
            let is_among = |team| standing.teams.contains(&team);
            (change.team.is_some_and(is_among), standing.sure)
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

    /// Says that something was left out, once it is known again what the user may see.
    async fn make_known(&mut self) -> Result<(), End> {
        if self.withheld && self.standing.borrow().sure {
            self.withheld = false;
            return self.ask_again("withheld").await;
        }
        Ok(())
    }

    /// What was left out is in `GET /api/sync/status`, and the present state everywhere.
    async fn ask_again(&mut self, reason: &'static str) -> Result<(), End> {
        let position = self.state.live.position();
        let position = position.unwrap_or_else(|| self.state.clock.now_naive());
        self.reset(reason, position).await
    }

    async fn reset(&mut self, reason: &'static str, position: NaiveDateTime) -> Result<(), End> {
        let data = json!({ "reason": reason }).to_string();
        self.send(frame::event("reset", position, &data)).await
    }

    async fn send(&mut self, frame: Bytes) -> Result<(), End> {
        let unread = Duration::from_secs(self.state.live.config().unread_seconds);
        match timeout(unread, self.frames.send(frame)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(End::Silent),
        }
    }
}
