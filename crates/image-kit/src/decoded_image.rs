//! What is read and made, and why a file is rejected.

use std::fmt;

use image::DynamicImage;
use image::metadata::Orientation;
use thiserror::Error;

/// The maximum edge in pixels: JPEG and GIF have no longer ones, and the sums of the shrinker would overflow.
const MAX_EDGE: u32 = 65_535;
/// The maximum size of a colour profile in bytes: those that matter here have some hundred.
pub(crate) const MAX_PROFILE: usize = 64 * 1024;

/// What is accepted, and what is made of it.
#[derive(Debug, Clone, Copy)]
pub struct ImageLimits {
    /// The maximum number of pixels of a picture.
    pub max_pixels: u64,
    /// The maximum memory that making a picture takes, in bytes.
    pub max_memory: u64,
    /// The longest edge of the result, in pixels; smaller pictures keep their size.
    pub made_edge: u32,
}

/// The formats that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileFormat {
    /// JPEG, baseline or progressive.
    Jpeg,
    /// PNG.
    Png,
    /// GIF.
    Gif,
    /// WebP, which is never written.
    WebP,
}

/// Why a file is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum ImageError {
    /// The picture exceeds the limits.
    #[error("{0}")]
    TooLarge(ExceededLimit),
    /// The file is not a picture of a known format, or it is broken or incomplete.
    #[error("the file is no complete JPEG, PNG, GIF or WebP picture")]
    Unsupported,
}

/// The limit that a picture exceeds: its own value, and the maximum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExceededLimit {
    /// In millions of pixels, rounded up.
    Megapixels(u64, u64),
    /// The longest edge, in pixels.
    Edge(u32, u32),
    /// In MiB, rounded up.
    Memory(u64, u64),
}

/// The parts of a file that a decoder needs.
#[derive(Debug)]
pub(crate) struct ImageParts {
    pub(crate) format: FileFormat,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// A file of the same format with only the parts that pixels depend on.
    pub(crate) slim: Vec<u8>,
    /// How the picture must be turned.
    pub(crate) orientation: Orientation,
    /// The colour profile (ICC.1); empty for sRGB.
    pub(crate) profile: Vec<u8>,
    /// Whether a JPEG can be decoded in strips.
    pub(crate) in_strips: bool,
    /// Bytes that the decoder takes at its peak.
    pub(crate) memory: u64,
}

/// A picture in memory, before it is encoded.
pub(crate) struct DecodedImage(pub(crate) DynamicImage);

impl FileFormat {
    /// Returns its media type.
    #[must_use]
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Png => "image/png",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }
}

impl fmt::Display for ExceededLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Megapixels(has, most) => write!(
                f,
                "the photo has {has} megapixels; at most {most} are accepted"
            ),
            Self::Edge(has, most) => write!(
                f,
                "the photo has an edge of {has} pixels; at most {most} are accepted"
            ),
            Self::Memory(has, most) => write!(
                f,
                "the photo takes {has} MiB of memory to decode; at most {most} are accepted"
            ),
        }
    }
}

/// Checks the size in a header, before any work is done for it.
pub(crate) fn check_size(width: u32, height: u32, limits: ImageLimits) -> Result<(), ImageError> {
    if width == 0 || height == 0 {
        return Err(ImageError::Unsupported);
    }
    let (edge, pixels) = (width.max(height), u64::from(width) * u64::from(height));
    let exceeded = if pixels > limits.max_pixels {
        let million = |pixels: u64| pixels.div_ceil(1_000_000);
        ExceededLimit::Megapixels(million(pixels), million(limits.max_pixels))
    } else if edge > MAX_EDGE {
        ExceededLimit::Edge(edge, MAX_EDGE)
    } else {
        return Ok(());
    };
    Err(ImageError::TooLarge(exceeded))
}

/// Drops the error of a decoder, which is of no use to callers: the file is broken.
pub(crate) fn broken<E>(_: E) -> ImageError {
    ImageError::Unsupported
}
