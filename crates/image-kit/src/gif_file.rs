//! GIF (GIF89a): parsing of its blocks, and decoding of its first frame.

use std::num::NonZeroU64;

use gif::{ColorOutput, DecodeOptions, MemoryLimit};
use image::metadata::Orientation;

use crate::decoded_image::{
    DecodedImage, FileFormat, ImageError, ImageLimits, ImageParts, broken, check_size,
};
use crate::shrinker::{Channels, Shrinker};

const EXTENSION: u8 = 0x21;
const GRAPHIC_CONTROL: u8 = 0xf9;
const IMAGE: u8 = 0x2c;
const TRAILER: u8 = 0x3b;

/// Parses the blocks up to the trailer. It keeps the header, the first frame and the control block that says how this is shown.
/// Of further frames it reads only the length.
pub(crate) fn read(file: &[u8], limits: ImageLimits) -> Result<ImageParts, ImageError> {
    let mut blocks = Blocks { rest: file };
    let header = blocks.header()?;
    let &[_, _, _, _, _, _, w0, w1, h0, h1, ..] = header else {
        return Err(ImageError::Unsupported);
    };
    let width = u32::from(u16::from_le_bytes([w0, w1]));
    let height = u32::from(u16::from_le_bytes([h0, h1]));
    check_size(width, height, limits)?;
    let mut slim = header.to_vec();
    let (mut control, mut frame) = (None, None);
    while let Some(block) = blocks.next()? {
        match block {
            [EXTENSION, GRAPHIC_CONTROL, ..] => control = Some(block),
            // A control block applies to the next image only.
            [IMAGE, ..] if frame.is_none() => frame = Some((control.take(), block)),
            _ => {}
        }
    }
    let (control, frame) = frame.ok_or(ImageError::Unsupported)?;
    slim.extend_from_slice(control.unwrap_or_default());
    slim.extend_from_slice(frame);
    slim.push(TRAILER);
    let &[_, _, _, _, _, w0, w1, h0, h1, ..] = frame else {
        return Err(ImageError::Unsupported);
    };
    let (frame_width, frame_height) = (
        u32::from(u16::from_le_bytes([w0, w1])),
        u32::from(u16::from_le_bytes([h0, h1])),
    );
    check_size(frame_width, frame_height, limits)?;
    Ok(ImageParts {
        format: FileFormat::Gif,
        width,
        height,
        slim,
        orientation: Orientation::NoTransforms,
        profile: Vec::new(),
        in_strips: false,
        memory: u64::from(frame_width) * u64::from(frame_height),
    })
}

/// The rest of a file that is not parsed yet.
struct Blocks<'a> {
    rest: &'a [u8],
}

impl<'a> Blocks<'a> {
    fn header(&mut self) -> Result<&'a [u8], ImageError> {
        let flags = self.rest.get(10).copied().ok_or(ImageError::Unsupported)?;
        self.take(13 + palette_size(flags))
    }

    /// Returns the next whole block; none at the trailer.
    fn next(&mut self) -> Result<Option<&'a [u8]>, ImageError> {
        let start = self.rest;
        match *start {
            [TRAILER, ..] => return Ok(None),
            [EXTENSION, _, ..] => self.take(2)?,
            [IMAGE, _, _, _, _, _, _, _, _, flags, ..] => {
                // The descriptor, a palette, and the size of the first codes.
                self.take(10 + palette_size(flags) + 1)?
            }
            _ => return Err(ImageError::Unsupported),
        };
        while let Some(length @ 1..) = self.rest.first().copied().map(usize::from) {
            self.take(1 + length)?;
        }
        self.take(1)?;
        Ok(start.get(..start.len() - self.rest.len()))
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], ImageError> {
        let (taken, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(ImageError::Unsupported)?;
        self.rest = rest;
        Ok(taken)
    }
}

fn palette_size(flags: u8) -> usize {
    if flags & 0x80 == 0 {
        0
    } else {
        3 << ((flags & 7) + 1)
    }
}

pub(crate) fn decode(parts: &ImageParts, made: (u32, u32)) -> Result<DecodedImage, ImageError> {
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    options.set_memory_limit(MemoryLimit::Bytes(
        NonZeroU64::new(parts.memory).unwrap_or(NonZeroU64::MIN),
    ));
    let mut decoder = options.read_info(parts.slim.as_slice()).map_err(broken)?;
    let frame = decoder.next_frame_info().map_err(broken)?;
    let frame = frame.ok_or(ImageError::Unsupported)?;
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    let (width, transparent) = (usize::from(frame.width), frame.transparent);
    let mut pixels = vec![0; decoder.buffer_size()];
    decoder.read_into_buffer(&mut pixels).map_err(broken)?;
    let colours = colours(decoder.palette().map_err(broken)?, transparent);

    let mut shrinker = Shrinker::new((parts.width, parts.height), made, Channels::Rgba);
    // Pixels outside the frame are invisible.
    let mut line = vec![[0; 4]; usize::try_from(parts.width).map_err(broken)?];
    let nothing = line.clone();
    let mut rows = pixels.chunks_exact(width);
    for y in 0..parts.height {
        let inside = usize::try_from(y).is_ok_and(|y| y >= top);
        let row = if inside { rows.next() } else { None };
        let Some(row) = row else {
            shrinker.row(y, nothing.as_flattened());
            continue;
        };
        for (pixel, place) in line.iter_mut().skip(left).zip(row) {
            *pixel = colours.get(usize::from(*place)).copied().unwrap_or([0; 4]);
        }
        shrinker.row(y, line.as_flattened());
    }
    shrinker.finish()
}

/// Returns the palette with all 256 entries. Those that the file does not define are invisible.
fn colours(palette: &[u8], transparent: Option<u8>) -> [[u8; 4]; 256] {
    let mut colours = [[0; 4]; 256];
    let (palette, _) = palette.as_chunks::<3>();
    for (place, (colour, [r, g, b])) in (0..=u8::MAX).zip(colours.iter_mut().zip(palette)) {
        if transparent != Some(place) {
            *colour = [*r, *g, *b, u8::MAX];
        }
    }
    colours
}
