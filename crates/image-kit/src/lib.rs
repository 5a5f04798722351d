//! Makes a small, clean picture of a file that nobody vouches for: JPEG, PNG, GIF or WebP, told by content.
//!
//! Each container is read here first, without decoding: its size in pixels, whether it is whole, and
//! the few parts that pictures are made of. A decoder is given those and nothing else, so that what
//! hides in the other parts (compressed texts and profiles, thousands of frames, whatever follows the
//! end) costs nothing. Pixels are averaged into the small picture as they come out of the decoder: PNG and
//! sequential JPEG row by row, so that memory does not grow with the picture. What needs all of its pixels at once is
//! refused beyond a limit of memory.
//!
//! What it is not: no cache, no queue, no I/O. It takes a processor for up to some hundred
//! milliseconds; callers keep it off their async threads and count how many run.

mod area;
mod colour;
mod encode;
mod gif_file;
mod jpeg_bits;
mod jpeg_file;
mod jpeg_strips;
mod png_file;
mod webp_file;

use std::fmt;

use image::DynamicImage;
use image::metadata::Orientation;
use thiserror::Error;

/// The longest edge of a picture: JPEG and GIF have no longer ones, and the sums of the shrinker no room for them.
const MAX_EDGE: u32 = 65_535;
/// Bytes of colour profiles that are looked at: those that matter here have some hundred.
const MAX_PROFILE: usize = 64 * 1024;
/// What every picture takes besides its decoder: the sums and the pixels of the small picture, and its file.
const SMALL_PICTURE: u64 = 10 * 1024 * 1024;

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

/// A file whose container was read and found good. Nothing of it has been decoded.
#[derive(Debug)]
pub struct Opened {
    parts: Parts,
    rules: Rules,
}

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// The same as the source's; for WebP JPEG, or PNG if something can be seen through.
    pub format: Format,
    /// The file: pixels, and nothing that the source said besides.
    pub bytes: Vec<u8>,
}

/// What of a file a decoder needs.
#[derive(Debug)]
struct Parts {
    format: Format,
    width: u32,
    height: u32,
    /// A file of the same format with the parts that pixels are made of.
    slim: Vec<u8>,
    /// How the picture wants to be turned.
    orientation: Orientation,
    /// The profile of its colours (ICC.1); empty for sRGB.
    profile: Vec<u8>,
    /// Whether a JPEG can be decoded in strips.
    in_strips: bool,
    /// Bytes that the decoder takes at its peak.
    memory: u64,
}

/// A picture in memory, before its small file is written.
struct Decoded(DynamicImage);

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

/// Reads a file's container: which format, how many pixels, and whether it is whole.
///
/// # Errors
/// [`Refused`].
pub fn open(file: &[u8], rules: Rules) -> Result<Opened, Refused> {
    let parts = match file {
        [0xff, 0xd8, 0xff, ..] => jpeg_file::read(file, rules)?,
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => png_file::read(file, rules)?,
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => gif_file::read(file, rules)?,
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => webp_file::read(file, rules)?,
        _ => return Err(Refused::Unsupported),
    };
    let opened = Opened { parts, rules };
    if opened.memory() > rules.max_memory {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        let exceeded = Exceeded::Memory(mib(opened.memory()), mib(rules.max_memory));
        return Err(Refused::TooLarge(exceeded));
    }
    Ok(opened)
}

impl Opened {
    /// Bytes that [`Opened::shrink`] takes at its peak, about, with those that it holds already.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let held = u64::try_from(self.parts.slim.len()).unwrap_or(u64::MAX);
        self.parts
            .memory
            .saturating_add(held)
            .saturating_add(SMALL_PICTURE)
    }

    /// Decodes, averages down to the rules' edge, turns upright, and writes the file anew.
    ///
    /// # Errors
    /// [`Refused::Unsupported`] when the pixels cannot be read.
    pub fn shrink(self) -> Result<Picture, Refused> {
        let Self { parts, rules } = self;
        let made = made_size(parts.width, parts.height, rules.made_edge);
        let Decoded(mut image) = match parts.format {
            Format::Jpeg => jpeg_file::decode(&parts, made)?,
            Format::Png => png_file::decode(&parts, made)?,
            Format::Gif => gif_file::decode(&parts, made)?,
            Format::WebP => webp_file::decode(&parts, made)?,
        };
        let Parts {
            format,
            orientation,
            profile,
            ..
        } = parts;
        image.apply_orientation(orientation);
        colour::to_srgb(&mut image, &profile);
        let format = match (format, &image) {
            (Format::WebP, DynamicImage::ImageRgba8(image)) if encode::has_transparency(image) => {
                Format::Png
            }
            (Format::WebP, _) => Format::Jpeg,
            (format, _) => format,
        };
        let bytes = encode::write(format, &image)?;
        Ok(Picture { format, bytes })
    }
}

/// Checks a header's size, before anything is done for it.
fn check_size(width: u32, height: u32, rules: Rules) -> Result<(), Refused> {
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

/// The size that fits into a square of `edge` with the same proportions; never larger than the source.
fn made_size(width: u32, height: u32, edge: u32) -> (u32, u32) {
    let longest = width.max(height);
    if longest <= edge {
        return (width, height);
    }
    // Rounded, and a line of pixels at the least.
    let scale = |side: u32| {
        let (side, edge, longest) = (u64::from(side), u64::from(edge), u64::from(longest));
        u32::try_from((side * edge + longest / 2) / longest)
            .unwrap_or(1)
            .max(1)
    };
    (scale(width), scale(height))
}

/// What a decoder says is of no use to callers: the file is broken.
fn broken<E>(_: E) -> Refused {
    Refused::Unsupported
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_made_size_keeps_proportions_and_at_least_a_line() {
        assert_eq!(made_size(512, 512, 512), (512, 512));
        assert_eq!(made_size(100, 7, 512), (100, 7));
        assert_eq!(made_size(4096, 4096, 512), (512, 512));
        assert_eq!(made_size(4000, 3000, 512), (512, 384));
        assert_eq!(made_size(3000, 4000, 512), (384, 512));
        assert_eq!(made_size(4096, 1, 512), (512, 1));
        assert_eq!(made_size(1, 513, 512), (1, 512));
    }
}
