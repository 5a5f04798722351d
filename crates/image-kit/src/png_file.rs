//! PNG (third edition): parsing of its chunks, and decoding of its pixels.

use std::io::Cursor;

use image::metadata::Orientation;
use png::{BitDepth, ColorType, Decoder, Limits, Transformations};

use crate::decoded_image::{
    DecodedImage, FileFormat, ImageError, ImageLimits, ImageParts, MAX_PROFILE, broken, check_size,
};
use crate::shrinker::{Channels, Shrinker};

const SIGNATURE: usize = 8;
/// Bytes of a chunk's length, type and checksum.
const FRAME: usize = 12;
/// Bytes that the decoder may allocate, enough for some rows.
const DECODER_BYTES: usize = 2 * 1024 * 1024;

/// The passes of Adam7: where each one begins, and how far apart its pixels are, across and down.
const PASSES: [(u32, u32, u32, u32); 7] = [
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
];

/// Parses the chunks up to the last, and keeps those that pixels depend on.
pub(crate) fn read(file: &[u8], limits: ImageLimits) -> Result<ImageParts, ImageError> {
    let (signature, mut rest) = file
        .split_at_checked(SIGNATURE)
        .ok_or(ImageError::Unsupported)?;
    let mut slim = signature.to_vec();
    let (mut size, mut orientation) = (None, Orientation::NoTransforms);
    let mut profile = Vec::new();
    loop {
        let Chunk { kind, data, whole } = first_chunk(rest).ok_or(ImageError::Unsupported)?;
        rest = rest.get(whole.len()..).unwrap_or_default();
        // The header comes first, and only once.
        if (kind == b"IHDR") != size.is_none() {
            return Err(ImageError::Unsupported);
        }
        match kind {
            b"IHDR" => {
                let [w3, w2, w1, w0, h3, h2, h1, h0, ..] = *data else {
                    return Err(ImageError::Unsupported);
                };
                let width = u32::from_be_bytes([w3, w2, w1, w0]);
                let height = u32::from_be_bytes([h3, h2, h1, h0]);
                check_size(width, height, limits)?;
                size = Some((width, height));
            }
            b"eXIf" => orientation = Orientation::from_exif_chunk(data).unwrap_or(orientation),
            b"iCCP" => profile = unpacked(data).unwrap_or_default(),
            b"IDAT" if data.is_empty() => continue,
            b"PLTE" | b"tRNS" | b"IDAT" | b"IEND" => {}
            // A type that begins with a lower-case letter: a decoder may ignore what it does not know.
            [b'a'..=b'z', ..] => continue,
            _ => return Err(ImageError::Unsupported),
        }
        if !matches!(kind, b"eXIf" | b"iCCP") {
            slim.extend_from_slice(whole);
        }
        if kind == b"IEND" {
            break;
        }
    }
    let (width, height) = size.ok_or(ImageError::Unsupported)?;
    Ok(ImageParts {
        format: FileFormat::Png,
        width,
        height,
        slim,
        orientation,
        profile,
        in_strips: false,
        memory: u64::try_from(DECODER_BYTES).unwrap_or(u64::MAX),
    })
}

/// Unpacks the profile in an iCCP chunk: a name, a zero, the method 0, and the compressed profile.
fn unpacked(data: &[u8]) -> Option<Vec<u8>> {
    let end = data.iter().position(|byte| *byte == 0)?;
    let packed = data.get(end + 1..)?.strip_prefix(&[0])?;
    fdeflate::decompress_to_vec_bounded(packed, MAX_PROFILE).ok()
}

struct Chunk<'a> {
    kind: &'a [u8; 4],
    data: &'a [u8],
    /// The chunk with length, type and checksum, which the decoder verifies.
    whole: &'a [u8],
}

fn first_chunk(rest: &[u8]) -> Option<Chunk<'_>> {
    let (length, after) = rest.split_first_chunk()?;
    let (kind, after) = after.split_first_chunk()?;
    let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
    Some(Chunk {
        kind,
        data: after.get(..length)?,
        whole: rest.get(..length.checked_add(FRAME)?)?,
    })
}

pub(crate) fn decode(parts: &ImageParts, made: (u32, u32)) -> Result<DecodedImage, ImageError> {
    let limits = Limits {
        bytes: DECODER_BYTES,
    };
    let mut decoder = Decoder::new_with_limits(Cursor::new(&parts.slim), limits);
    decoder.set_transformations(Transformations::normalize_to_color8());
    let mut reader = decoder.read_info().map_err(broken)?;
    let channels = match reader.output_color_type() {
        (ColorType::Grayscale, BitDepth::Eight) => Channels::Gray,
        (ColorType::GrayscaleAlpha, BitDepth::Eight) => Channels::GrayAlpha,
        (ColorType::Rgb, BitDepth::Eight) => Channels::Rgb,
        (ColorType::Rgba, BitDepth::Eight) => Channels::Rgba,
        _ => return Err(ImageError::Unsupported),
    };
    let (width, height) = (parts.width, parts.height);
    let interlaced = reader.info().interlaced;
    let mut shrinker = Shrinker::new((width, height), made, channels);
    let mut next = |x: u32, y: u32, step: u32| {
        let row = reader.next_row().map_err(broken)?;
        let row = row.ok_or(ImageError::Unsupported)?;
        if !interlaced {
            shrinker.row(y, row.data());
        } else {
            shrinker.scattered(y, x, step, row.data());
        }
        Ok(())
    };
    if interlaced {
        for (x, y, across, down) in PASSES {
            // A pass without columns has no rows either.
            if x < width {
                let lines = (y..height).step_by(usize::try_from(down).map_err(broken)?);
                lines.into_iter().try_for_each(|y| next(x, y, across))?;
            }
        }
    } else {
        (0..height).try_for_each(|y| next(0, y, 1))?;
    }
    shrinker.finish()
}
