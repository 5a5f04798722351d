//! Creates profile photos from uploaded files. Work runs on blocking threads, limited by the number of cores and by memory.

use std::sync::Arc;
use std::time::Duration;

use actix_web::web::Bytes;
use auth_types::UserId;
use image_kit::{ImageError, ImageLimits};
use service_kit::config::HttpGuardConfig;
use service_kit::guard::{GuardError, GuardOptions, GuardedClient};
use service_kit::http::{BodyBudget, BodyHolder, BodyPermit};
use service_kit::memory_budget::MemoryBudget;
use tokio::sync::Semaphore;

use crate::error::Error;
use crate::photos::model::NewPhoto;

/// The maximum number of pixels of a source image.
const MAX_PIXELS: u64 = 50_000_000;
/// The maximum memory for one photo, in MiB, if the budget for all photos allows it.
const MAX_PHOTO_MIB: u32 = 64;
/// The longest edge of a finished photo, in pixels.
const MADE_EDGE: u32 = 512;
/// How long a photo waits for memory.
const MAX_WAIT: Duration = Duration::from_secs(10);
const FETCH_TIME: Duration = Duration::from_secs(5);

/// Turns uploaded files into profile photos, and fetches files from user-supplied addresses.
pub(crate) struct PhotoProcessor {
    /// The maximum size of a file, in bytes.
    pub(crate) max_bytes: usize,
    pub(crate) client: GuardedClient,
    bodies: BodyBudget,
    /// The memory budget of all photos in progress; one permit is one MiB.
    memory: Arc<Semaphore>,
    memory_mib: u32,
    /// The minimum memory that each photo reserves, in MiB, so that no more photos are in progress than there are cores.
    share_mib: u32,
}

impl PhotoProcessor {
    pub(crate) fn new(
        max_bytes: usize,
        http: &HttpGuardConfig,
        bodies: BodyBudget,
    ) -> Result<Self, GuardError> {
        let client = GuardedClient::new(GuardOptions {
            timeout: FETCH_TIME,
            max_body: max_bytes,
            ..service_kit::start::guard_options(http)
        })?;
        let memory = MemoryBudget::of_this_process().photos >> 20;
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let memory_mib = u32::try_from(memory).unwrap_or(u32::MAX).max(1);
        Ok(Self {
            max_bytes,
            client,
            bodies,
            memory: Arc::new(Semaphore::new(usize::try_from(memory_mib).unwrap_or(1))),
            memory_mib,
            share_mib: (memory_mib / u32::try_from(cores).unwrap_or(1)).max(1),
        })
    }

    /// Decodes a file and shrinks it to a photo. The caller holds the file's permit of the body budget.
    pub(crate) async fn process(&self, file: Bytes) -> Result<NewPhoto, Error> {
        if file.is_empty() {
            return Err(Error::Validation("the photo is empty".into()));
        }
        if file.len() > self.max_bytes {
            return Err(too_many_bytes(self.max_bytes));
        }
        let rules = ImageLimits {
            max_pixels: MAX_PIXELS,
            max_memory: u64::from(MAX_PHOTO_MIB.min(self.memory_mib)) << 20,
            made_edge: MADE_EDGE,
        };
        // Reads only the container, which takes a few milliseconds at most.
        let opened = image_kit::open(&file, rules).map_err(refused)?;
        drop(file);
        let mib = u32::try_from(opened.memory().div_ceil(1 << 20)).unwrap_or(u32::MAX);
        let mib = mib.max(self.share_mib).min(self.memory_mib);
        let memory = Arc::clone(&self.memory).acquire_many_owned(mib);
        let memory = tokio::time::timeout(MAX_WAIT, memory)
            .await
            .map_err(|_| Error::PhotosWaiting)?
            .map_err(|error| Error::internal("photo queue", error))?;
        let task = tokio::task::spawn_blocking(move || {
            // The thread holds the memory, not the request. A client that disconnects does not free it early.
            let _memory = memory;
            opened.shrink()
        });
        match task.await {
            Ok(made) => made
                .map(|picture| NewPhoto::new(picture.format.media_type(), picture.bytes))
                .map_err(refused),
            // A panic in the decoder, which a crafted file may provoke.
            Err(error) => {
                log::error!("a photo could not be decoded: {error}");
                Err(Error::UnsupportedImage)
            }
        }
    }

    /// Reserves memory for a file that is fetched for this account.
    pub(crate) fn room_to_fetch(&self, account: UserId) -> Result<Option<BodyPermit>, Error> {
        let holder = BodyHolder::Account(account.get());
        let room = self.bodies.take(holder, self.max_bytes);
        room.map_err(|_| Error::PhotosWaiting)
    }
}

pub(crate) fn too_many_bytes(most: usize) -> Error {
    Error::PhotoTooLarge(format!("the photo has more than {most} bytes"))
}

fn refused(why: ImageError) -> Error {
    match why {
        ImageError::TooLarge(exceeded) => Error::PhotoTooLarge(exceeded.to_string()),
        ImageError::Unsupported => Error::UnsupportedImage,
    }
}
