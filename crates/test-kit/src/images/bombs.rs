use super::{
    ADAM7, gif, jpeg,
    parts::{png_head, png_of, zlib_zeros},
    png, png_chunk, png_with_chunks,
};

/// A file that takes more resources than its size suggests.
pub struct HostileImage {
    /// What the file is.
    pub name: &'static str,
    /// The file, of at most 5 MiB, so that the service examines it.
    pub file: Vec<u8>,
    /// What the service must do with it.
    pub fate: ExpectedResult,
}

/// What the service does with a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedResult {
    /// Accepts it as a picture like any other.
    Taken,
    /// Rejects it for too many pixels: 413.
    TooLarge,
    /// Rejects it as no picture: 415.
    Unsupported,
}

/// The accepted limits, in bytes and in pixels of an edge.
const MOST_BYTES: usize = 5 * 1024 * 1024;
const EDGE: u16 = 4096;

/// Builds every bomb that we know.
pub fn bombs() -> Vec<HostileImage> {
    let small = || png(64, 64);
    // Some 600 MB each.
    let zlib = || zlib_zeros(600_000_000);
    let text = |kind: &[u8; 4], head: &[u8]| {
        let data = [head, zlib().as_slice()].concat();
        png_with_chunks(&small(), &[png_chunk(kind, &data)])
    };
    let claims = |length: u32| {
        let chunk = [length.to_be_bytes().as_slice(), b"tEXt", b"short"].concat();
        png_with_chunks(&small(), &[chunk])
    };
    let bomb = |name, file: Vec<u8>, fate| {
        assert!(file.len() <= MOST_BYTES, "{name}: {}", file.len());
        HostileImage { name, file, fate }
    };
    let taken = |name, file| bomb(name, file, ExpectedResult::Taken);
    let too_large = |name, file| bomb(name, file, ExpectedResult::TooLarge);
    let unsupported = |name, file| bomb(name, file, ExpectedResult::Unsupported);
    vec![
        too_large("PNG of 30,000 x 30,000", flat_png(30_000, 1, 0, false)),
        too_large("JPEG of 30,000 x 30,000", jpeg_claiming(30_000)),
        too_large("GIF of 30,000 x 30,000", gif_claiming(30_000)),
        too_large("GIF whose frame is 30,000 x 30,000", gif_with_frame(30_000)),
        too_large("PNG of 2^31 x 2^31", flat_header(i32::MAX.unsigned_abs())),
        taken("GIF of 10,000 frames", many_frames(10_000)),
        taken("PNG, zTXt of 600 MB", text(b"zTXt", b"Comment\0\0")),
        taken(
            "PNG, iTXt of 600 MB",
            text(b"iTXt", b"XML:com.adobe.xmp\0\x01\0\0\0"),
        ),
        taken("PNG, iCCP of 600 MB", text(b"iCCP", b"profile\0\0")),
        taken("PNG, fdAT of 600 MB", animated(&zlib())),
        taken("PNG, tEXt of 4 MB", {
            let data = [b"Comment\0".to_vec(), vec![b'x'; 4_000_000]].concat();
            png_with_chunks(&small(), &[png_chunk(b"tEXt", &data)])
        }),
        taken(
            "PNG, 300,000 tEXt",
            png_with_chunks(&small(), &vec![png_chunk(b"tEXt", b"a\0b"); 300_000]),
        ),
        unsupported(
            "PNG, a chunk that claims 2 GB",
            claims(i32::MAX.unsigned_abs()),
        ),
        unsupported("PNG, a chunk that claims 4 GB", claims(u32::MAX)),
        taken("PNG in 330,000 IDAT", many_idat(330_000)),
        taken(
            "PNG whose data is ten times the picture",
            flat_png_of(512, 8, 6, 10_000_000),
        ),
        taken("PNG of 4,096 x 4,096, gray", flat_png(4096, 8, 0, false)),
        taken("PNG of 4,096 x 4,096, RGBA", flat_png(4096, 8, 6, false)),
        taken(
            "PNG of 4,096 x 4,096, RGBA, interlaced",
            flat_png(4096, 8, 6, true),
        ),
        taken(
            "PNG of 4,096 x 4,096, RGBA of 16 bits",
            flat_png(4096, 16, 6, false),
        ),
        taken("GIF of 4,096 x 4,096", flat_gif(4096)),
        taken("JPEG of 4,096 x 4,096", flat_jpeg(4096)),
        taken("PNG of 7,000 x 7,000, RGBA", flat_png(7000, 8, 6, false)),
        taken("GIF of 7,000 x 7,000", flat_gif(7000)),
        taken("JPEG of 7,000 x 7,000", flat_jpeg(7000)),
        too_large("JPEG of 7,100 x 7,100", jpeg_claiming(7100)),
        too_large(
            "PNG of 65,536 x 1",
            png_of(png_head(65_536, 1, 8, 0, false), &[zlib_zeros(65_537)]),
        ),
        too_large("WebP of 16,000 x 16,000", webp_claiming(16_000)),
        too_large("WebP of 7,000 x 7,000", webp_claiming(7000)),
        unsupported("WebP of 100 x 100 without data", webp_claiming(100)),
        too_large("JPEG of 4,096 x 4,096, progressive", progressive(4096, 1)),
        taken(
            "JPEG of 2,048 x 2,048, progressive, 32 scans",
            progressive(2048, 32),
        ),
        unsupported("JPEG, progressive, 33 scans", progressive(2048, 33)),
        unsupported("JPEG, progressive, 60,000 scans", progressive(2048, 60_000)),
    ]
}

/// Returns a square of one colour. Of the colour types 0 to 6, we need 0 (gray) and 6 (RGBA).
fn flat_png(edge: u32, depth: u8, colour: u8, interlaced: bool) -> Vec<u8> {
    let bits = u64::from(depth) * if colour == 6 { 4 } else { 1 };
    let row = |width: u64| {
        if width == 0 {
            0
        } else {
            1 + (width * bits).div_ceil(8)
        }
    };
    let raw = if interlaced {
        let pass = |(x, y, across, down): (u32, u32, u32, u32)| {
            let rows = u64::from((edge - y).div_ceil(down));
            row((edge - x).div_ceil(across).into()) * rows
        };
        ADAM7.into_iter().map(pass).sum()
    } else {
        row(edge.into()) * u64::from(edge)
    };
    png_of(
        png_head(edge, edge, depth, colour, interlaced),
        &[zlib_zeros(raw)],
    )
}

/// Returns a square with more data after its last row.
fn flat_png_of(edge: u32, depth: u8, colour: u8, raw: u64) -> Vec<u8> {
    png_of(
        png_head(edge, edge, depth, colour, false),
        &[zlib_zeros(raw)],
    )
}

fn flat_header(edge: u32) -> Vec<u8> {
    png_of(png_head(edge, edge, 8, 6, false), &[zlib_zeros(1_000)])
}

/// Returns a large picture with its data in pieces of no and of one byte.
fn many_idat(count: usize) -> Vec<u8> {
    let data = zlib_zeros((1 + 4096) * 4096);
    let mut pieces: Vec<Vec<u8>> = data.iter().map(|byte| vec![*byte]).collect();
    let empty = count.saturating_sub(pieces.len());
    pieces.splice(1..1, vec![Vec::new(); empty]);
    png_of(png_head(4096, 4096, 8, 0, false), &pieces)
}

/// Returns a still picture with a second frame that is large.
fn animated(data: &[u8]) -> Vec<u8> {
    let frame = |sequence: u32, edge: u32| {
        let numbers = [sequence, edge, edge, 0, 0];
        let mut data: Vec<u8> = numbers.iter().flat_map(|n| n.to_be_bytes()).collect();
        data.extend([0, 1, 0, 10, 0, 0]);
        png_chunk(b"fcTL", &data)
    };
    let mut file = png_head(64, 64, 8, 0, false);
    file.extend(png_chunk(b"acTL", &[0, 0, 0, 2, 0, 0, 0, 0]));
    file.extend(frame(0, 64));
    file.extend(png_chunk(b"IDAT", &zlib_zeros(65 * 64)));
    file.extend(frame(1, 64));
    file.extend(png_chunk(b"fdAT", &[&[0, 0, 0, 2], data].concat()));
    file.extend(png_chunk(b"IEND", b""));
    file
}

fn jpeg_claiming(edge: u16) -> Vec<u8> {
    let mut file = jpeg(16, 16);
    let frame = file.windows(2).position(|two| two == [0xff, 0xc0]).unwrap();
    for at in [frame + 5, frame + 7] {
        file[at..at + 2].copy_from_slice(&edge.to_be_bytes());
    }
    file
}

fn gif_claiming(edge: u16) -> Vec<u8> {
    let mut file = gif(16, 16, 1);
    for at in [6, 8] {
        file[at..at + 2].copy_from_slice(&edge.to_le_bytes());
    }
    file
}

/// Returns a small GIF whose frame states another size than its header.
fn gif_with_frame(edge: u16) -> Vec<u8> {
    let head = gif(16, 16, 1);
    // The header, and a palette of 16 colours.
    [
        &head[..13 + 48],
        &gif_frame(edge, &[2, 2, 0x44, 0x01, 0]),
        &[0x3b],
    ]
    .concat()
}

/// Returns an image block with these codes: the size of the first one, and sub-blocks.
fn gif_frame(edge: u16, codes: &[u8]) -> Vec<u8> {
    let edge = edge.to_le_bytes();
    [&[0x2c, 0, 0, 0, 0], edge.as_slice(), &edge, &[0], codes].concat()
}

fn flat_gif(edge: u16) -> Vec<u8> {
    let mut file = Vec::new();
    let mut encoder =
        ::gif::Encoder::new(&mut file, edge, edge, &[0, 0, 0, 255, 255, 255]).unwrap();
    let frame = ::gif::Frame {
        width: edge,
        height: edge,
        buffer: vec![1; usize::from(edge) * usize::from(edge)].into(),
        ..::gif::Frame::default()
    };
    encoder.write_frame(&frame).unwrap();
    drop(encoder);
    file
}

/// Returns a GIF whose frames are as large as possible, and flat.
fn many_frames(count: usize) -> Vec<u8> {
    let one = flat_gif(EDGE);
    // The header, a palette of two colours, and the control block of eight bytes are 27; the last byte is the trailer.
    let codes = &one[13 + 6 + 8 + 10..one.len() - 1];
    let full = gif_frame(EDGE, codes);
    let short = gif_frame(EDGE, &[2, 3, 0x84, 0x8f, 0x05, 0]);
    let room = MOST_BYTES - 100 - short.len() * count;
    let large = room / full.len();
    let mut file = one[..one.len() - 1].to_vec();
    for n in 1..count {
        file.extend(if n < large { &full } else { &short });
    }
    file.push(0x3b);
    file
}

/// Returns the header of a lossless picture without data.
fn webp_claiming(edge: u32) -> Vec<u8> {
    let size = (edge - 1) | (edge - 1) << 14;
    let data = [&[0x2f], size.to_le_bytes().as_slice(), &[0; 3]].concat();
    let mut file = b"RIFF\x14\0\0\0WEBPVP8L\x08\0\0\0".to_vec();
    file.extend(data);
    file
}

fn flat_jpeg(edge: u16) -> Vec<u8> {
    let mut file = Vec::new();
    let flat = image::RgbImage::from_pixel(edge.into(), edge.into(), image::Rgb([200, 100, 50]));
    flat.write_with_encoder(image::codecs::jpeg::JpegEncoder::new(&mut file))
        .unwrap();
    file
}

/// Returns a square of one colour in three components. One scan has the DC coefficients; the others cover all AC coefficients of
/// a component, and state that there are none.
fn progressive(edge: u16, scans: usize) -> Vec<u8> {
    let segment = |marker: u8, data: &[u8]| {
        let length = u16::try_from(data.len() + 2).unwrap().to_be_bytes();
        [&[0xff, marker], length.as_slice(), data].concat()
    };
    let bytes = edge.to_be_bytes();
    let mut frame = [&[8], bytes.as_slice(), &bytes, &[3]].concat();
    for id in 1..=3 {
        frame.extend([id, 0x11, 0]);
    }
    // One code of one bit: for DC a difference of zero, for AC 16,384 blocks without coefficients.
    let table = |class_and_id: u8, symbol: u8| {
        let mut data = vec![class_and_id, 1];
        data.extend([0; 15]);
        data.push(symbol);
        segment(0xc4, &data)
    };
    let scan = |components: &[u8], select: [u8; 3], bytes: usize| {
        let mut head = vec![u8::try_from(components.len()).unwrap()];
        head.extend(components.iter().flat_map(|id| [*id, 0]));
        head.extend(select);
        [segment(0xda, &head), vec![0; bytes]].concat()
    };
    let blocks = usize::from(edge / 8) * usize::from(edge / 8);
    let mut file = vec![0xff, 0xd8];
    file.extend(segment(0xdb, &[vec![0], vec![1; 64]].concat()));
    file.extend(segment(0xc2, &frame));
    file.extend(table(0x00, 0x00));
    file.extend(table(0x10, 0xe0));
    file.extend(scan(&[1, 2, 3], [0, 0, 0], blocks * 3 / 8));
    for (n, id) in (1..scans).zip([1, 2, 3].into_iter().cycle()) {
        let bits = if n <= 3 { 0x01 } else { 0x10 };
        file.extend(scan(
            &[id],
            [1, 63, bits],
            (blocks / 16_384 * 15).div_ceil(8),
        ));
    }
    file.extend([0xff, 0xd9]);
    file
}
