//! What becomes of valid images, and of files that only look valid.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs,
    reason = "tests fail by panicking and are documented by their names"
)]

use image_kit::{ExceededLimit, FileFormat, ImageError, ImageLimits, OpenedImage, ShrunkImage};
use proptest::prelude::*;
use test_kit::images::files::{
    JPEG_420, JPEG_422, JPEG_CMYK, JPEG_PROGRESSIVE, WEBP_ALPHA, WEBP_ALPHA_LOSSLESS,
    WEBP_ANIMATED, WEBP_LOSSLESS, WEBP_LOSSY,
};
use test_kit::images::{
    exif, gif, jpeg, jpeg_with_app1, png, png_chunk, png_interlaced, png_with_chunks, seen,
};

const LIMITS: ImageLimits = ImageLimits {
    max_pixels: 50_000_000,
    max_memory: 64 * 1024 * 1024,
    made_edge: 512,
};

fn shrink(file: &[u8]) -> Result<ShrunkImage, ImageError> {
    image_kit::open(file, LIMITS).and_then(OpenedImage::shrink)
}

fn app1(orientation: u16) -> Vec<u8> {
    [b"Exif\0\0".to_vec(), exif(orientation)].concat()
}

fn contains(file: &[u8], text: &[u8]) -> bool {
    file.windows(text.len()).any(|window| window == text)
}

/// Whether two images look the same; the colour of transparent pixels does not count.
fn same(a: &[u8], b: &[u8]) -> bool {
    let (a, b) = (seen(a), seen(b));
    let pixels = a.pixels().zip(b.pixels());
    a.dimensions() == b.dimensions()
        && pixels
            .into_iter()
            .all(|(a, b)| a == b || (a.0[3] == 0 && b.0[3] == 0))
}

#[test]
fn an_image_keeps_its_format_and_proportions_and_is_never_enlarged() {
    type Make = fn(u32, u32) -> Vec<u8>;
    let animated: Make = |w, h| gif(w.try_into().unwrap(), h.try_into().unwrap(), 3);
    let makes: [(Make, FileFormat); 3] = [
        (jpeg, FileFormat::Jpeg),
        (png, FileFormat::Png),
        (animated, FileFormat::Gif),
    ];
    for (file, format) in makes {
        for (source, made) in [
            ((1, 1), (1, 1)),
            ((512, 512), (512, 512)),
            ((513, 100), (512, 100)),
            ((1000, 700), (512, 358)),
            ((700, 1400), (256, 512)),
        ] {
            let picture = shrink(&file(source.0, source.1)).unwrap();
            assert_eq!(picture.format, format);
            assert_eq!(
                seen(&picture.bytes).dimensions(),
                made,
                "{format:?} {source:?}"
            );
        }
    }
}

#[test]
fn pixels_are_kept_or_become_the_mean_of_their_area() {
    for file in [png(300, 200), gif(300, 200, 2), png_interlaced(61, 43)] {
        assert!(same(&shrink(&file).unwrap().bytes, &file));
    }
    let near = |file: &[u8], distance: u8| {
        let (small, large) = (seen(&shrink(file).unwrap().bytes), seen(file));
        for (x, y, pixel) in small.enumerate_pixels() {
            let scale = |at: u32, small: u32, large: u32| at * large / small + large / small / 2;
            let (x, y) = (
                scale(x, small.width(), large.width()),
                scale(y, small.height(), large.height()),
            );
            let there = large[(x.min(large.width() - 1), y.min(large.height() - 1))];
            for (a, b) in pixel.0.into_iter().zip(there.0) {
                assert!(a.abs_diff(b) <= distance, "{x} {y}: {pixel:?} {there:?}");
            }
        }
    };
    near(&jpeg(1024, 1024), 6);
    near(&jpeg(1111, 777), 6);
    near(&png_interlaced(1111, 777), 2);
    // Opaque and transparent parts meet in the middle of a pixel, and a GIF has few colours.
    near(&gif(1024, 1024, 1), 60);
}

#[test]
fn an_interlaced_png_gives_the_same_image_as_a_plain_one() {
    let made = shrink(&png_interlaced(1300, 900)).unwrap();
    let plain = test_kit::images::picture(1300, 900);
    let mut file = std::io::Cursor::new(Vec::new());
    plain.write_to(&mut file, image_format()).unwrap();
    assert!(same(&made.bytes, &shrink(file.get_ref()).unwrap().bytes));
}

fn image_format() -> image::ImageFormat {
    image::ImageFormat::Png
}

#[test]
fn the_colour_of_transparent_pixels_does_not_bleed() {
    // The upper left quarter is white and transparent; blue is 64 everywhere else.
    let made = seen(&shrink(&png(1011, 1011)).unwrap().bytes);
    let halves = made.pixels().filter(|pixel| (1..255).contains(&pixel.0[3]));
    assert!(halves.clone().count() > 0);
    assert!(halves.into_iter().all(|pixel| pixel.0[2] == 64));
}

#[test]
fn an_image_is_turned_upright_and_loses_its_location() {
    let plain = seen(&jpeg(60, 40));
    for orientation in 1..=8 {
        let file = jpeg_with_app1(60, 40, &app1(orientation));
        assert!(contains(&file, b"GPSLATITUDE"));
        let made = shrink(&file).unwrap().bytes;
        assert!(!contains(&made, b"GPSLATITUDE") && !contains(&made, b"Exif"));
        let expected = upright(&plain, orientation);
        let made = seen(&made);
        assert_eq!(made.dimensions(), expected.dimensions(), "{orientation}");
        for (made, expected) in made.pixels().zip(expected.pixels()) {
            let near = made
                .0
                .iter()
                .zip(expected.0)
                .all(|(a, b)| a.abs_diff(b) < 16);
            assert!(near, "{orientation}: {made:?} {expected:?}");
        }
    }
    let sideways = png_with_chunks(&png(60, 40), &[png_chunk(b"eXIf", &exif(6))]);
    let made = shrink(&sideways).unwrap().bytes;
    assert!(!contains(&made, b"eXIf") && !contains(&made, b"GPSLATITUDE"));
    assert_eq!(seen(&made).dimensions(), (40, 60));
}

/// Applies one of the eight EXIF orientations, as a viewer does.
fn upright(image: &image::RgbaImage, orientation: u16) -> image::RgbaImage {
    use image::imageops::{flip_horizontal, flip_vertical, rotate90, rotate180, rotate270};
    match orientation {
        2 => flip_horizontal(image),
        3 => rotate180(image),
        4 => flip_vertical(image),
        5 => flip_horizontal(&rotate90(image)),
        6 => rotate90(image),
        7 => flip_horizontal(&rotate270(image)),
        8 => rotate270(image),
        _ => image.clone(),
    }
}

#[test]
fn data_after_the_end_or_in_metadata_is_removed() {
    let script = b"<script>alert(1)</script>";
    let behind = |file: Vec<u8>| [file, script.to_vec()].concat();
    let files = [
        behind(jpeg(50, 50)),
        behind(png(50, 50)),
        behind(gif(50, 50, 1)),
        jpeg_with_app1(50, 50, script),
        png_with_chunks(&png(50, 50), &[png_chunk(b"tEXt", script)]),
    ];
    for file in files {
        assert!(contains(&file, b"alert"));
        assert!(!contains(&shrink(&file).unwrap().bytes, b"alert"));
    }
}

#[test]
fn an_incomplete_file_is_refused() {
    for file in [jpeg(300, 300), png(300, 300), gif(300, 300, 3)] {
        for parts in 0..16 {
            let cut = file.len() * parts / 16;
            assert_eq!(shrink(&file[..cut]), Err(ImageError::Unsupported), "{cut}");
        }
        // A JPEG may lack its end marker, but none of its data.
        let least = if file.starts_with(b"\xff\xd8") { 4 } else { 1 };
        let cut = file.len() - least;
        assert_eq!(shrink(&file[..cut]), Err(ImageError::Unsupported), "{cut}");
    }
    for file in [WEBP_LOSSY, WEBP_LOSSLESS, WEBP_ALPHA] {
        for parts in 0..4 {
            let cut = file.len() * parts / 4;
            assert_eq!(shrink(&file[..cut]), Err(ImageError::Unsupported), "{cut}");
        }
    }
    // The first scan of a progressive JPEG must be complete.
    let scan = JPEG_PROGRESSIVE
        .windows(2)
        .position(|two| two == b"\xff\xda");
    assert_eq!(
        shrink(&JPEG_PROGRESSIVE[..scan.unwrap() + 60]),
        Err(ImageError::Unsupported)
    );
}

#[test]
fn a_jpeg_without_its_end_marker_is_accepted() {
    for file in [&jpeg(300, 200)[..], JPEG_420, JPEG_PROGRESSIVE] {
        let whole = shrink(file).unwrap();
        let end = file.len() - 2;
        assert_eq!(file[end..], [0xff, 0xd9]);
        assert_eq!(shrink(&file[..end]).unwrap(), whole);
        assert_eq!(shrink(&file[..end + 1]).unwrap(), whole);
    }
}

/// Returns the mean and the largest difference between the pixels of two images.
fn distance(a: &image::RgbaImage, b: &image::RgbaImage) -> (u32, u32) {
    assert_eq!(a.dimensions(), b.dimensions());
    let pairs = || a.as_raw().iter().zip(b.as_raw());
    let far = || pairs().map(|(a, b)| u32::from(a.abs_diff(*b)));
    (
        far().sum::<u32>() / u32::try_from(a.as_raw().len()).unwrap(),
        far().max().unwrap(),
    )
}

#[test]
fn images_decoded_in_strips_match_other_decoders() {
    let plain = jpeg(160, 120);
    for file in [
        plain.as_slice(),
        JPEG_420,
        JPEG_422,
        JPEG_PROGRESSIVE,
        JPEG_CMYK,
    ] {
        let (mean, most) = distance(&seen(&shrink(file).unwrap().bytes), &seen(file));
        assert!(mean <= 2 && most <= 24, "{mean} {most}");
    }
    // Blocks at a half, a quarter and an eighth of their size.
    for edge in [80, 40, 20] {
        let small = ImageLimits {
            made_edge: edge,
            ..LIMITS
        };
        for file in [plain.as_slice(), JPEG_420, JPEG_422] {
            let made = image_kit::open(file, small)
                .and_then(OpenedImage::shrink)
                .unwrap();
            let wanted = image::imageops::thumbnail(&seen(file), edge, edge * 3 / 4);
            let (mean, most) = distance(&seen(&made.bytes), &wanted);
            assert!(mean <= 3 && most <= 24, "{edge}: {mean} {most}");
        }
    }
}

#[test]
fn a_phone_photo_is_shrunk_with_little_memory() {
    let file = jpeg(5712, 4284);
    let opened = image_kit::open(&file, LIMITS).unwrap();
    assert!(opened.memory() < 20 * 1024 * 1024, "{}", opened.memory());
    let made = seen(&opened.shrink().unwrap().bytes);
    assert_eq!(made.dimensions(), (512, 384));
    let (mean, most) = distance(&made, &test_kit::images::picture(512, 384).to_rgba8());
    assert!(mean <= 2 && most <= 12, "{mean} {most}");
}

#[test]
fn a_webp_becomes_a_jpeg_or_a_png_if_it_is_transparent() {
    let plain = test_kit::images::picture(160, 120).to_rgba8();
    for (file, format) in [
        (WEBP_LOSSY, FileFormat::Jpeg),
        (WEBP_LOSSLESS, FileFormat::Jpeg),
        (WEBP_ANIMATED, FileFormat::Jpeg),
        (WEBP_ALPHA, FileFormat::Png),
        (WEBP_ALPHA_LOSSLESS, FileFormat::Png),
    ] {
        let made = shrink(file).unwrap();
        assert_eq!(made.format, format);
        let made = seen(&made.bytes);
        assert_eq!(made.dimensions(), (160, 120));
        assert_eq!(made[(10, 10)].0[3] == 0, format == FileFormat::Png);
        let far = made[(120, 100)].0.iter().zip(plain[(120, 100)].0);
        assert!(far.into_iter().all(|(a, b)| a.abs_diff(b) <= 12));
    }
}

#[test]
fn display_p3_colours_become_srgb() {
    // Display P3 and sRGB by CSS Color 4; colours outside sRGB are clipped.
    let pairs = [
        ([255, 0, 0], [255, 0, 0]),
        ([0, 128, 0], [0, 130, 0]),
        ([200, 100, 50], [215, 93, 30]),
    ];
    for (p3, srgb) in pairs {
        let flat = image::RgbImage::from_pixel(40, 30, image::Rgb(p3));
        for mut file in p3_files(&flat) {
            let made = seen(&shrink(&file).unwrap().bytes)[(20, 15)].0;
            let far = made
                .iter()
                .zip(srgb)
                .map(|(a, b): (&u8, u8)| a.abs_diff(b))
                .max();
            assert!(far <= Some(3), "{p3:?}: {made:?} is not {srgb:?}");
            // A profile that cannot be read changes nothing.
            let at = file.windows(4).position(|four| four == b"acsp");
            if let Some(at) = at {
                file[at] = b'x';
                let made = seen(&shrink(&file).unwrap().bytes)[(20, 15)].0;
                assert!(
                    made.iter()
                        .zip(p3)
                        .all(|(a, b): (&u8, u8)| a.abs_diff(b) <= 3)
                );
            }
        }
    }
}

/// Encodes the image with the Display P3 profile as JPEG, PNG and WebP.
fn p3_files(image: &image::RgbImage) -> [Vec<u8>; 3] {
    use image::ImageEncoder as _;
    let profile = moxcms::ColorProfile::new_display_p3().encode().unwrap();
    let (width, height) = image.dimensions();
    let (mut jpeg, mut png, mut webp) = (Vec::new(), Vec::new(), Vec::new());
    let mut encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 95);
    encoder.set_icc_profile(profile.clone()).unwrap();
    encoder.encode_image(image).unwrap();
    let mut encoder = image::codecs::png::PngEncoder::new(&mut png);
    encoder.set_icc_profile(profile.clone()).unwrap();
    image.write_with_encoder(encoder).unwrap();
    let mut encoder = image_webp::WebPEncoder::new(&mut webp);
    encoder.set_icc_profile(profile);
    let colour = image_webp::ColorType::Rgb8;
    encoder
        .encode(image.as_raw(), width, height, colour)
        .unwrap();
    [jpeg, png, webp]
}

#[test]
fn the_error_for_a_large_image_names_the_limit() {
    let text = |file: &[u8], limits: ImageLimits| match image_kit::open(file, limits) {
        Err(ImageError::TooLarge(exceeded)) => exceeded.to_string(),
        other => panic!("{other:?}"),
    };
    let few = ImageLimits {
        max_pixels: 2_000_000,
        ..LIMITS
    };
    assert_eq!(
        text(&jpeg(2000, 1200), few),
        "the photo has 3 megapixels; at most 2 are accepted"
    );
    let little = ImageLimits {
        max_memory: 11 * 1024 * 1024,
        ..LIMITS
    };
    let refused = text(&jpeg(800, 600), little);
    assert!(
        refused.ends_with("MiB of memory to decode; at most 11 are accepted"),
        "{refused}"
    );
    assert!(matches!(
        image_kit::open(
            JPEG_PROGRESSIVE,
            ImageLimits {
                max_memory: 1 << 20,
                ..LIMITS
            }
        ),
        Err(ImageError::TooLarge(ExceededLimit::Memory(_, 1)))
    ));
}

#[test]
fn a_file_that_is_no_jpeg_png_gif_or_webp_is_refused() {
    let files: [&[u8]; 9] = [
        b"",
        b"x",
        b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>",
        b"<!DOCTYPE html><html></html>",
        b"RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0",
        b"BM\x3a\0\0\0\0\0\0\0\x36\0\0\0",
        b"GIF88a\x01\0\x01\0\0\0\0",
        b"\xff\xd8\xff",
        b"\x89PNG\r\n\x1a\n",
    ];
    for file in files {
        assert_eq!(shrink(file), Err(ImageError::Unsupported), "{file:?}");
    }
}

#[test]
fn an_image_without_pixels_is_unsupported_and_one_with_too_many_is_too_large() {
    let with_size = |width: u16, height: u16| {
        let mut frame = gif(8, 8, 1);
        frame[6..8].copy_from_slice(&width.to_le_bytes());
        frame[8..10].copy_from_slice(&height.to_le_bytes());
        let mut jpeg = jpeg(8, 8);
        let at = jpeg.windows(2).position(|two| two == [0xff, 0xc0]).unwrap();
        jpeg[at + 5..at + 7].copy_from_slice(&height.to_be_bytes());
        jpeg[at + 7..at + 9].copy_from_slice(&width.to_be_bytes());
        let mut png = png(8, 8);
        png[16..20].copy_from_slice(&u32::from(width).to_be_bytes());
        png[20..24].copy_from_slice(&u32::from(height).to_be_bytes());
        [frame, jpeg, png]
    };
    let outcome = |width, height| with_size(width, height).map(|file| shrink(&file).unwrap_err());
    assert_eq!(outcome(0, 8), [ImageError::Unsupported; 3]);
    assert_eq!(outcome(8, 0), [ImageError::Unsupported; 3]);
    let too_large = ImageError::TooLarge(ExceededLimit::Megapixels(51, 50));
    assert_eq!(outcome(7143, 7001), [too_large; 3]);
    assert_eq!(outcome(7001, 7143), [too_large; 3]);
}

#[test]
fn a_gif_frame_across_the_edge_is_clipped_and_one_outside_shows_nothing() {
    let moved = |left: u16, top: u16| {
        let mut file = gif(20, 10, 1);
        let at = file.iter().rposition(|byte| *byte == 0x2c).unwrap();
        // The last comma may be among the pixels; that of the descriptor comes before the size.
        let at = (0..=at)
            .rev()
            .find(|at| file[*at] == 0x2c && file[at + 5..at + 9] == [20, 0, 10, 0])
            .unwrap();
        file[at + 1..at + 3].copy_from_slice(&left.to_le_bytes());
        file[at + 3..at + 5].copy_from_slice(&top.to_le_bytes());
        seen(&shrink(&file).unwrap().bytes)
    };
    let original = seen(&gif(20, 10, 1));
    let shifted = moved(5, 4);
    assert_eq!(shifted.dimensions(), (20, 10));
    assert_eq!(shifted[(5, 4)], original[(0, 0)]);
    assert_eq!(shifted[(4, 4)].0[3], 0);
    assert_eq!(shifted[(5, 3)].0[3], 0);
    assert!(moved(20, 10).pixels().all(|pixel| pixel.0[3] == 0));
    assert!(moved(65_535, 65_535).pixels().all(|pixel| pixel.0[3] == 0));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn no_damaged_file_causes_a_panic(
        which in 0..8_usize,
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12),
    ) {
        let mut file = match which {
            0 => jpeg(40, 30),
            1 => png(40, 30),
            2 => gif(40, 30, 2),
            3 => WEBP_LOSSY.to_vec(),
            4 => WEBP_ALPHA_LOSSLESS.to_vec(),
            5 => JPEG_420.to_vec(),
            6 => JPEG_PROGRESSIVE.to_vec(),
            _ => png_interlaced(40, 30),
        };
        for (at, byte) in hits {
            let at = at.index(file.len());
            file[at] = byte;
        }
        if let Ok(picture) = shrink(&file) {
            prop_assert!(seen(&picture.bytes).width() <= 512);
        }
    }

    #[test]
    fn an_image_of_one_colour_keeps_it_at_every_size(width in 1..700_u32, height in 1..700_u32) {
        // An image of one colour keeps it, however its pixels are divided.
        let flat = image::GrayImage::from_pixel(width, height, image::Luma([77]));
        let mut file = std::io::Cursor::new(Vec::new());
        flat.write_to(&mut file, image_format()).unwrap();
        let made = seen(&shrink(file.get_ref()).unwrap().bytes);
        prop_assert!(made.pixels().all(|pixel| pixel.0 == [77, 77, 77, 255]));
    }
}
