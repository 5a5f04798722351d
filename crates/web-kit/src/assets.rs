//! The files that pages load, under names that change with their content.

use std::sync::LazyLock;

use actix_web::HttpResponse;
use actix_web::http::header::CACHE_CONTROL;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use service_kit::Problem;
use service_kit::crypto::sha256;

/// Where pages load files from.
const FOLDER: &str = "/assets/";

/// The style sheet of all pages: names for colours, spaces and sizes, and the components made of them.
pub static STYLESHEET: LazyLock<Asset> =
    LazyLock::new(|| Asset::stylesheet("holdfast", include_str!("../assets/holdfast.css")));

/// A file that is compiled in.
#[derive(Debug)]
pub struct Asset {
    path: String,
    media_type: &'static str,
    content: &'static str,
}

impl Asset {
    /// A style sheet; `name` is what its path begins with.
    #[must_use]
    pub fn stylesheet(name: &str, content: &'static str) -> Self {
        Self::new(name, "css", "text/css; charset=utf-8", content)
    }

    /// A JavaScript module.
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

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The answer with it. What is under this name never changes.
    #[must_use]
    pub fn answer(&self) -> HttpResponse {
        HttpResponse::Ok()
            .content_type(self.media_type)
            .insert_header((CACHE_CONTROL, "public, max-age=31536000, immutable"))
            .body(self.content)
    }
}

/// Serves the one of these files that has this name; a name of another version is not there.
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
