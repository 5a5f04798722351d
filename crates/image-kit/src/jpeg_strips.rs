//! Decodes a sequential JPEG of one scan (ITU-T T.81, Huffman coding) strip by strip, so that memory does not grow with the
//! picture. Blocks are decoded at an eighth, a quarter or a half of their size where that is enough. No maintained library
//! decodes in strips.

use crate::decoded_image::{DecodedImage, ImageError, broken};
use crate::jpeg_file::{EOI, SOS, entropy_coded, next_marker, segment};
use crate::jpeg_huffman::{Bits, Coding, Table};
use crate::shrinker::{Channels, Shrinker};

/// The maximum memory of decoding, in bytes: Huffman tables and a strip.
pub(crate) const MEMORY: u64 = 3 * 1024 * 1024;

/// cos(k π / 16) × 4096 for k from 0 to 8.
const COSINES: [i32; 9] = [4096, 4017, 3784, 3406, 2896, 2276, 1567, 799, 0];

/// The content of the segments before the scan.
#[derive(Default)]
struct Head<'a> {
    width: u32,
    height: u32,
    components: Vec<Component>,
    quantities: [Option<[i32; 64]>; 4],
    dc: [Option<&'a [u8]>; 4],
    ac: [Option<&'a [u8]>; 4],
    restart: u32,
    is_jfif: bool,
    /// The colour transform according to an Adobe program: 0 is RGB.
    adobe: Option<u8>,
}

/// A component of the frame (B.2.2), and the state of its decoding.
struct Component {
    id: u8,
    /// Blocks of a unit (MCU), across and down.
    blocks: (usize, usize),
    quantity: usize,
    /// Pixels of a decoded block, across and down.
    size: (usize, usize),
    basis: (Basis, Basis),
    /// The strip that is being decoded, and the length of its rows.
    plane: Vec<u8>,
    stride: usize,
    /// The last DC coefficient.
    last: i32,
}

/// Decodes `slim`, in which [`crate::jpeg_file::read`] found such a JPEG, and averages it to `made`.
pub(crate) fn decode(slim: &[u8], made: (u32, u32)) -> Result<DecodedImage, ImageError> {
    let mut head = Head::default();
    let mut rest = slim.get(2..).ok_or(ImageError::Unsupported)?;
    loop {
        let (marker, after) = next_marker(rest)?;
        if marker == EOI {
            return Err(ImageError::Unsupported);
        }
        let (data, after) = segment(after)?;
        if marker == SOS {
            return head.scan(data, entropy_coded(after), made);
        }
        head.read(marker, data)?;
        rest = after;
    }
}

impl<'a> Head<'a> {
    fn read(&mut self, marker: u8, data: &'a [u8]) -> Result<(), ImageError> {
        match (marker, data) {
            (0xc0 | 0xc1, [_, h1, h0, w1, w0, _, components @ ..]) => {
                self.height = u16::from_be_bytes([*h1, *h0]).into();
                self.width = u16::from_be_bytes([*w1, *w0]).into();
                let (components, _) = components.as_chunks::<3>();
                self.components = components.iter().map(Component::new).collect();
            }
            (0xdb, _) => self.read_quantities(data)?,
            (0xc4, _) => self.read_tables(data)?,
            (0xdd, [high, low, ..]) => self.restart = u16::from_be_bytes([*high, *low]).into(),
            (0xe0, [b'J', b'F', b'I', b'F', 0, ..]) => self.is_jfif = true,
            (0xee, _) => {
                if let Some([_, _, _, _, _, _, transform, ..]) = data.strip_prefix(b"Adobe") {
                    self.adobe = Some(*transform);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Parses quantization tables (B.2.4.1): 64 values of one or two bytes.
    fn read_quantities(&mut self, mut data: &[u8]) -> Result<(), ImageError> {
        while let [kind, rest @ ..] = data {
            let bytes = if kind >> 4 == 0 { 1 } else { 2 };
            let (table, rest) = rest
                .split_at_checked(64 * bytes)
                .ok_or(ImageError::Unsupported)?;
            let mut values = [0; 64];
            for (value, bytes) in values.iter_mut().zip(table.chunks(bytes)) {
                *value = bytes
                    .iter()
                    .fold(0, |sum, byte| (sum << 8) | i32::from(*byte));
            }
            let place = self.quantities.get_mut(usize::from(kind & 15));
            *place.ok_or(ImageError::Unsupported)? = Some(values);
            data = rest;
        }
        Ok(())
    }

    /// Stores Huffman tables (B.2.4.2): sixteen counts and the symbols. A scan builds those that it uses.
    fn read_tables(&mut self, mut data: &'a [u8]) -> Result<(), ImageError> {
        while let [kind, rest @ ..] = data {
            let counts = rest.get(..16).ok_or(ImageError::Unsupported)?;
            let symbols: usize = counts.iter().map(|count| usize::from(*count)).sum();
            let (table, rest) = rest
                .split_at_checked(16 + symbols)
                .ok_or(ImageError::Unsupported)?;
            let class = if kind >> 4 == 0 {
                &mut self.dc
            } else {
                &mut self.ac
            };
            let place = class.get_mut(usize::from(kind & 15));
            *place.ok_or(ImageError::Unsupported)? = Some(table);
            data = rest;
        }
        Ok(())
    }

    fn is_rgb(&self) -> bool {
        let ids: Vec<u8> = self.components.iter().map(|one| one.id).collect();
        match (self.is_jfif, self.adobe) {
            (true, _) => false,
            (false, Some(transform)) => transform == 0,
            (false, None) => ids == *b"RGB",
        }
    }

    fn codings(&self, data: &[u8]) -> Result<Vec<Coding>, ImageError> {
        let [_, selectors @ ..] = data else {
            return Err(ImageError::Unsupported);
        };
        let (selectors, _) = selectors.as_chunks::<2>();
        let coding = |[id, tables]: &[u8; 2]| {
            let component = self.components.iter().position(|one| one.id == *id)?;
            let quantity = self.components.get(component)?.quantity;
            let dc = self.dc.get(usize::from(tables >> 4)).copied().flatten()?;
            let ac = self.ac.get(usize::from(tables & 15)).copied().flatten()?;
            Some(Coding {
                component,
                quantity: (*self.quantities.get(quantity)?)?,
                dc: Table::new(dc)?,
                ac: Table::new(ac)?,
            })
        };
        let selectors = selectors.iter().take(self.components.len());
        let codings: Option<Vec<_>> = selectors.map(coding).collect();
        codings.ok_or(ImageError::Unsupported)
    }

    fn scan(
        &mut self,
        data: &[u8],
        coded: &[u8],
        made: (u32, u32),
    ) -> Result<DecodedImage, ImageError> {
        let codings = self.codings(data)?;
        if let [only] = self.components.as_mut_slice() {
            // A.2.2: a unit of a single component is one block, whatever its factors are.
            only.blocks = (1, 1);
        }
        let most = |of: fn(&Component) -> usize| self.components.iter().map(of).max();
        let across = most(|one| one.blocks.0).ok_or(ImageError::Unsupported)?;
        let down = most(|one| one.blocks.1).ok_or(ImageError::Unsupported)?;
        let eighths = eighths((self.width, self.height), made);
        let scaled = |side: u32| (side * eighths).div_ceil(8);
        let (width, height) = (scaled(self.width), scaled(self.height));
        let edge = usize::try_from(eighths).map_err(broken)?;
        let units = |side: u32, blocks: usize| {
            usize::try_from(side)
                .map(|side| side.div_ceil(8 * blocks))
                .map_err(broken)
        };
        let (columns, rows) = (units(self.width, across)?, units(self.height, down)?);
        for one in &mut self.components {
            one.prepare(edge, (across, down), columns);
        }
        let is_rgb = self.is_rgb();
        let channels = if self.components.len() == 1 {
            Channels::Gray
        } else {
            Channels::Rgb
        };
        let mut shrinker = Shrinker::new((width, height), made, channels);
        let mut bits = Bits::new(coded);
        let mut line = vec![0; usize::try_from(width).map_err(broken)? * channels.count()];
        let (mut until_restart, mut y) = (self.restart, 0);
        for _ in 0..rows {
            for column in 0..columns {
                if self.restart > 0 && until_restart == 0 {
                    bits.restart()?;
                    self.components.iter_mut().for_each(|one| one.last = 0);
                    until_restart = self.restart;
                }
                until_restart = until_restart.saturating_sub(1);
                for coding in &codings {
                    let component = self.components.get_mut(coding.component);
                    component
                        .ok_or(ImageError::Unsupported)?
                        .read_unit(&mut bits, coding, column)?;
                }
            }
            for inside in 0..down * edge {
                if y < height {
                    let at = (inside, across * edge, down * edge);
                    fill(&mut line, &self.components, at, is_rgb);
                    shrinker.row(y, &line);
                    y += 1;
                }
            }
        }
        shrinker.finish()
    }
}

/// Returns at how many eighths of its size a picture is decoded, so that it is not smaller than the result.
fn eighths(source: (u32, u32), made: (u32, u32)) -> u32 {
    let is_enough = |eighths: &u32| {
        let scaled = |side: u32| (side * eighths).div_ceil(8);
        scaled(source.0) >= made.0 && scaled(source.1) >= made.1
    };
    [1, 2, 4].into_iter().find(is_enough).unwrap_or(8)
}

impl Component {
    fn new([id, factors, quantity]: &[u8; 3]) -> Self {
        Self {
            id: *id,
            blocks: (usize::from(factors >> 4), usize::from(factors & 15)),
            quantity: usize::from(*quantity),
            size: (0, 0),
            basis: Default::default(),
            plane: Vec::new(),
            stride: 0,
            last: 0,
        }
    }

    /// Prepares the decoding. A component with fewer blocks than others is decoded larger, where that makes up for it.
    fn prepare(&mut self, edge: usize, most: (usize, usize), columns: usize) {
        let size = |most: usize, blocks: usize| match edge * most {
            whole if whole % blocks == 0 && whole / blocks <= 8 => whole / blocks,
            _ => edge,
        };
        self.size = (size(most.0, self.blocks.0), size(most.1, self.blocks.1));
        self.basis = (basis(self.size.0), basis(self.size.1));
        self.stride = columns * self.blocks.0 * self.size.0;
        self.plane = vec![0; self.stride * self.blocks.1 * self.size.1];
    }

    /// Decodes the blocks of the unit in this column.
    fn read_unit(
        &mut self,
        bits: &mut Bits<'_>,
        coding: &Coding,
        column: usize,
    ) -> Result<(), ImageError> {
        let (across, down) = self.blocks;
        for y in 0..down {
            for x in 0..across {
                let mut block = [0; 64];
                bits.read_block(&mut block, coding, &mut self.last, self.size)?;
                let left = (column * across + x) * self.size.0;
                self.place(&block, left, y * self.size.1);
            }
        }
        Ok(())
    }

    /// Applies the inverse DCT (A.3.3) to as many coefficients as there are pixels.
    fn place(&mut self, block: &[i32; 64], left: usize, top: usize) {
        let (width, height) = self.size;
        let mut half = [[0; 8]; 8];
        let (rows, _) = block.as_chunks::<8>();
        for (half, row) in half.iter_mut().zip(rows).take(height) {
            for (sum, weights) in half.iter_mut().zip(&self.basis.0).take(width) {
                let total: i32 = row.iter().zip(weights).map(|(a, b)| a * b).sum();
                // No picture exceeds these bounds, and without them the next sums could overflow.
                *sum = ((total + 256) >> 9).clamp(-65_536, 65_535);
            }
        }
        for (y, weights) in self.basis.1.iter().enumerate().take(height) {
            let start = (top + y) * self.stride + left;
            let Some(pixels) = self.plane.get_mut(start..start + width) else {
                return;
            };
            for (x, pixel) in pixels.iter_mut().enumerate() {
                let column = half.iter().map(|row| row.get(x).copied().unwrap_or(0));
                let total: i32 = column.zip(weights).map(|(a, b)| a * b).sum();
                *pixel = byte(((total + 16_384) >> 15) + 128);
            }
        }
    }
}

/// For each pixel of a row or column, the weights of the coefficients, × 4096.
type Basis = [[i32; 8]; 8];

fn basis(size: usize) -> Basis {
    let mut basis = Basis::default();
    for (x, weights) in basis.iter_mut().enumerate().take(size) {
        for (u, weight) in weights.iter_mut().enumerate().take(size) {
            let angle = (2 * x + 1) * u * 8 / size % 32;
            let angle = angle.min(32 - angle);
            let cosine = |at: usize| COSINES.get(at).copied().unwrap_or(0);
            let cosine = if angle > 8 {
                -cosine(16 - angle)
            } else {
                cosine(angle)
            };
            // 1/2, and for u = 0 that divided by the square root of 2.
            *weight = if u == 0 { 1448 } else { cosine / 2 };
        }
    }
    basis
}

/// Fills a row of pixels from the row `at.0` of a strip whose units are `at.1` pixels wide and `at.2` high.
fn fill(line: &mut [u8], components: &[Component], at: (usize, usize, usize), is_rgb: bool) {
    let (inside, unit_width, unit_height) = at;
    let sample = |component: &Component, x: usize| {
        let y = inside * component.blocks.1 * component.size.1 / unit_height;
        let x = x * component.blocks.0 * component.size.0 / unit_width;
        component
            .plane
            .get(y * component.stride + x)
            .copied()
            .unwrap_or(0)
    };
    match components {
        [gray] => {
            for (x, pixel) in line.iter_mut().enumerate() {
                *pixel = sample(gray, x);
            }
        }
        [first, second, third, ..] => {
            let (pixels, _) = line.as_chunks_mut::<3>();
            for (x, pixel) in pixels.iter_mut().enumerate() {
                let read = [first, second, third].map(|component| sample(component, x));
                *pixel = if is_rgb { read } else { rgb(read) };
            }
        }
        _ => {}
    }
}

/// Converts the colours of JFIF, with the constants of ITU-R BT.601, × 65,536.
fn rgb([y, cb, cr]: [u8; 3]) -> [u8; 3] {
    let y = (i32::from(y) << 16) + 32_768;
    let (cb, cr) = (i32::from(cb) - 128, i32::from(cr) - 128);
    [
        byte((y + 91_881 * cr) >> 16),
        byte((y - 22_554 * cb - 46_802 * cr) >> 16),
        byte((y + 116_130 * cb) >> 16),
    ]
}

fn byte(value: i32) -> u8 {
    u8::try_from(value.clamp(0, 255)).unwrap_or(0)
}
