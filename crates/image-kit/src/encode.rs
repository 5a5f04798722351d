//! Encoding of the small picture.

use std::borrow::Cow;
use std::collections::HashMap;

use image::DynamicImage;
use image::codecs::jpeg::JpegEncoder;
use image::codecs::png::{CompressionType, FilterType, PngEncoder};

use crate::decoded_image::{FileFormat, ImageError, broken};

/// The quality, of 100. At this size, artefacts are invisible.
const JPEG_QUALITY: u8 = 85;
/// From 1 to 30: how many pixels the search for a palette skips.
const PALETTE_SPEED: i32 = 10;
/// The opacity from which a GIF's pixel is visible; a GIF has no partial opacity.
const OPAQUE: u8 = 128;

pub(crate) fn write(format: FileFormat, image: &DynamicImage) -> Result<Vec<u8>, ImageError> {
    let mut file = Vec::new();
    match format {
        FileFormat::Jpeg => {
            let encoder = JpegEncoder::new_with_quality(&mut file, JPEG_QUALITY);
            // The encoder accepts no opacity.
            let written = match image {
                DynamicImage::ImageRgba8(_) => image.to_rgb8().write_with_encoder(encoder),
                _ => image.write_with_encoder(encoder),
            };
            written.map_err(broken)?;
        }
        FileFormat::Png => {
            let encoder = PngEncoder::new_with_quality(
                &mut file,
                CompressionType::Default,
                FilterType::Adaptive,
            );
            image.write_with_encoder(encoder).map_err(broken)?;
        }
        FileFormat::Gif => write_gif(&mut file, image)?,
        FileFormat::WebP => return Err(ImageError::Unsupported),
    }
    Ok(file)
}

pub(crate) fn has_transparency(image: &image::RgbaImage) -> bool {
    image.pixels().any(|pixel| pixel.0[3] != u8::MAX)
}

fn write_gif(file: &mut Vec<u8>, image: &DynamicImage) -> Result<(), ImageError> {
    let width = u16::try_from(image.width()).map_err(broken)?;
    let height = u16::try_from(image.height()).map_err(broken)?;
    let pixels = image.to_rgba8();
    let (pixels, _) = pixels.as_raw().as_chunks::<4>();
    let (palette, buffer, transparent) = indexed(pixels);
    let frame = gif::Frame {
        width,
        height,
        transparent,
        palette: Some(palette),
        buffer: Cow::Owned(buffer),
        ..gif::Frame::default()
    };
    let mut encoder = gif::Encoder::new(file, width, height, &[]).map_err(broken)?;
    encoder.write_frame(&frame).map_err(broken)?;
    // Dropping the encoder writes the trailer.
    drop(encoder);
    Ok(())
}

/// Returns a palette, the index of each pixel in it, and the index of invisible pixels.
fn indexed(pixels: &[[u8; 4]]) -> (Vec<u8>, Vec<u8>, Option<u8>) {
    let is_seen = |pixel: &[u8; 4]| pixel[3] >= OPAQUE;
    let all_seen = pixels.iter().all(is_seen);
    let room = if all_seen { 256 } else { 255 };
    let mut places: HashMap<[u8; 3], u8> = HashMap::new();
    let mut palette = Vec::new();
    for &[r, g, b, _] in pixels.iter().filter(|pixel| is_seen(pixel)) {
        if places.contains_key(&[r, g, b]) {
            continue;
        }
        match u8::try_from(places.len()) {
            Ok(next) if places.len() < room => {
                places.insert([r, g, b], next);
                palette.extend([r, g, b]);
            }
            _ => return approximated(pixels, room, all_seen),
        }
    }
    let transparent = u8::try_from(places.len()).ok().filter(|_| !all_seen);
    let place = |pixel: &[u8; 4]| match *pixel {
        [r, g, b, _] if is_seen(pixel) => places.get(&[r, g, b]).copied().unwrap_or(0),
        _ => transparent.unwrap_or(0),
    };
    let buffer = pixels.iter().map(place).collect();
    if transparent.is_some() {
        palette.extend([0, 0, 0]);
    }
    (palette, buffer, transparent)
}

/// Returns the same with the nearest of `room` colours for each pixel.
fn approximated(pixels: &[[u8; 4]], room: usize, all_seen: bool) -> (Vec<u8>, Vec<u8>, Option<u8>) {
    let is_seen = |pixel: &&[u8; 4]| pixel[3] >= OPAQUE;
    let opaque = |&[r, g, b, _]: &[u8; 4]| [r, g, b, u8::MAX];
    let seen: Vec<u8> = pixels.iter().filter(is_seen).flat_map(opaque).collect();
    let colours = color_quant::NeuQuant::new(PALETTE_SPEED, room, &seen);
    let transparent = (!all_seen).then_some(u8::MAX);
    // A picture has large areas of one colour, and a search costs more than a look-up.
    let mut known: HashMap<[u8; 4], u8> = HashMap::new();
    let mut place = |pixel: &[u8; 4]| {
        if !is_seen(&pixel) {
            return transparent.unwrap_or(0);
        }
        *known
            .entry(opaque(pixel))
            .or_insert_with_key(|pixel| u8::try_from(colours.index_of(pixel)).unwrap_or(0))
    };
    let buffer = pixels.iter().map(&mut place).collect();
    let mut palette = colours.color_map_rgb();
    palette.resize(256 * 3, 0);
    (palette, buffer, transparent)
}
