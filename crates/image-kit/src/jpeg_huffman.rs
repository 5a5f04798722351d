//! The Huffman codes of a sequential JPEG (ITU-T T.81, annexes C and F).

use crate::decoded_image::{ImageError, broken};

/// The position of each coefficient in its block, in the order of the file (figure A.6).
const ZIGZAG: [u8; 64] = [
    0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25, 18, 11, 4, 5, 12, 19, 26, 33, 40, 48, 41, 34, 27, 20,
    13, 6, 7, 14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51, 58, 59,
    52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63,
];
/// A component of a scan: its index in the frame, and the tables of its blocks.
pub(crate) struct Coding {
    pub(crate) component: usize,
    pub(crate) quantity: [i32; 64],
    pub(crate) dc: Table,
    pub(crate) ac: Table,
}

/// A Huffman table: for each 16 bits, the length of the code at their start, and its symbol.
pub(crate) struct Table(Vec<(u8, u8)>);

impl Table {
    /// Builds the table (C.2): codes of one length are consecutive, in the order of the symbols.
    pub(crate) fn new(spec: &[u8]) -> Option<Self> {
        let (counts, mut symbols) = spec.split_at_checked(16)?;
        let mut entries = Vec::with_capacity(1 << 16);
        for (length, count) in (1_u8..).zip(counts) {
            for _ in 0..*count {
                let (symbol, rest) = symbols.split_first()?;
                symbols = rest;
                let covered = 1 << (16 - usize::from(length));
                if entries.len() + covered > 1 << 16 {
                    return None;
                }
                entries.resize(entries.len() + covered, (length, *symbol));
            }
        }
        entries.resize(1 << 16, (0, 0));
        Some(Self(entries))
    }
}

/// The bits of a scan. Reading past its end fails, so that an incomplete picture is rejected.
pub(crate) struct Bits<'a> {
    data: &'a [u8],
    /// Bits that were read ahead, from the highest down, and their number.
    ahead: u64,
    count: u8,
}

impl<'a> Bits<'a> {
    pub(crate) fn new(data: &'a [u8]) -> Self {
        Self {
            data,
            ahead: 0,
            count: 0,
        }
    }

    fn refill(&mut self) {
        while self.count <= 56 {
            let byte = match self.data {
                [0xff, 0, rest @ ..] => {
                    self.data = rest;
                    0xff
                }
                // A marker, or the end.
                [0xff, ..] | [] => return,
                [byte, rest @ ..] => {
                    self.data = rest;
                    *byte
                }
            };
            self.ahead |= u64::from(byte) << (56 - self.count);
            self.count += 8;
        }
    }

    fn skip(&mut self, count: u8) -> Result<(), ImageError> {
        self.count = self
            .count
            .checked_sub(count)
            .ok_or(ImageError::Unsupported)?;
        self.ahead <<= count;
        Ok(())
    }

    fn symbol(&mut self, table: &Table) -> Result<u8, ImageError> {
        self.refill();
        let index = usize::try_from(self.ahead >> 48).map_err(broken)?;
        match table.0.get(index) {
            Some((length @ 1.., symbol)) => self.skip(*length).map(|()| *symbol),
            _ => Err(ImageError::Unsupported),
        }
    }

    /// Reads a number of this many bits, at most 15 (F.2.2.1). One that begins with a 0 is negative.
    fn number(&mut self, bits: u8) -> Result<i32, ImageError> {
        if bits == 0 {
            return Ok(0);
        }
        self.refill();
        let value = i32::try_from(self.ahead >> (64 - bits)).map_err(broken)?;
        self.skip(bits)?;
        let half = 1 << (bits - 1);
        Ok(if value < half {
            value - 2 * half + 1
        } else {
            value
        })
    }

    /// Reads a block (F.2.2), and keeps only the coefficients in its upper left corner of the given size.
    pub(crate) fn read_block(
        &mut self,
        block: &mut [i32; 64],
        coding: &Coding,
        last: &mut i32,
        (width, height): (usize, usize),
    ) -> Result<(), ImageError> {
        let mut put = |at: usize, value: i32| {
            let place = ZIGZAG.get(at).map_or(0, |place| usize::from(*place));
            if place % 8 < width && place / 8 < height {
                let quantity = coding.quantity.get(at).copied().unwrap_or(0);
                if let Some(coefficient) = block.get_mut(place) {
                    *coefficient = value.saturating_mul(quantity).clamp(-32_768, 32_767);
                }
            }
        };
        let bits = self.symbol(&coding.dc)?;
        if bits > 11 {
            return Err(ImageError::Unsupported);
        }
        *last = last.saturating_add(self.number(bits)?);
        put(0, *last);
        let mut at = 1;
        while at < 64 {
            let symbol = self.symbol(&coding.ac)?;
            let (zeros, bits) = (usize::from(symbol >> 4), symbol & 15);
            at += zeros;
            match (zeros, bits) {
                (15, 0) => {}
                (_, 0) => break,
                _ if at > 63 => return Err(ImageError::Unsupported),
                _ => put(at, self.number(bits)?),
            }
            at += 1;
        }
        Ok(())
    }

    /// Skips to the next interval (E.2.4): the rest of this one is padding, which the marker follows.
    pub(crate) fn restart(&mut self) -> Result<(), ImageError> {
        (self.ahead, self.count) = (0, 0);
        loop {
            match self.data {
                [0xff, 0xd0..=0xd7, rest @ ..] => {
                    self.data = rest;
                    return Ok(());
                }
                [_, rest @ ..] => self.data = rest,
                [] => return Err(ImageError::Unsupported),
            }
        }
    }
}
