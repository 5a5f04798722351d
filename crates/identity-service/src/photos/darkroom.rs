//! Where photos are made: off the async threads, as many at once as there are cores and memory for.

use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Bytes;
use image_kit::{Opened, Refused, Rules};
use service_kit::config::HttpGuardConfig;
use service_kit::guard::{GuardError, GuardOptions, GuardedClient};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::model::NewPhoto;
use crate::error::Error;

/// Pixels of an edge: the longest that is read, and the longest that is made.
const RULES: Rules = Rules {
    max_edge: 4096,
    made_edge: 512,
};
/// Memory, in MiB, that all photos under work take together.
const MEMORY_MIB: u32 = 192;
/// How many may wait, each with its file, and for how long. Who comes later is told to come back.
const MAX_WAITING: usize = 32;
const MAX_WAIT: Duration = Duration::from_secs(10);
/// How many are fetched at once, and how long one may take from the first packet to the last.
const MAX_FETCHES: usize = 16;
const FETCH_TIME: Duration = Duration::from_secs(5);

/// Makes photos of files, and fetches files.
pub(crate) struct Darkroom {
    /// Bytes of the largest file.
    pub(crate) max_bytes: usize,
    pub(super) client: GuardedClient,
    fetches: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    memory: Arc<Semaphore>,
    /// What each takes at the least, so that no more are at work than there are cores.
    share_mib: u32,
}

impl Darkroom {
    pub(crate) fn new(max_bytes: usize, http: &HttpGuardConfig) -> Result<Self, GuardError> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let client = GuardedClient::new(GuardOptions {
            timeout: FETCH_TIME,
            max_body: max_bytes,
            ..service_kit::start::guard_options(http)
        })?;
        Ok(Self {
            max_bytes,
            client,
            fetches: Arc::new(Semaphore::new(MAX_FETCHES)),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
            memory: Arc::new(Semaphore::new(
                usize::try_from(MEMORY_MIB).unwrap_or(usize::MAX),
            )),
            share_mib: MEMORY_MIB / u32::try_from(cores).unwrap_or(MEMORY_MIB).max(1),
        })
    }

    /// The photo that a file shows.
    pub(crate) async fn develop(&self, file: Bytes) -> Result<NewPhoto, Error> {
        if file.is_empty() {
            return Err(Error::Validation("the photo is empty".into()));
        }
        if file.len() > self.max_bytes {
            return Err(too_many_bytes());
        }
        let place = Arc::clone(&self.waiting)
            .try_acquire_owned()
            .map_err(|_| Error::PhotosWaiting)?;
        // A few milliseconds at most: nothing is decoded.
        let opened = image_kit::open(&file, RULES).map_err(refused)?;
        drop(file);
        let memory = self.memory_for(&opened).await?;
        drop(place);
        let task = tokio::task::spawn_blocking(move || {
            // Held by the thread, not by the request: a client that hangs up frees nothing.
            let _memory = memory;
            opened.shrink()
        });
        let picture = task
            .await
            .map_err(|error| Error::internal("photo thread", error))?
            .map_err(refused)?;
        Ok(NewPhoto::new(picture.format.media_type(), picture.bytes))
    }

    async fn memory_for(&self, opened: &Opened) -> Result<OwnedSemaphorePermit, Error> {
        let mib = u32::try_from(opened.memory() >> 20).unwrap_or(MEMORY_MIB);
        let mib = mib.max(self.share_mib).clamp(1, MEMORY_MIB);
        acquire(&self.memory, mib).await
    }

    /// A place among those who fetch.
    pub(super) async fn fetch_place(&self) -> Result<OwnedSemaphorePermit, Error> {
        acquire(&self.fetches, 1).await
    }
}

async fn acquire(semaphore: &Arc<Semaphore>, count: u32) -> Result<OwnedSemaphorePermit, Error> {
    tokio::time::timeout(MAX_WAIT, Arc::clone(semaphore).acquire_many_owned(count))
        .await
        .map_err(|_| Error::PhotosWaiting)?
        .map_err(|error| Error::internal("photo queue", error))
}

pub(super) fn too_many_bytes() -> Error {
    Error::PhotoTooLarge("the photo has too many bytes")
}

fn refused(why: Refused) -> Error {
    match why {
        Refused::TooLarge => Error::PhotoTooLarge("the photo has too many pixels"),
        Refused::Unsupported => Error::UnsupportedImage,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    #[tokio::test]
    async fn who_comes_when_everybody_waits_is_turned_away_at_once() {
        let darkroom = Darkroom::new(1024, &HttpGuardConfig::default()).unwrap();
        let all = darkroom.waiting.acquire_many(32).await.unwrap();
        let turned_away = darkroom.develop(Bytes::from_static(b"GIF89a")).await;
        assert!(matches!(turned_away, Err(Error::PhotosWaiting)));
        drop(all);
        let looked_at = darkroom.develop(Bytes::from_static(b"GIF89a")).await;
        assert!(matches!(looked_at, Err(Error::UnsupportedImage)));
    }
}
