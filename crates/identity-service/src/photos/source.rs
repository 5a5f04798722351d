//! Loads a photo from its address: a `data:` URL, or a file on another server.

use actix_web::web::Bytes;
use auth_types::UserId;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::Url;

use super::model::NewPhoto;
use crate::error::Error;
use crate::photos::processor::{PhotoProcessor, too_many_bytes};

/// The maximum length of an address that is fetched.
const MAX_URL_CHARS: usize = 2_048;
const MEDIA_TYPES: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];
const ACCEPT: &str = "image/jpeg, image/png, image/gif, image/webp";

/// Loads the photo at an address that a user gave. A file that is no image gives the same error as an unreachable one.
/// Otherwise, the error would reveal what exists in the internal network.
pub(crate) async fn photo_at(
    processor: &PhotoProcessor,
    account: UserId,
    address: String,
) -> Result<NewPhoto, Error> {
    match strip_prefix_ignoring_case(&address, "data:") {
        Some(rest) => {
            let file = data_of(rest, processor.max_bytes)?;
            // The address is larger than the file, and no longer needed.
            drop(address);
            processor.process(file).await.map_err(|error| match error {
                Error::UnsupportedImage | Error::Validation(_) => Error::PhotoUnreachable,
                other => other,
            })
        }
        None => {
            let _room = processor.room_to_fetch(account)?;
            let file = fetch(processor, &address).await?;
            processor.process(file).await.map_err(|error| match error {
                Error::UnsupportedImage | Error::Validation(_) | Error::PhotoTooLarge(_) => {
                    Error::PhotoUnreachable
                }
                other => other,
            })
        }
    }
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let (head, rest) = text.split_at_checked(prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Decodes `image/png;base64,…` (RFC 2397). The media type must be a supported one; the content decides.
fn data_of(rest: &str, limit: usize) -> Result<Bytes, Error> {
    let refused = || {
        Error::Validation(
            "profile_photo_url must be a JPEG, PNG, GIF or WebP image in base64 if it is a data: URL"
                .into(),
        )
    };
    let (head, data) = rest.split_once(',').ok_or_else(refused)?;
    let mut parameters = head.split(';').map(str::trim);
    let media_type = parameters.next().unwrap_or_default();
    let known = MEDIA_TYPES
        .iter()
        .any(|known| media_type.eq_ignore_ascii_case(known));
    let encoded = parameters
        .next_back()
        .is_some_and(|last| last.eq_ignore_ascii_case("base64"));
    if !known || !encoded {
        return Err(refused());
    }
    // Base64 has four characters for three bytes.
    if data.len() / 4 * 3 > limit.saturating_add(3) {
        return Err(too_many_bytes(limit));
    }
    STANDARD
        .decode(data)
        .map(Bytes::from)
        .map_err(|_| refused())
}

async fn fetch(processor: &PhotoProcessor, address: &str) -> Result<Bytes, Error> {
    let url = photo_url(processor, address)?;
    match processor.client.get(&url, ACCEPT).await {
        Ok(answer) if answer.status == 200 && answer.complete => Ok(answer.body.into()),
        Ok(_) | Err(_) => Err(Error::PhotoUnreachable),
    }
}

fn photo_url(processor: &PhotoProcessor, address: &str) -> Result<Url, Error> {
    let refused = || {
        Error::Validation(
            "profile_photo_url must be null, the current URL, a data: image or an https URL".into(),
        )
    };
    if address.len() > MAX_URL_CHARS {
        return Err(refused());
    }
    let url = processor.client.check_url(address).map_err(|_| refused())?;
    // The part before the `@` would be sent as credentials.
    if url.username().is_empty() && url.password().is_none() {
        Ok(url)
    } else {
        Err(refused())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_data_url_needs_a_supported_image_type_and_base64() {
        let bytes = |text: &str| data_of(text, 100).ok().map(|bytes| bytes.to_vec());
        assert_eq!(bytes("image/png;base64,AAEC"), Some(vec![0, 1, 2]));
        assert_eq!(bytes("IMAGE/JPEG;base64,AAEC"), Some(vec![0, 1, 2]));
        assert_eq!(bytes("image/gif;name=a.gif;base64,AA=="), Some(vec![0]));
        for bad in [
            "",
            "image/png",
            "image/png,AAEC",
            "image/png;base64",
            ",AAEC",
            ";base64,AAEC",
            "image/svg+xml;base64,AAEC",
            "text/html;base64,AAEC",
            "image/png;base64,A",
            "image/png;base64,AA-_",
            "image/png;base64;x=1,AAEC",
            "image/png;base64,%41%41",
        ] {
            assert_eq!(bytes(bad), None, "{bad}");
        }
        let long = format!("image/png;base64,{}", "A".repeat(200));
        assert!(matches!(data_of(&long, 100), Err(Error::PhotoTooLarge(_))));
    }
}
