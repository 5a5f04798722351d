use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use crate::present::present;

/// What is to change. A field that is absent stays as it is; null clears it. Fields that are not listed
/// (`role`, `premium_tier` …) are ignored.
#[derive(Default, Deserialize, ToSchema)]
#[serde(default)]
pub(crate) struct UpdateProfileRequest {
    /// Up to 2,000 characters.
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 2000)]
    pub(crate) bio: Option<Option<String>>,
    /// An http or https address of up to 2,048 characters.
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 2048)]
    pub(crate) website_url: Option<Option<String>>,
    /// A `data:` URL with a JPEG, PNG, GIF or WebP in base64, or an https address to fetch one from; null
    /// removes the photo, the current address changes nothing.
    #[serde(deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    pub(crate) profile_photo_url: Option<Option<String>>,
    /// Only while the account holds a placeholder.
    #[serde(deserialize_with = "some")]
    #[schema(value_type = String, format = Email, required = false)]
    pub(crate) email: Option<String>,
}

/// Refuses null: there is no account without an address.
fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}
