use auth_types::UserId;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Whether an account has a photo, and its address.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct ProfilePhotoMeta {
    pub(crate) user_id: UserId,
    pub(crate) username: String,
    /// The absolute address of the photo, ready to display; null without a photo. It changes with the photo.
    pub(crate) profile_photo_url: Option<String>,
    pub(crate) has_photo: bool,
}

/// The accounts whose photos are requested: at most 200 ids and names together.
#[derive(Deserialize, ToSchema)]
pub(crate) struct PhotosRequest {
    pub(crate) user_ids: Option<Vec<UserId>>,
    /// Compared regardless of case. Digits are a username here.
    pub(crate) usernames: Option<Vec<String>>,
}

/// Those of the accounts that exist, each once, in the order of the request.
#[derive(Serialize, ToSchema)]
pub(crate) struct PhotosResponse {
    pub(crate) users: Vec<ProfilePhotoMeta>,
    /// The length of `users`.
    pub(crate) total: usize,
}

/// The bytes of an image.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "describes a body that is read as a stream")]
pub(crate) struct ImageFile(Vec<u8>);

/// A form with a photo.
#[derive(ToSchema)]
#[expect(dead_code, reason = "describes a form that is read as a stream")]
pub(crate) struct PhotoForm {
    /// A JPEG, PNG, GIF or WebP file.
    #[schema(value_type = String, format = Binary)]
    pub(crate) photo: Vec<u8>,
}

/// The requested version of a photo.
#[derive(Debug, Deserialize)]
pub(crate) struct VersionQuery {
    pub(crate) v: Option<String>,
}
