use std::collections::{HashMap, HashSet};

use actix_web::web::Bytes;
use auth_types::{AccountRole, UserId};

use super::model::{PhotoOwner, PhotoOwnerRow, PhotoRow};
use super::queries;
use super::wire::{PhotosRequest, PhotosResponse, ProfilePhotoMeta};
use crate::accounts::name_to_look_up;
use crate::app::App;
use crate::auth::CurrentUser;
use crate::error::Error;
use crate::request_context::RequestContext;

/// The maximum number of ids and names in one request.
const MAX_BATCH: usize = 200;

/// Whether the caller sees inactive accounts: only a SUPERADMIN does.
pub(super) fn sees_inactive(caller: &CurrentUser) -> Result<bool, Error> {
    Ok(caller.account.role()? == AccountRole::Superadmin)
}

/// Replaces the caller's photo.
pub(crate) async fn put(
    app: &App,
    id: UserId,
    file: Bytes,
    context: &RequestContext,
) -> Result<ProfilePhotoMeta, Error> {
    let photo = app.photos.process(file).await?;
    app.transact(context, move |tx| {
        let owner = queries::set(tx.db, id, &photo, tx.now.naive_utc())?
            // The account was deleted or deactivated after the token was checked.
            .ok_or(Error::TokenRevoked)?;
        tx.user_changed(id)?;
        Ok(owner.to_wire(tx.base_url))
    })
    .await
}

/// Deletes the caller's photo, if there is one.
pub(crate) async fn remove(app: &App, id: UserId, context: &RequestContext) -> Result<(), Error> {
    app.transact(context, move |tx| {
        if queries::clear(tx.db, id, tx.now.naive_utc())? {
            tx.user_changed(id)?;
        }
        Ok(())
    })
    .await
}

/// Returns whether an account has a photo, and its address.
pub(super) async fn get_meta(
    app: &App,
    segment: &str,
    sees_inactive: bool,
) -> Result<ProfilePhotoMeta, Error> {
    let owner = PhotoOwner::of_segment(segment).ok_or(Error::UserNotFound)?;
    let owner = get_owner(app, owner, sees_inactive).await?;
    Ok(owner.to_wire(&app.base_url))
}

async fn get_owner(
    app: &App,
    owner: PhotoOwner,
    sees_inactive: bool,
) -> Result<PhotoOwnerRow, Error> {
    app.read(move |db| queries::find_owner(db, &owner))
        .await?
        .filter(|owner| owner.is_active || sees_inactive)
        .ok_or(Error::UserNotFound)
}

/// Returns the photo addresses of many accounts. Unknown accounts are left out.
pub(super) async fn list_meta(
    app: &App,
    request: PhotosRequest,
    sees_inactive: bool,
) -> Result<PhotosResponse, Error> {
    let ids = request.user_ids.unwrap_or_default();
    let names = request.usernames.unwrap_or_default();
    if ids.len() + names.len() > MAX_BATCH {
        return Err(Error::Validation(
            "user_ids and usernames must have at most 200 entries together".into(),
        ));
    }
    let names: Vec<String> = names.iter().map(|name| name_to_look_up(name)).collect();
    let asked: Vec<PhotoOwner> = ids
        .iter()
        .map(|id| PhotoOwner::Id(*id))
        .chain(names.iter().cloned().map(PhotoOwner::Name))
        .collect();
    let rows = app
        .read(move |db| queries::list_owners(db, &ids, &names))
        .await?;
    let rows: Vec<PhotoOwnerRow> = rows
        .into_iter()
        .filter(|row| row.is_active || sees_inactive)
        .collect();
    let by_id = rows.iter().map(|row| (PhotoOwner::Id(row.id), row));
    let by_name = rows
        .iter()
        .map(|row| (PhotoOwner::Name(row.username_lower.clone()), row));
    let known: HashMap<PhotoOwner, &PhotoOwnerRow> = by_id.chain(by_name).collect();
    let mut answered = HashSet::new();
    let users: Vec<ProfilePhotoMeta> = asked
        .iter()
        .filter_map(|owner| known.get(owner))
        .filter(|row| answered.insert(row.id))
        .map(|row| row.to_wire(&app.base_url))
        .collect();
    let total = users.len();
    Ok(PhotosResponse { users, total })
}

pub(super) struct PhotoFile {
    pub(super) version: String,
    /// Whether anybody may see the photo, so that shared caches may store it.
    pub(super) is_public: bool,
    /// `None` if the caller already has this version.
    pub(super) content: Option<PhotoRow>,
}

/// Returns an account's photo. Its bytes are read only if the caller does not have the current version.
pub(super) async fn get_file(
    app: &App,
    segment: &str,
    sees_inactive: bool,
    has: impl Fn(&str) -> bool,
) -> Result<PhotoFile, Error> {
    let id = segment.parse().map_err(|_| Error::UserNotFound)?;
    let owner = get_owner(app, PhotoOwner::Id(id), sees_inactive).await?;
    let version = owner.photo_version.ok_or(Error::PhotoNotFound)?;
    let is_public = owner.is_active;
    if has(&version) {
        return Ok(PhotoFile {
            version,
            is_public,
            content: None,
        });
    }
    let row = app.read(move |db| queries::find_photo(db, id)).await?;
    // The photo may have changed meanwhile, so the version comes from the row that is sent.
    let row = row.ok_or(Error::PhotoNotFound)?;
    Ok(PhotoFile {
        version: row.version.clone().ok_or(Error::PhotoNotFound)?,
        is_public,
        content: Some(row),
    })
}
