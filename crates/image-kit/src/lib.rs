//! Makes a small, clean picture from an untrusted file: JPEG, PNG, GIF or WebP, recognised by content.
//!
//! Each container is parsed here first, without decoding: its size in pixels, whether it is complete, and the few parts that
//! pixels depend on. A decoder gets those and nothing else, so that the other parts (compressed texts and profiles, thousands of
//! frames, data after the end) cost nothing. Pixels are averaged into the small picture as they leave the decoder: PNG and
//! sequential JPEG row by row, so that memory does not grow with the picture. A picture whose pixels are all needed at once is
//! rejected beyond a limit of memory.
//!
//! It has no cache, no queue and no I/O. It occupies a processor for up to some hundred milliseconds: callers run it off their
//! async threads and limit how many run.

mod colour;
mod decoded_image;
mod encode;
mod gif_file;
mod jpeg_file;
mod jpeg_huffman;
mod jpeg_strips;
mod png_file;
mod shrinker;
mod webp_file;

use image::DynamicImage;

pub use decoded_image::{ExceededLimit, FileFormat, ImageError, ImageLimits};

use decoded_image::{DecodedImage, ImageParts};

/// Bytes that every picture takes besides its decoder: the sums and the pixels of the small picture, and its file.
const SMALL_PICTURE: u64 = 10 * 1024 * 1024;

/// A file whose container was parsed and accepted. Nothing of it is decoded yet.
#[derive(Debug)]
pub struct OpenedImage {
    parts: ImageParts,
    limits: ImageLimits,
}

/// The small picture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShrunkImage {
    /// The format of the source; for WebP it is JPEG, or PNG if a pixel is transparent.
    pub format: FileFormat,
    /// The file: pixels, and no other data of the source.
    pub bytes: Vec<u8>,
}

/// Parses the container of a file: its format, its size in pixels, and whether it is complete.
///
/// # Errors
/// [`ImageError`] when the file is not a complete picture of a known format, or exceeds the limits.
pub fn open(file: &[u8], limits: ImageLimits) -> Result<OpenedImage, ImageError> {
    let parts = match file {
        [0xff, 0xd8, 0xff, ..] => jpeg_file::read(file, limits)?,
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => png_file::read(file, limits)?,
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => gif_file::read(file, limits)?,
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
        ] => webp_file::read(file, limits)?,
        _ => return Err(ImageError::Unsupported),
    };
    let opened = OpenedImage { parts, limits };
    if opened.memory() > limits.max_memory {
        let mib = |bytes: u64| bytes.div_ceil(1 << 20);
        let exceeded = ExceededLimit::Memory(mib(opened.memory()), mib(limits.max_memory));
        return Err(ImageError::TooLarge(exceeded));
    }
    Ok(opened)
}

impl OpenedImage {
    /// Returns about how many bytes [`OpenedImage::shrink`] takes at its peak, with those that are held already.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let held = u64::try_from(self.parts.slim.len()).unwrap_or(u64::MAX);
        self.parts
            .memory
            .saturating_add(held)
            .saturating_add(SMALL_PICTURE)
    }

    /// Decodes the picture, averages it down to the edge of the limits, turns it upright, and encodes it anew.
    ///
    /// # Errors
    /// [`ImageError::Unsupported`] when the pixels cannot be decoded.
    pub fn shrink(self) -> Result<ShrunkImage, ImageError> {
        let Self { parts, limits } = self;
        let made = made_size(parts.width, parts.height, limits.made_edge);
        let DecodedImage(mut image) = match parts.format {
            FileFormat::Jpeg => jpeg_file::decode(&parts, made)?,
            FileFormat::Png => png_file::decode(&parts, made)?,
            FileFormat::Gif => gif_file::decode(&parts, made)?,
            FileFormat::WebP => webp_file::decode(&parts, made)?,
        };
        let ImageParts {
            format,
            orientation,
            profile,
            ..
        } = parts;
        image.apply_orientation(orientation);
        colour::to_srgb(&mut image, &profile);
        let format = match (format, &image) {
            (FileFormat::WebP, DynamicImage::ImageRgba8(image))
                if encode::has_transparency(image) =>
            {
                FileFormat::Png
            }
            (FileFormat::WebP, _) => FileFormat::Jpeg,
            (format, _) => format,
        };
        let bytes = encode::write(format, &image)?;
        Ok(ShrunkImage { format, bytes })
    }
}

/// Returns the size that fits into a square of `edge` with the same proportions, and is not larger than the source.
fn made_size(width: u32, height: u32, edge: u32) -> (u32, u32) {
    let longest = width.max(height);
    if longest <= edge {
        return (width, height);
    }
    // Rounded, but at least one line of pixels.
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
