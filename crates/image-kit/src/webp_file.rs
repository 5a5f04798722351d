//! WebP (RFC 9649), which is read and never written.

use std::io::Cursor;

use image::metadata::Orientation;
use image_webp::WebPDecoder;

use crate::decoded_image::{
    DecodedImage, FileFormat, ImageError, ImageLimits, ImageParts, MAX_PROFILE, broken, check_size,
};
use crate::shrinker::{Channels, Shrinker};

/// Bytes for each pixel at the decoder's peak: planes and pixels; the same with an opacity plane, or for a lossless picture; a
/// canvas and a frame of it.
const LOSSY: u64 = 5;
const LOSSLESS: u64 = 11;
const ANIMATED: u64 = 16;

/// Parses the container. The decoder gets the whole file, but reads only the chunks of the picture.
pub(crate) fn read(file: &[u8], limits: ImageLimits) -> Result<ImageParts, ImageError> {
    let mut decoder = WebPDecoder::new(Cursor::new(file)).map_err(broken)?;
    let (width, height) = decoder.dimensions();
    check_size(width, height, limits)?;
    decoder.set_memory_limit(MAX_PROFILE);
    let profile = decoder.icc_profile().ok().flatten();
    let exif = decoder.exif_metadata().ok().flatten();
    let each = match (
        decoder.is_animated(),
        decoder.is_lossy() && !decoder.has_alpha(),
    ) {
        (true, _) => ANIMATED,
        (_, true) => LOSSY,
        _ => LOSSLESS,
    };
    Ok(ImageParts {
        format: FileFormat::WebP,
        width,
        height,
        slim: file.to_vec(),
        orientation: exif
            .and_then(|exif| Orientation::from_exif_chunk(&exif))
            .unwrap_or(Orientation::NoTransforms),
        profile: profile.unwrap_or_default(),
        in_strips: false,
        memory: u64::from(width) * u64::from(height) * each,
    })
}

pub(crate) fn decode(parts: &ImageParts, made: (u32, u32)) -> Result<DecodedImage, ImageError> {
    let mut decoder = WebPDecoder::new(Cursor::new(&parts.slim)).map_err(broken)?;
    let channels = if decoder.has_alpha() {
        Channels::Rgba
    } else {
        Channels::Rgb
    };
    let size = decoder
        .output_buffer_size()
        .ok_or(ImageError::Unsupported)?;
    let mut pixels = vec![0; size];
    decoder.read_image(&mut pixels).map_err(broken)?;
    let line = usize::try_from(parts.width).map_err(broken)? * channels.count();
    let mut shrinker = Shrinker::new((parts.width, parts.height), made, channels);
    for (y, row) in (0..parts.height).zip(pixels.chunks_exact(line)) {
        shrinker.row(y, row);
    }
    shrinker.finish()
}
