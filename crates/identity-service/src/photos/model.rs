use auth_types::UserId;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use diesel::prelude::*;
use service_kit::crypto::sha256;

use super::wire::ProfilePhotoMeta;
use crate::accounts::rules::name_to_look_up;
use crate::schema::{profile_photos, users};

/// Bytes of a photo's hash that its version consists of.
const VERSION_BYTES: usize = 12;

pub(crate) struct NewPhoto {
    pub(super) content_type: &'static str,
    pub(super) bytes: Vec<u8>,
    /// A prefix of the hash of the bytes: another photo has another one.
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

/// Where anybody finds an account's photo. The address changes with the photo, so that what it answers
/// can be kept for ever.
pub(crate) fn public_url(base_url: &str, id: UserId, version: Option<&str>) -> Option<String> {
    version.map(|version| format!("{base_url}/api/public/user/{id}/profile-photo/file?v={version}"))
}

/// What a path or a list calls an account by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Owner {
    Id(UserId),
    /// In lower case.
    Name(String),
}

impl Owner {
    /// Reads a path segment. Digits are an id and nothing else, even where somebody is called so; none
    /// when nobody can be called that.
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

/// An account, as far as its photo goes.
#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = users)]
pub(crate) struct OwnerRow {
    pub(super) id: UserId,
    pub(super) username: String,
    pub(super) username_lower: String,
    pub(super) is_active: bool,
    pub(super) photo_version: Option<String>,
}

impl OwnerRow {
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
