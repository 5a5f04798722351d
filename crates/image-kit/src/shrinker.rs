//! Averages a large picture into a small one while its pixels arrive, in any order of rows.
//!
//! Each pixel of the small picture is the mean of exactly the area that it covers. On both axes, a source pixel is as many units
//! long as the small picture has pixels there. A small pixel is as many units long as the source has pixels. All weights are
//! therefore integers. Colours are weighted by their opacity, so that the colour of invisible pixels does not bleed into visible
//! ones.

use image::DynamicImage;

use crate::decoded_image::{DecodedImage, ImageError};

/// The channels of a pixel, one byte each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Channels {
    Gray,
    GrayAlpha,
    Rgb,
    Rgba,
}

/// The small picture while it is computed.
pub(crate) struct Shrinker {
    across: Axis,
    down: Axis,
    channels: Channels,
    /// The sum of whole rows of opaque pixels that belong to the same row of the small picture, and the index of that row.
    /// Summing them across once takes a fraction of the time.
    rows: Vec<u16>,
    rows_into: Option<usize>,
    /// One row of the source, summed into the columns of the small picture.
    line: Vec<u32>,
    /// The sums of the small picture.
    sums: Vec<u64>,
}

/// One axis of the source and of the small picture.
struct Axis {
    source: u32,
    made: u32,
    /// The share of each source pixel.
    shares: Vec<Share>,
}

/// A source pixel's part in the small picture: `first` units in the pixel `into`, the rest in the next one.
#[derive(Clone, Copy)]
struct Share {
    into: usize,
    first: u32,
    rest: u32,
}

impl Axis {
    /// Creates an axis. `made` is at most `source`, and both are under 65,536.
    fn new(source: u32, made: u32) -> Self {
        let share = |at: u32| {
            let (start, end) = (at * made, (at + 1) * made);
            let into = start / source;
            let first = end.min((into + 1) * source) - start;
            Share {
                into: usize::try_from(into).unwrap_or(usize::MAX),
                first,
                rest: made - first,
            }
        };
        Self {
            source,
            made,
            shares: (0..source).map(share).collect(),
        }
    }

    fn share(&self, at: u32) -> Option<Share> {
        let at = usize::try_from(at).ok()?;
        self.shares.get(at).copied()
    }
}

impl Channels {
    pub(crate) fn count(self) -> usize {
        match self {
            Self::Gray => 1,
            Self::GrayAlpha => 2,
            Self::Rgb => 3,
            Self::Rgba => 4,
        }
    }
}

impl Shrinker {
    /// Creates the shrinker of a source to a picture that is not larger.
    pub(crate) fn new(source: (u32, u32), made: (u32, u32), channels: Channels) -> Self {
        let (across, down) = (Axis::new(source.0, made.0), Axis::new(source.1, made.1));
        let size = |side: u32| usize::try_from(side).unwrap_or(0) * channels.count();
        Self {
            rows: vec![0; size(source.0)],
            rows_into: None,
            line: vec![0; size(made.0)],
            sums: vec![0; size(made.0) * usize::try_from(made.1).unwrap_or(0)],
            across,
            down,
            channels,
        }
    }

    /// Adds the whole row `y`.
    pub(crate) fn row(&mut self, y: u32, row: &[u8]) {
        let opaque = matches!(self.channels, Channels::Gray | Channels::Rgb);
        // The 16-bit sums would overflow with more rows.
        let few = self.down.source / self.down.made <= 256;
        match self.down.share(y) {
            Some(share) if opaque && few && share.first == self.down.made => {
                if self.rows_into != Some(share.into) {
                    self.finish_rows();
                    self.rows_into = Some(share.into);
                }
                for (sum, value) in self.rows.iter_mut().zip(row) {
                    *sum += u16::from(*value);
                }
            }
            Some(_) => {
                self.sum_across(row);
                self.add_line(y);
            }
            None => {}
        }
    }

    fn finish_rows(&mut self) {
        let Some(into) = self.rows_into.take() else {
            return;
        };
        let mut rows = std::mem::take(&mut self.rows);
        self.sum_across(&rows);
        rows.fill(0);
        self.rows = rows;
        self.add_line_into(into, self.down.made);
    }

    /// Sums a row into the columns.
    fn sum_across<T: Copy + Into<u32>>(&mut self, row: &[T]) {
        match self.channels {
            Channels::Gray => self.sum_across_as::<1, T>(row, |p| p),
            Channels::GrayAlpha => self.sum_across_as::<2, T>(row, |[v, a]| [v * a, a]),
            Channels::Rgb => self.sum_across_as::<3, T>(row, |p| p),
            Channels::Rgba => self.sum_across_as::<4, T>(row, seen),
        }
    }

    /// Sums a row of `N` channels, where `seen` weights a pixel.
    fn sum_across_as<const N: usize, T: Copy + Into<u32>>(
        &mut self,
        row: &[T],
        seen: impl Fn([u32; N]) -> [u32; N],
    ) {
        let (source, made) = (self.across.source, self.across.made);
        let mut pixels = row.as_chunks::<N>().0;
        let (sums, _) = self.line.as_chunks_mut::<N>();
        // The pixel at the border of two columns, and how many of its units belong to the next one.
        let (mut border, mut owed) = ([0; N], 0);
        for sum in sums {
            let whole = usize::try_from((source - owed) / made).unwrap_or(0);
            let tail = (source - owed) % made;
            let (body, rest) = pixels.split_at(whole.min(pixels.len()));
            let mut total = [0; N];
            for pixel in body {
                for (total, value) in total.iter_mut().zip(seen(pixel.map(Into::into))) {
                    *total += value;
                }
            }
            for ((sum, total), border) in sum.iter_mut().zip(total).zip(border) {
                *sum = total * made + border * owed;
            }
            (pixels, owed) = (rest, 0);
            if tail > 0
                && let Some((pixel, rest)) = pixels.split_first()
            {
                border = seen(pixel.map(Into::into));
                for (sum, border) in sum.iter_mut().zip(border) {
                    *sum += border * tail;
                }
                (pixels, owed) = (rest, made - tail);
            }
        }
    }

    /// Adds pixels of the row `y`: the one at `x`, and every `step`-th one after it.
    pub(crate) fn scattered(&mut self, y: u32, x: u32, step: u32, row: &[u8]) {
        if (x, step) == (0, 1) {
            self.sum_across(row);
            return self.add_line(y);
        }
        match self.channels {
            Channels::Gray => self.scattered_as::<1>(y, x, step, row, |p| p),
            Channels::GrayAlpha => self.scattered_as::<2>(y, x, step, row, |[v, a]| [v * a, a]),
            Channels::Rgb => self.scattered_as::<3>(y, x, step, row, |p| p),
            Channels::Rgba => self.scattered_as::<4>(y, x, step, row, seen),
        }
    }

    fn scattered_as<const N: usize>(
        &mut self,
        y: u32,
        x: u32,
        step: u32,
        row: &[u8],
        seen: impl Fn([u32; N]) -> [u32; N],
    ) {
        self.line.fill(0);
        let (start, step) = (
            usize::try_from(x).unwrap_or(usize::MAX),
            usize::try_from(step).unwrap_or(1).max(1),
        );
        let shares = self.across.shares.iter().skip(start).step_by(step);
        let (pixels, _) = row.as_chunks::<N>();
        let (columns, _) = self.line.as_chunks_mut::<N>();
        for (share, pixel) in shares.zip(pixels) {
            let pixel = seen(pixel.map(u32::from));
            if let Some(sums) = columns.get_mut(share.into) {
                for (sum, value) in sums.iter_mut().zip(pixel) {
                    *sum += value * share.first;
                }
            }
            if share.rest > 0
                && let Some(sums) = columns.get_mut(share.into + 1)
            {
                for (sum, value) in sums.iter_mut().zip(pixel) {
                    *sum += value * share.rest;
                }
            }
        }
        self.add_line(y);
    }

    /// Adds the summed row to the rows of the small picture that it overlaps.
    fn add_line(&mut self, y: u32) {
        if let Some(Share { into, first, rest }) = self.down.share(y) {
            self.add_line_into(into, first);
            if rest > 0 {
                self.add_line_into(into + 1, rest);
            }
        }
    }

    fn add_line_into(&mut self, row: usize, weight: u32) {
        let width = self.line.len();
        let weight = u64::from(weight);
        if let Some(row) = self.sums.chunks_exact_mut(width).nth(row) {
            for (sum, value) in row.iter_mut().zip(&self.line) {
                *sum += u64::from(*value) * weight;
            }
        }
    }

    /// Returns the small picture, once every source pixel was added exactly once.
    pub(crate) fn finish(mut self) -> Result<DecodedImage, ImageError> {
        self.finish_rows();
        let whole = u64::from(self.across.source) * u64::from(self.down.source);
        let bytes = match self.channels {
            Channels::Gray | Channels::Rgb => {
                self.sums.iter().map(|sum| rounded(*sum, whole)).collect()
            }
            Channels::GrayAlpha => seen_through::<2>(&self.sums, whole),
            Channels::Rgba => seen_through::<4>(&self.sums, whole),
        };
        picture(self.across.made, self.down.made, self.channels, bytes)
            .map(DecodedImage)
            .ok_or(ImageError::Unsupported)
    }
}

/// Weights the colours of a pixel by its opacity.
fn seen([r, g, b, a]: [u32; 4]) -> [u32; 4] {
    [r * a, g * a, b * a, a]
}

/// Returns the pixels of sums whose last channel is opacity.
fn seen_through<const N: usize>(sums: &[u64], whole: u64) -> Vec<u8> {
    let (pixels, _) = sums.as_chunks::<N>();
    let mut bytes = Vec::with_capacity(sums.len());
    for pixel in pixels {
        let opacity = pixel.last().copied().unwrap_or(0);
        bytes.extend(
            pixel
                .iter()
                .take(N - 1)
                .map(|sum| rounded(*sum, opacity.max(1))),
        );
        bytes.push(rounded(opacity, whole));
    }
    bytes
}

fn rounded(sum: u64, count: u64) -> u8 {
    u8::try_from((sum + count / 2) / count).unwrap_or(u8::MAX)
}

fn picture(width: u32, height: u32, channels: Channels, bytes: Vec<u8>) -> Option<DynamicImage> {
    use image::ImageBuffer;
    match channels {
        Channels::Gray => ImageBuffer::from_raw(width, height, bytes).map(DynamicImage::ImageLuma8),
        Channels::GrayAlpha => {
            ImageBuffer::from_raw(width, height, bytes).map(DynamicImage::ImageLumaA8)
        }
        Channels::Rgb => ImageBuffer::from_raw(width, height, bytes).map(DynamicImage::ImageRgb8),
        Channels::Rgba => ImageBuffer::from_raw(width, height, bytes).map(DynamicImage::ImageRgba8),
    }
}
