//! Conversion of the colours of a profile, such as Display P3, to sRGB, which a file without a profile has.

use image::DynamicImage;
use moxcms::{ColorProfile, Layout, TransformOptions};

/// Converts the pixels of the small picture. Profiles of cameras and screens are a matrix and three curves. Others, and those
/// that cannot be parsed, are treated as sRGB.
pub(crate) fn to_srgb(image: &mut DynamicImage, profile: &[u8]) {
    let Ok(profile) = ColorProfile::new_from_slice(profile) else {
        return;
    };
    let (layout, pixels): (_, &mut [u8]) = match image {
        DynamicImage::ImageRgb8(image) => (Layout::Rgb, image),
        DynamicImage::ImageRgba8(image) => (Layout::Rgba, image),
        _ => return,
    };
    if !profile.is_matrix_shaper() {
        return;
    }
    let (srgb, options) = (ColorProfile::new_srgb(), TransformOptions::default());
    if let Ok(transform) = profile.create_transform_8bit(layout, &srgb, layout, options) {
        let source = pixels.to_vec();
        // It fails only if the lengths differ.
        if transform.transform(&source, pixels).is_err() {
            pixels.copy_from_slice(&source);
        }
    }
}
