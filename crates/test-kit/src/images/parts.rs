/// Returns a PNG chunk with its length and checksum.
pub fn png_chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
    let body = [kind.as_slice(), data].concat();
    [
        u32::try_from(data.len()).unwrap().to_be_bytes().as_slice(),
        &body,
        &crc32fast::hash(&body).to_be_bytes(),
    ]
    .concat()
}

/// Returns a PNG with these chunks after its header.
pub fn png_with_chunks(png: &[u8], chunks: &[Vec<u8>]) -> Vec<u8> {
    // The signature, and IHDR with its 13 bytes.
    let (head, rest) = png.split_at(8 + 12 + 13);
    [head, &chunks.concat(), rest].concat()
}

/// Returns the signature of a PNG and its header.
pub(super) fn png_head(
    width: u32,
    height: u32,
    depth: u8,
    colour: u8,
    interlaced: bool,
) -> Vec<u8> {
    let mut data = [width.to_be_bytes(), height.to_be_bytes()].concat();
    data.extend([depth, colour, 0, 0, u8::from(interlaced)]);
    [b"\x89PNG\r\n\x1a\n".to_vec(), png_chunk(b"IHDR", &data)].concat()
}

/// Returns a PNG with this head, and its data in these pieces.
pub(super) fn png_of(head: Vec<u8>, data: &[Vec<u8>]) -> Vec<u8> {
    let mut file = head;
    for data in data {
        file.extend(png_chunk(b"IDAT", data));
    }
    file.extend(png_chunk(b"IEND", b""));
    file
}

/// Returns a TIFF structure as cameras write it: an orientation and a location.
pub fn exif(orientation: u16) -> Vec<u8> {
    let mut tiff = b"II*\0\x08\0\0\0".to_vec();
    tiff.extend(2_u16.to_le_bytes());
    // Orientation: one SHORT.
    tiff.extend([0x12, 0x01, 3, 0, 1, 0, 0, 0]);
    tiff.extend(u32::from(orientation).to_le_bytes());
    // The GPS directory, after this one.
    tiff.extend([0x25, 0x88, 4, 0, 1, 0, 0, 0]);
    tiff.extend(38_u32.to_le_bytes());
    tiff.extend(0_u32.to_le_bytes());
    // It contains the reference of the latitude, and a text for which a test can search.
    tiff.extend(2_u16.to_le_bytes());
    tiff.extend([1, 0, 2, 0, 2, 0, 0, 0, b'N', 0, 0, 0]);
    tiff.extend([0x1b, 0, 2, 0, 16, 0, 0, 0]);
    tiff.extend(68_u32.to_le_bytes());
    tiff.extend(0_u32.to_le_bytes());
    tiff.extend(b"GPSLATITUDE48.20");
    tiff
}

/// Returns `count` zeros as a zlib stream: 13 bits for 258 of them, with the fixed codes of RFC 1951.
pub(super) fn zlib_zeros(count: u64) -> Vec<u8> {
    let mut bits = Bits::default();
    // The last block, with fixed codes.
    bits.push(1, 1);
    bits.push(1, 2);
    // The literal 0 is 00110000, its bits first to last.
    bits.push(0b0000_1100, 8);
    let mut left = count - 1;
    while left >= 258 {
        // Length 258 is 11000101 without extra bits, distance 1 is 00000.
        bits.push(0b1010_0011, 8);
        bits.push(0, 5);
        left -= 258;
    }
    for _ in 0..left {
        bits.push(0b0000_1100, 8);
    }
    bits.push(0, 7);
    let adler = (u32::try_from(count % 65_521).unwrap() << 16) | 1;
    [
        &[0x78, 0x01],
        bits.finish().as_slice(),
        &adler.to_be_bytes(),
    ]
    .concat()
}

/// Bits that are packed from the lowest.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    pending: u32,
    count: u32,
}

impl Bits {
    fn push(&mut self, value: u32, count: u32) {
        self.pending |= value << self.count;
        self.count += count;
        while self.count >= 8 {
            self.bytes.push(self.pending.to_le_bytes()[0]);
            self.pending >>= 8;
            self.count -= 8;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        let padding = (8 - self.count % 8) % 8;
        self.push(0, padding);
        self.bytes
    }
}
