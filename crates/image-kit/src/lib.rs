//! Makes a small, clean picture of a file that nobody vouches for: JPEG, PNG or GIF, told by content.
//!
//! Each container is read here first, without decoding: its size in pixels, whether it is whole, and
//! the few parts that pictures are made of. A decoder is given those and nothing else, so that what
//! hides in the other parts (compressed texts and profiles, thousands of frames, whatever follows the
//! end) costs nothing. Pixels are averaged into the small picture as they come out of the decoder: PNG
//! row by row, so that memory does not grow with the picture.
//!
//! What it is not: no cache, no queue, no I/O. It takes a processor for up to some hundred
//! milliseconds; callers keep it off their async threads and count how many run.

mod area;
mod encode;
mod gif_file;
mod jpeg_file;
mod png_file;

use image::DynamicImage;
use image::metadata::Orientation;
use thiserror::Error;

/// What is accepted and what is made, in pixels.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// The longest edge that is read.
    pub max_edge: u32,
    /// The longest edge of what is made; smaller pictures keep their size.
    pub made_edge: u32,
}

/// The formats that are read and made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// JPEG, baseline or progressive.
    Jpeg,
    /// PNG.
    Png,
    /// GIF.
    Gif,
}

/// Why a file is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Refused {
    /// More pixels than the rules allow.
    #[error("the picture has too many pixels")]
    TooLarge,
    /// No picture of a known format, a broken or an incomplete one.
    #[error("the file is no complete JPEG, PNG or GIF picture")]
    Unsupported,
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
    /// The same as the source's.
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
    /// Bytes that decoding takes at its peak, besides the small picture.
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
        _ => return Err(Refused::Unsupported),
    };
    Ok(Opened { parts, rules })
}

impl Opened {
    /// Bytes that [`Opened::shrink`] takes at its peak, about.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.parts.memory
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
            Format::Gif => gif_file::decode(&parts, made, rules)?,
        };
        let (format, orientation) = (parts.format, parts.orientation);
        drop(parts);
        image.apply_orientation(orientation);
        let bytes = encode::write(format, &image)?;
        Ok(Picture { format, bytes })
    }
}

/// Checks a header's size, before anything is done for it.
fn check_size(width: u32, height: u32, rules: Rules) -> Result<(), Refused> {
    if width == 0 || height == 0 {
        return Err(Refused::Unsupported);
    }
    if width > rules.max_edge || height > rules.max_edge {
        return Err(Refused::TooLarge);
    }
    Ok(())
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
