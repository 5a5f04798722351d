//! Pictures: good ones, and harmful files.

mod bombs;
pub mod files;
mod parts;

use std::borrow::Cow;

use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageFormat, Rgba, RgbaImage};

pub use bombs::{ExpectedResult, HostileImage, bombs};
pub use parts::{exif, png_chunk, png_with_chunks};

/// Returns a picture in which every pixel differs from its neighbours: red grows to the right, green downwards.
pub fn picture(width: u32, height: u32) -> DynamicImage {
    let part = |at: u32, of: u32| u8::try_from(at * 255 / of.max(2).saturating_sub(1)).unwrap();
    RgbaImage::from_fn(width, height, |x, y| {
        Rgba([part(x, width), part(y, height), 64, 255])
    })
    .into()
}

/// Returns [`picture`] as JPEG, without any metadata.
pub fn jpeg(width: u32, height: u32) -> Vec<u8> {
    let mut file = Vec::new();
    picture(width, height)
        .to_rgb8()
        .write_with_encoder(JpegEncoder::new_with_quality(&mut file, 92))
        .unwrap();
    file
}

/// Returns a JPEG with this APP1 segment after its first marker, as cameras write it.
pub fn jpeg_with_app1(width: u32, height: u32, segment: &[u8]) -> Vec<u8> {
    let plain = jpeg(width, height);
    let length = u16::try_from(segment.len() + 2).unwrap();
    let head = [&[0xff, 0xe1], length.to_be_bytes().as_slice(), segment].concat();
    [&plain[..2], &head, &plain[2..]].concat()
}

/// Returns [`picture`] as PNG; its upper left quarter is transparent.
pub fn png(width: u32, height: u32) -> Vec<u8> {
    let mut image = picture(width, height).to_rgba8();
    for (x, y, pixel) in image.enumerate_pixels_mut() {
        if x < width / 2 && y < height / 2 {
            *pixel = Rgba([255, 255, 255, 0]);
        }
    }
    let mut file = std::io::Cursor::new(Vec::new());
    image.write_to(&mut file, ImageFormat::Png).unwrap();
    file.into_inner()
}

/// The passes of an interlaced PNG: the first pixel, and the steps to the right and downwards.
const ADAM7: [(u32, u32, u32, u32); 7] = [
    (0, 0, 8, 8),
    (4, 0, 8, 8),
    (0, 4, 4, 8),
    (2, 0, 4, 4),
    (0, 2, 2, 4),
    (1, 0, 2, 2),
    (0, 1, 1, 2),
];

/// Returns [`picture`] as PNG whose rows come in the seven passes of Adam7.
pub fn png_interlaced(width: u32, height: u32) -> Vec<u8> {
    let image = picture(width, height).to_rgba8();
    let mut raw = Vec::new();
    for (x0, y0, across, down) in ADAM7 {
        if x0 >= width {
            continue;
        }
        let [across, down] = [across, down].map(|step| usize::try_from(step).unwrap());
        for y in (y0..height).step_by(down) {
            raw.push(0);
            raw.extend((x0..width).step_by(across).flat_map(|x| image[(x, y)].0));
        }
    }
    let head = parts::png_head(width, height, 8, 6, true);
    parts::png_of(head, &[fdeflate::compress_to_vec(&raw)])
}

/// Returns a GIF: the first frame is [`picture`] in few colours, the others are black.
pub fn gif(width: u16, height: u16, frames: usize) -> Vec<u8> {
    // Four levels of red and four of green.
    let palette: Vec<u8> = (0..16_u8)
        .flat_map(|n| [(n % 4) * 85, (n / 4) * 85, 64])
        .collect();
    let place = |x: u16, y: u16| {
        let step = |at: u16, of: u16| u32::from(at) * 4 / u32::from(of);
        u8::try_from(step(x, width) + 4 * step(y, height)).unwrap()
    };
    let pixels: Vec<u8> = (0..height)
        .flat_map(|y| (0..width).map(move |x| (x, y)))
        .map(|(x, y)| place(x, y))
        .collect();
    let mut file = Vec::new();
    let mut encoder = gif::Encoder::new(&mut file, width, height, &palette).unwrap();
    for n in 0..frames {
        let buffer = if n == 0 {
            pixels.clone()
        } else {
            vec![0; pixels.len()]
        };
        let frame = gif::Frame {
            width,
            height,
            buffer: Cow::Owned(buffer),
            delay: 10,
            ..gif::Frame::default()
        };
        encoder.write_frame(&frame).unwrap();
    }
    drop(encoder);
    file
}

/// Returns the size and the pixels that a viewer shows; of a GIF, those of its first frame.
pub fn seen(file: &[u8]) -> RgbaImage {
    if !file.starts_with(b"GIF") {
        return image::load_from_memory(file).unwrap().to_rgba8();
    }
    let mut options = gif::DecodeOptions::new();
    options.set_color_output(gif::ColorOutput::RGBA);
    let mut decoder = options.read_info(file).unwrap();
    let frame = decoder.read_next_frame().unwrap().unwrap();
    let (width, height) = (frame.width.into(), frame.height.into());
    RgbaImage::from_raw(width, height, frame.buffer.to_vec()).unwrap()
}
