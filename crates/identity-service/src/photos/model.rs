use auth_types::UserId;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use diesel::prelude::*;
use service_kit::crypto::sha256;

use super::wire::ProfilePhotoMeta;
use crate::accounts::name_to_look_up;
use crate::schema::{profile_photos, users};

/// How many bytes of a photo's hash form its version.
const VERSION_BYTES: usize = 12;

pub(crate) struct NewPhoto {
    pub(super) content_type: &'static str,
    pub(super) bytes: Vec<u8>,
    /// A prefix of the hash of the bytes, so that it changes with the photo.
    pub(crate) version: String,
}

impl NewPhoto {
    pub(crate) fn new(content_type: &'static str, bytes: Vec<u8>) -> Self {
        let hash = sha256(&bytes);
        let prefix = hash.get(..VERSION_BYTES).unwrap_or(&hash);
        Self {
            content_type,
            version: URL_SAFE_NO_PAD.encode(prefix),
            bytes,
        }
    }
}

/// Returns the public address of an account's photo. It changes with the photo, so its responses can be cached forever.
pub(crate) fn public_url(base_url: &str, id: UserId, version: Option<&str>) -> Option<String> {
    version.map(|version| format!("{base_url}/api/public/user/{id}/profile-photo/file?v={version}"))
}

/// The id or username by which a request names an account.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum PhotoOwner {
    Id(UserId),
    /// The username in lower case.
    Name(String),
}

impl PhotoOwner {
    /// Parses a path segment. Digits are always an id, even if they are some account's username. Returns `None` for digits
    /// that are no valid id.
    pub(super) fn of_segment(segment: &str) -> Option<Self> {
        let segment = segment.trim();
        if segment.bytes().all(|byte| byte.is_ascii_digit()) {
            segment.parse().ok().map(Self::Id)
        } else {
            Some(Self::name(segment))
        }
    }

    pub(super) fn name(name: &str) -> Self {
        Self::Name(name_to_look_up(name))
    }
}

/// The columns of an account that its photo needs.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct PhotoOwnerRow {
    pub(super) id: UserId,
    pub(super) username: String,
    pub(super) username_lower: String,
    pub(super) is_active: bool,
    pub(super) photo_version: Option<String>,
}

impl PhotoOwnerRow {
    pub(super) fn to_wire(&self, base_url: &str) -> ProfilePhotoMeta {
        ProfilePhotoMeta {
            user_id: self.id,
            username: self.username.clone(),
            profile_photo_url: public_url(base_url, self.id, self.photo_version.as_deref()),
            has_photo: self.photo_version.is_some(),
        }
    }
}

#[derive(Queryable, Selectable)]
#[diesel(table_name = profile_photos)]
pub(crate) struct PhotoRow {
    #[diesel(select_expression = users::photo_version)]
    pub(super) version: Option<String>,
    pub(crate) content_type: String,
    pub(crate) bytes: Vec<u8>,
}
