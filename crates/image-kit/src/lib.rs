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
mod picture;
mod png_file;
mod webp_file;

use image::DynamicImage;

pub use picture::{Exceeded, Format, Refused, Rules};

use picture::{Decoded, Parts};

/// What every picture takes besides its decoder: the sums and the pixels of the small picture, and its file.
const SMALL_PICTURE: u64 = 10 * 1024 * 1024;

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
