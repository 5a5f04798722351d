//! The files that pages load, under names that change with their content.

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::header::CACHE_CONTROL;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use service_kit::Problem;
use service_kit::crypto::sha256;

/// The path below which pages load files.
const FOLDER: &str = "/assets/";

/// The style sheet of all pages: names for colours, spaces and sizes, and the components that use them.
pub static STYLESHEET: LazyLock<Asset> =
    LazyLock::new(|| Asset::stylesheet("holdfast", include_str!("../assets/holdfast.css")));

/// A file that is compiled into the program.
#[derive(Debug)]
pub struct Asset {
    path: String,
    media_type: &'static str,
    content: &'static str,
}

impl Asset {
    /// Creates a style sheet; its file name begins with `name`.
    #[must_use]
    pub fn stylesheet(name: &str, content: &'static str) -> Self {
        Self::new(name, "css", "text/css; charset=utf-8", content)
    }

    /// Creates a JavaScript module; its file name begins with `name`.
    #[must_use]
    pub fn module(name: &str, content: &'static str) -> Self {
        Self::new(name, "js", "text/javascript; charset=utf-8", content)
    }

    fn new(name: &str, extension: &str, media_type: &'static str, content: &'static str) -> Self {
        let mut hash = URL_SAFE_NO_PAD.encode(sha256(content.as_bytes()));
        hash.truncate(12);
        Self {
            path: format!("{FOLDER}{name}-{hash}.{extension}"),
            media_type,
            content,
        }
    }

    /// Returns the path at which it is served.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the response with the file, which browsers may cache: the content under this path never changes.
    #[must_use]
    pub fn answer(&self) -> HttpResponse {
        HttpResponse::Ok()
            .content_type(self.media_type)
            .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
            .body(self.content)
    }
}

/// Serves the file of this name. The name of another version does not exist.
///
/// # Errors
/// 404 for any other name.
pub fn serve(name: &str, assets: &[&Asset]) -> Result<HttpResponse, Problem> {
    let found = assets
        .iter()
        .find(|asset| asset.path.strip_prefix(FOLDER) == Some(name));
    found
        .map(|asset| asset.answer())
        .ok_or_else(Problem::not_found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_content_has_another_name_and_the_old_one_is_gone() {
        let (old, new) = (Asset::module("a", "1"), Asset::module("a", "2"));
        assert_ne!(old.path(), new.path());
        let name = |asset: &Asset| asset.path().replace(FOLDER, "");
        assert!(serve(&name(&new), &[&STYLESHEET, &new]).is_ok());
        assert!(serve(&name(&old), &[&STYLESHEET, &new]).is_err());
        assert!(serve("a.js", &[&new]).is_err());
    }
}
