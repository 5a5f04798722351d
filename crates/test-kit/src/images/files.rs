//! [`super::picture`] of 160 x 120 pixels, written by Pillow in ways in which our own encoders do not write.

/// 4:2:0 chroma, with a restart marker after every third unit.
pub const JPEG_420: &[u8] = include_bytes!("files/420-restarts.jpg");
/// 4:2:2 chroma.
pub const JPEG_422: &[u8] = include_bytes!("files/422.jpg");
/// Progressive, in many scans.
pub const JPEG_PROGRESSIVE: &[u8] = include_bytes!("files/progressive.jpg");
/// In CMYK, the colours of printers.
pub const JPEG_CMYK: &[u8] = include_bytes!("files/cmyk.jpg");
/// Lossy.
pub const WEBP_LOSSY: &[u8] = include_bytes!("files/lossy.webp");
/// Lossless.
pub const WEBP_LOSSLESS: &[u8] = include_bytes!("files/lossless.webp");
/// Lossy; its upper left quarter is transparent.
pub const WEBP_ALPHA: &[u8] = include_bytes!("files/alpha.webp");
/// Lossless; its upper left quarter is transparent.
pub const WEBP_ALPHA_LOSSLESS: &[u8] = include_bytes!("files/alpha-lossless.webp");
/// The picture, followed by a black frame.
pub const WEBP_ANIMATED: &[u8] = include_bytes!("files/two-frames.webp");
