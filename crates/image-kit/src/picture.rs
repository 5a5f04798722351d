//! What is read and made, and why it is refused.

use std::fmt;

use image::DynamicImage;
use image::metadata::Orientation;
use thiserror::Error;

/// The longest edge of a picture: JPEG and GIF have no longer ones, and the sums of the shrinker no room for them.
const MAX_EDGE: u32 = 65_535;
/// Bytes of colour profiles that are looked at: those that matter here have some hundred.
pub(crate) const MAX_PROFILE: usize = 64 * 1024;

/// What is accepted and what is made.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The most pixels of a picture.
    pub max_pixels: u64,
    /// The most bytes of memory that making a picture takes.
    pub max_memory: u64,
    /// The longest edge of what is made, in pixels; smaller pictures keep their size.
    pub made_edge: u32,
}

/// The formats that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JPEG, baseline or progressive.
    Jpeg,
    /// PNG.
    Png,
    /// GIF.
    Gif,
    /// WebP, which is never made.
    WebP,
}

/// Why a file is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// More than the rules allow.
    #[error("{0}")]
    TooLarge(Exceeded),
    /// No picture of a known format, a broken or an incomplete one.
    #[error("the file is no complete JPEG, PNG, GIF or WebP picture")]
    Unsupported,
}

/// Which limit a picture exceeds: what it has, and the most that is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exceeded {
    /// In millions of pixels, rounded up.
    Megapixels(u64, u64),
    /// The longest edge, in pixels.
    Edge(u32, u32),
    /// In MiB, rounded up.
    Memory(u64, u64),
}

/// What of a file a decoder needs.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) format: Format,
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// A file of the same format with the parts that pixels are made of.
    pub(crate) slim: Vec<u8>,
    /// How the picture wants to be turned.
    pub(crate) orientation: Orientation,
    /// The profile of its colours (ICC.1); empty for sRGB.
    pub(crate) profile: Vec<u8>,
    /// Whether a JPEG can be decoded in strips.
    pub(crate) in_strips: bool,
    /// Bytes that the decoder takes at its peak.
    pub(crate) memory: u64,
}

/// A picture in memory, before its small file is written.
pub(crate) struct Decoded(pub(crate) DynamicImage);

impl Format {
    /// Its media type.
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

impl fmt::Display for Exceeded {
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

/// Checks a header's size, before anything is done for it.
pub(crate) fn check_size(width: u32, height: u32, rules: Rules) -> Result<(), Refused> {
    if width == 0 || height == 0 {
        return Err(Refused::Unsupported);
    }
    let (edge, pixels) = (width.max(height), u64::from(width) * u64::from(height));
    let exceeded = if pixels > rules.max_pixels {
        let million = |pixels: u64| pixels.div_ceil(1_000_000);
        Exceeded::Megapixels(million(pixels), million(rules.max_pixels))
    } else if edge > MAX_EDGE {
        Exceeded::Edge(edge, MAX_EDGE)
    } else {
        return Ok(());
    };
    Err(Refused::TooLarge(exceeded))
}

/// What a decoder says is of no use to callers: the file is broken.
pub(crate) fn broken<E>(_: E) -> Refused {
    Refused::Unsupported
}
