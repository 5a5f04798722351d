//! JPEG (ITU-T T.81): parsing of its segments, and decoding of its pixels.

use std::io::Cursor;

use image::codecs::jpeg::JpegDecoder;
use image::metadata::Orientation;
use image::{ColorType, ImageDecoder, Limits};

use crate::decoded_image::{
    DecodedImage, FileFormat, ImageError, ImageLimits, ImageParts, MAX_PROFILE, broken, check_size,
};
use crate::jpeg_strips;
use crate::shrinker::{Channels, Shrinker};

/// The maximum number of scans, more than any encoder writes. Each one costs a pass over the whole picture.
const MAX_SCANS: usize = 32;

/// Markers (annex B).
const SOI: u8 = 0xd8;
pub(crate) const EOI: u8 = 0xd9;
pub(crate) const SOS: u8 = 0xda;
const APP1: u8 = 0xe1;
const APP2: u8 = 0xe2;
const APP13: u8 = 0xed;
const APP15: u8 = 0xef;
const COM: u8 = 0xfe;

/// The content of the frame header.
struct Frame {
    width: u32,
    height: u32,
    /// Whether the coefficients of the whole picture are kept until the last scan.
    progressive: bool,
    components: usize,
    /// Samples of all components per 100 pixels.
    samples_percent: u64,
}

impl Frame {
    /// Returns the memory that decoding as a whole takes: the pixels and, unless all components come in one pass, the
    /// coefficients of the whole picture, two bytes each.
    fn memory(&self, widest_scan: usize) -> u64 {
        let pixels = u64::from(self.width) * u64::from(self.height);
        let shown = if self.components == 1 { 1 } else { 3 };
        let held = if self.progressive || widest_scan < self.components {
            pixels * self.samples_percent / 50
        } else {
            0
        };
        pixels * shown + held
    }

    /// Whether it can be decoded in strips: one sequential scan of all components, in gray or in three colours.
    fn comes_in_strips(&self, scans: usize, widest_scan: usize) -> bool {
        let whole = scans == 1 && widest_scan == self.components;
        whole && !self.progressive && matches!(self.components, 1 | 3)
    }
}

/// Parses the segments up to the end of the image. It drops what follows, and every segment that no pixel depends on.
pub(crate) fn read(file: &[u8], limits: ImageLimits) -> Result<ImageParts, ImageError> {
    let mut rest = file.get(2..).ok_or(ImageError::Unsupported)?;
    let mut slim = vec![0xff, SOI];
    let (mut frame, mut orientation) = (None, Orientation::NoTransforms);
    let (mut scans, mut widest) = (0, 0);
    let (mut profile, mut is_ended) = (Vec::new(), false);
    // Some cameras omit the end marker.
    while let Ok((marker, after)) = next_marker(rest) {
        rest = after;
        match marker {
            EOI => {
                is_ended = true;
                break;
            }
            // These have no segment, and no meaning here.
            0x01 | 0xd0..=0xd7 => continue,
            0x00 | SOI => return Err(ImageError::Unsupported),
            _ => {}
        }
        let (segment, after) = segment(rest)?;
        rest = after;
        match marker {
            // Baseline, extended and progressive. The others are lossless, differential or arithmetic.
            0xc0..=0xc2 => {
                // A second header could state another size than the one that was checked.
                if frame.is_some() {
                    return Err(ImageError::Unsupported);
                }
                let read = read_frame(segment, marker == 0xc2)?;
                check_size(read.width, read.height, limits)?;
                frame = Some(read);
            }
            0xc3 | 0xc5..=0xc7 | 0xc9..=0xcf => return Err(ImageError::Unsupported),
            APP1 => orientation = oriented(segment).unwrap_or(orientation),
            APP2 => profile.extend(profile_part(segment, profile.len()).unwrap_or_default()),
            _ => {}
        }
        // Of the application segments, the decoder needs only APP0 and APP14, for the colours.
        if !matches!(marker, APP1..=APP13 | APP15 | COM) {
            keep(&mut slim, marker, segment)?;
        }
        if marker == SOS {
            scans += 1;
            widest = widest.max(segment.first().copied().map_or(0, usize::from));
            let data = entropy_coded(rest);
            slim.extend_from_slice(data);
            rest = rest.get(data.len()..).unwrap_or_default();
        }
    }
    let frame = frame.ok_or(ImageError::Unsupported)?;
    if scans == 0 || scans > MAX_SCANS {
        return Err(ImageError::Unsupported);
    }
    slim.extend([0xff, EOI]);
    let in_strips = frame.comes_in_strips(scans, widest);
    // Decoding in strips detects missing data. Otherwise the first scan must be complete, which a second one shows.
    if !is_ended && !in_strips && scans < 2 {
        return Err(ImageError::Unsupported);
    }
    let memory = if in_strips {
        jpeg_strips::MEMORY
    } else {
        frame.memory(widest)
    };
    Ok(ImageParts {
        format: FileFormat::Jpeg,
        width: frame.width,
        height: frame.height,
        slim,
        orientation,
        profile,
        in_strips,
        memory,
    })
}

/// Returns the next marker and what follows it. Skips bytes before the marker, as every decoder does.
pub(crate) fn next_marker(mut rest: &[u8]) -> Result<(u8, &[u8]), ImageError> {
    loop {
        let at = rest.iter().position(|byte| *byte == 0xff);
        rest = at
            .and_then(|at| rest.get(at + 1..))
            .ok_or(ImageError::Unsupported)?;
        match rest {
            // Fill bytes.
            [0xff, ..] => {}
            [marker, after @ ..] => return Ok((*marker, after)),
            [] => return Err(ImageError::Unsupported),
        }
    }
}

/// Returns a segment without its length, and what follows it.
pub(crate) fn segment(rest: &[u8]) -> Result<(&[u8], &[u8]), ImageError> {
    let [high, low, ..] = rest else {
        return Err(ImageError::Unsupported);
    };
    let length = usize::from(u16::from_be_bytes([*high, *low]));
    let whole = rest.split_at_checked(length);
    whole
        .and_then(|(segment, after)| Some((segment.get(2..)?, after)))
        .ok_or(ImageError::Unsupported)
}

fn keep(slim: &mut Vec<u8>, marker: u8, segment: &[u8]) -> Result<(), ImageError> {
    let length = u16::try_from(segment.len() + 2).map_err(broken)?;
    slim.extend([0xff, marker]);
    slim.extend(length.to_be_bytes());
    slim.extend_from_slice(segment);
    Ok(())
}

/// Returns the data of a scan, up to the next marker that is not a restart.
pub(crate) fn entropy_coded(rest: &[u8]) -> &[u8] {
    let mut at = 0;
    while let Some(found) = rest
        .get(at..)
        .and_then(|rest| rest.iter().position(|byte| *byte == 0xff))
    {
        at += found;
        match rest.get(at + 1) {
            Some(0x00 | 0xd0..=0xd7) => at += 2,
            // A fill byte, which a marker may follow.
            Some(0xff) => at += 1,
            _ => return rest.get(..at).unwrap_or(rest),
        }
    }
    rest
}

/// Parses the frame header (B.2.2): precision, lines, samples per line, components.
fn read_frame(segment: &[u8], progressive: bool) -> Result<Frame, ImageError> {
    let [8, h1, h0, w1, w0, count, components @ ..] = segment else {
        return Err(ImageError::Unsupported);
    };
    let (components, _) = components.as_chunks::<3>();
    let count = usize::from(*count);
    if !(1..=4).contains(&count) || components.len() != count {
        return Err(ImageError::Unsupported);
    }
    let factors = || {
        components
            .iter()
            .map(|[_, factors, _]| (u64::from(factors >> 4), u64::from(factors & 15)))
    };
    if factors().any(|(h, v)| !(1..=4).contains(&h) || !(1..=4).contains(&v)) {
        return Err(ImageError::Unsupported);
    }
    let most = |of: fn((u64, u64)) -> u64| factors().map(of).max().unwrap_or(1);
    let unit = most(|(h, _)| h) * most(|(_, v)| v);
    let samples: u64 = factors().map(|(h, v)| h * v).sum();
    Ok(Frame {
        width: u16::from_be_bytes([*w1, *w0]).into(),
        height: u16::from_be_bytes([*h1, *h0]).into(),
        progressive,
        components: count,
        samples_percent: (samples * 100).div_ceil(unit),
    })
}

fn oriented(segment: &[u8]) -> Option<Orientation> {
    Orientation::from_exif_chunk(segment.strip_prefix(b"Exif\0\0")?)
}

/// Returns a part of a colour profile (ICC.1:2022, annex B.4), unless the profile becomes too long.
fn profile_part(segment: &[u8], before: usize) -> Option<&[u8]> {
    let part = segment.strip_prefix(b"ICC_PROFILE\0")?.get(2..)?;
    (before + part.len() <= MAX_PROFILE).then_some(part)
}

pub(crate) fn decode(parts: &ImageParts, made: (u32, u32)) -> Result<DecodedImage, ImageError> {
    if parts.in_strips {
        return jpeg_strips::decode(&parts.slim, made);
    }
    let mut decoder = JpegDecoder::new(Cursor::new(&parts.slim)).map_err(broken)?;
    let mut limits = Limits::no_limits();
    limits.max_image_width = Some(parts.width);
    limits.max_image_height = Some(parts.height);
    decoder.set_limits(limits).map_err(broken)?;
    let channels = match decoder.color_type() {
        ColorType::L8 => Channels::Gray,
        ColorType::Rgb8 => Channels::Rgb,
        _ => return Err(ImageError::Unsupported),
    };
    let line = usize::try_from(parts.width).map_err(broken)? * channels.count();
    let size = usize::try_from(decoder.total_bytes()).map_err(broken)?;
    let mut pixels = vec![0; size];
    decoder.read_image(&mut pixels).map_err(broken)?;
    let mut shrinker = Shrinker::new((parts.width, parts.height), made, channels);
    for (y, row) in (0..parts.height).zip(pixels.chunks_exact(line)) {
        shrinker.row(y, row);
    }
    shrinker.finish()
}
