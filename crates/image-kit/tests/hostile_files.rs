//! The cost of hostile files, each in a process of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs,
    reason = "tests fail by panicking and are documented by their names"
)]

use std::io::Read as _;
use std::process::{Command, Stdio};

use image_kit::{ImageError, ImageLimits};
use test_kit::images::{ExpectedResult, HostileImage, bombs};

const LIMITS: ImageLimits = ImageLimits {
    max_pixels: 50_000_000,
    max_memory: MOST_MEMORY,
    made_edge: 512,
};

/// The bytes of memory that one file may use.
const MOST_MEMORY: u64 = 64 * 1024 * 1024;
/// 100 ms, and as much again because on a busy machine caches are cold and cores shared.
const MOST_MICROS: u64 = 200_000;
/// The same for images of three times as many pixels.
const MOST_MICROS_AT_49_MEGAPIXELS: u64 = 600_000;
/// A slow machine may take this many times as long as for an ordinary photo of 17 megapixels.
const MOST_PHOTOS: u64 = 3;
const PHOTO: &str = "JPEG of 4,096 x 4,096";
/// The photo itself, on any machine.
const MOST_PHOTO_MICROS: u64 = 500_000;

/// The cost of one file.
#[derive(Debug)]
struct Cost {
    fate: String,
    /// CPU time, which other tests do not prolong.
    micros: u64,
    /// The growth of the process's peak memory since the file was read.
    grown_kib: u64,
}

#[test]
fn every_hostile_image_is_accepted_or_refused_in_time_and_within_64_mib() {
    let mut costs = Vec::new();
    for bomb in bombs() {
        let cost = measure(&bomb);
        println!(
            "{:45} {:9} bytes {:12} {:6.1} ms {:7.1} MB",
            bomb.name,
            bomb.file.len(),
            cost.fate,
            milliseconds(cost.micros),
            megabytes(cost.grown_kib),
        );
        assert_eq!(cost.fate, format!("{:?}", bomb.fate), "{}", bomb.name);
        costs.push((bomb, cost));
    }
    let photo = costs.iter().find(|(bomb, _)| bomb.name == PHOTO);
    let photo = photo.expect("the photo is measured").1.micros;
    assert!(photo <= MOST_PHOTO_MICROS, "{PHOTO}: {photo}");
    for (bomb, cost) in costs {
        let name = bomb.name;
        assert!(cost.grown_kib * 1024 <= MOST_MEMORY, "{name}: {cost:?}");
        let most = if name.contains("7,000") {
            MOST_MICROS_AT_49_MEGAPIXELS.max(3 * MOST_PHOTOS * photo)
        } else {
            MOST_MICROS.max(MOST_PHOTOS * photo)
        };
        // Others on the machine slow down its processor now and then, so a single long time proves nothing.
        let is_fast = |_| measure(&bomb).micros <= most;
        let in_time = cost.micros <= most || (0..2).any(is_fast);
        assert!(in_time, "{name}: {cost:?}, at most {most}");
    }
}

/// Run by [`measure`] in a process of its own, with the file on its standard input.
#[test]
#[ignore = "does nothing by itself"]
fn child() {
    let mut file = Vec::new();
    std::io::stdin().read_to_end(&mut file).unwrap();
    let (memory, time) = (peak_kib(), cpu_micros());
    let outcome = image_kit::open(&file, LIMITS).and_then(image_kit::OpenedImage::shrink);
    let (micros, grown) = (cpu_micros() - time, peak_kib() - memory);
    let fate = match outcome {
        Ok(_) => ExpectedResult::Taken,
        Err(ImageError::TooLarge(_)) => ExpectedResult::TooLarge,
        Err(ImageError::Unsupported) => ExpectedResult::Unsupported,
    };
    println!("\ncost {fate:?} {micros} {grown}");
}

fn measure(bomb: &HostileImage) -> Cost {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bomb");
    std::fs::write(&path, &bomb.file).unwrap();
    let output = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "child",
            "--ignored",
            "--nocapture",
            "--test-threads=1",
        ])
        .stdin(std::fs::File::open(&path).unwrap())
        .stderr(Stdio::inherit())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("cost "));
    let words: Vec<&str> = line
        .unwrap_or_else(|| panic!("{}: {text}", bomb.name))
        .split(' ')
        .collect();
    Cost {
        fate: words[0].to_owned(),
        micros: words[1].parse().unwrap(),
        grown_kib: words[2].parse().unwrap(),
    }
}

/// Returns the peak memory of this process.
fn peak_kib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

/// Returns the CPU time of this thread.
fn cpu_micros() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    text.split(' ').next().unwrap().parse::<u64>().unwrap() / 1_000
}

#[expect(
    clippy::cast_precision_loss,
    clippy::as_conversions,
    reason = "for display"
)]
fn milliseconds(micros: u64) -> f64 {
    micros as f64 / 1e3
}

#[expect(
    clippy::cast_precision_loss,
    clippy::as_conversions,
    reason = "for display"
)]
fn megabytes(kib: u64) -> f64 {
    kib as f64 * 1024.0 / 1e6
}
