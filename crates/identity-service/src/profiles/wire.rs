use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use crate::double_option::double_option;

/// The changes of a profile. An absent field stays as it is; null clears it. Other fields (`role`, `premium_tier` …) are
/// ignored.
#[derive(Default, Deserialize, ToSchema)]
pub(crate) struct UpdateProfileRequest {
    /// The name that people read: 1 to 100 visible characters. It need not be unique.
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 100)]
    pub(crate) display_name: Option<Option<String>>,
    /// Up to 2,000 characters.
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<String>, max_length = 2000)]
    pub(crate) bio: Option<Option<String>>,
    /// An http or https address of up to 2,048 characters.
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<String>, max_length = 2048)]
    pub(crate) website_url: Option<Option<String>>,
    /// The language, as a BCP 47 tag of at most 35 characters. It is stored in its usual spelling.
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<String>, max_length = 35, example = "en-GB")]
    pub(crate) locale: Option<Option<String>>,
    /// The time zone, as its name in the IANA database.
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<String>, example = "Europe/London")]
    pub(crate) zoneinfo: Option<Option<String>>,
    /// A `data:` URL with a JPEG, PNG, GIF or WebP in base64, or an https address from which one is fetched. Null removes
    /// the photo; the current address changes nothing.
    #[serde(default, deserialize_with = "double_option")]
    #[schema(value_type = Option<String>)]
    pub(crate) profile_photo_url: Option<Option<String>>,
    /// Allowed only while the account has a placeholder address.
    #[serde(default, deserialize_with = "some")]
    #[schema(value_type = String, format = Email, required = false)]
    pub(crate) email: Option<String>,
}

/// Rejects null, because every account has an address.
fn some<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    String::deserialize(deserializer).map(Some)
}
