use auth_types::UserId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether an account has a photo, and where it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ProfilePhotoMeta {
    pub(crate) user_id: UserId,
    pub(crate) username: String,
    /// Absolute address that can be rendered directly; null without a photo. It changes with the photo.
    pub(crate) profile_photo_url: Option<String>,
    pub(crate) has_photo: bool,
}

/// Whose photos are asked for: at most 200 ids and names together.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PhotosRequest {
    pub(crate) user_ids: Option<Vec<UserId>>,
    /// Read without regard to case. Digits are a name here.
    pub(crate) usernames: Option<Vec<String>>,
}

/// Those of the accounts that exist, each once, in the order in which they were asked for.
#[derive(Serialize, ToSchema)]
pub(crate) struct PhotosResponse {
    pub(crate) users: Vec<ProfilePhotoMeta>,
    /// The length of `users`.
    pub(crate) total: usize,
}

/// A photo as a form sends it.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a form that is read as a stream")]
pub(crate) struct PhotoForm {
    /// JPEG, PNG, GIF or WebP.
    #[schema(value_type = String, format = Binary)]
    pub(crate) photo: Vec<u8>,
}

/// Which version of a photo is asked for.
#[derive(Debug, Deserialize)]
pub(crate) struct VersionQuery {
    pub(crate) v: Option<String>,
}
