//! [`super::picture`] of 160 x 120 pixels, written by Pillow: what our own encoders do not write.

/// Chroma of a quarter, a restart marker after each third unit.
pub const JPEG_420: &[u8] = include_bytes!("files/420-restarts.jpg");
/// Chroma of a half.
pub const JPEG_422: &[u8] = include_bytes!("files/422.jpg");
/// In many scans.
pub const JPEG_PROGRESSIVE: &[u8] = include_bytes!("files/progressive.jpg");
/// In the colours of a printer.
pub const JPEG_CMYK: &[u8] = include_bytes!("files/cmyk.jpg");
/// Lossy.
pub const WEBP_LOSSY: &[u8] = include_bytes!("files/lossy.webp");
/// Lossless.
pub const WEBP_LOSSLESS: &[u8] = include_bytes!("files/lossless.webp");
/// Lossy; its left upper quarter cannot be seen.
pub const WEBP_ALPHA: &[u8] = include_bytes!("files/alpha.webp");
/// The same, lossless.
pub const WEBP_ALPHA_LOSSLESS: &[u8] = include_bytes!("files/alpha-lossless.webp");
/// The picture, and a black frame.
pub const WEBP_ANIMATED: &[u8] = include_bytes!("files/two-frames.webp");
