//! The images: official ones if a registry answers, otherwise substitutes from Debian's packages; and the product's own.

use super::engine::Engine;
use std::process::Command;
use xtask_fixtures::servers;
use xtask_kit::cmd::{Result, cargo, fail, output, run};
use xtask_kit::{env_vars, system};

/// The programs, each with an image of its own, in the order of an upgrade: consumers of events before their producers.
pub(super) const PROGRAMS: [&str; 3] = ["notifier", "identity-service", "worksession-service"];
/// The program with all three services.
const STANDALONE: &str = "holdfast";
/// The folder in which the Dockerfile looks for built programs.
const STAGED: &str = "deploy/bin";
const OFFICIAL: [&str; 5] = [
    "debian:bookworm-slim",
    "postgres:17",
    "rabbitmq:4-management",
    "caddy:2",
    "prom/prometheus:v3.5.0",
];
/// The largest size of a product image, in megabytes.
const LARGEST_MB: f64 = 120.0;

/// Returns the variables that tell the compose files which images to use.
pub(super) fn obtain(engine: &Engine) -> Result<Vec<(String, String)>> {
    let mut named = vec![
        ("HOLDFAST_IMAGES".to_owned(), "holdfast-e2e".to_owned()),
        ("HOLDFAST_PROGRAMS".to_owned(), STAGED.to_owned()),
    ];
    if official(engine) {
        named.push((
            "HOLDFAST_BUILDER_IMAGE".into(),
            "debian:bookworm-slim".into(),
        ));
        return Ok(named);
    }
    println!("no image registry answers: building images from Debian's packages");
    if env_vars::which("debootstrap").is_none() {
        servers::install(&["debootstrap"])?;
    }
    let made = output(engine.command("sh").arg("deploy/airgap/images.sh"))?;
    for (name, image) in made.lines().filter_map(|line| line.split_once('=')) {
        named.push((name.to_owned(), image.to_owned()));
    }
    Ok(named)
}

fn official(engine: &Engine) -> bool {
    OFFICIAL.iter().all(|image| {
        output(&mut engine.docker(&["image", "inspect", image])).is_ok()
            || output(&mut engine.docker(&["pull", "--quiet", image])).is_ok()
    })
}

/// Copies the programs, without debug symbols, and their SBOMs to where the Dockerfile expects them.
pub(super) fn stage(release: bool) -> Result {
    let programs: Vec<&str> = PROGRAMS.into_iter().chain([STANDALONE]).collect();
    system::build(release, &programs)?;
    let folder = env_vars::root().join(STAGED);
    std::fs::create_dir_all(&folder)?;
    for program in programs {
        let mut strip = Command::new("strip");
        strip.arg("-o").arg(folder.join(program));
        run(strip.arg(system::binary(release, program)))?;
        let list = output(cargo().args(["xtask", "sbom", program]))?;
        std::fs::write(folder.join(format!("{program}.cdx.json")), list)?;
    }
    Ok(())
}

/// Builds the image of the standalone program, which no compose file starts, after the others, whose layers it shares.
pub(super) fn build_standalone(engine: &Engine, named: &[(String, String)]) -> Result {
    let image = format!("holdfast-e2e/{STANDALONE}:latest");
    let mut command = engine.docker(&["build", "--quiet", "--file", "deploy/Dockerfile"]);
    command.args(["--target", STANDALONE, "--tag", &image]);
    for (name, value) in named {
        let argument = match name.as_str() {
            "HOLDFAST_PROGRAMS" => "PROGRAMS",
            "HOLDFAST_BUILDER_IMAGE" => "BUILDER_IMAGE",
            "HOLDFAST_RUNTIME_IMAGE" => "RUNTIME_IMAGE",
            _ => continue,
        };
        command.args(["--build-arg", &format!("{argument}={value}")]);
    }
    output(command.arg(".")).map(drop)
}

/// Returns the revision label of an image of the product.
pub(super) fn revision(engine: &Engine, tag: &str) -> Result<String> {
    let label = "{{index .Config.Labels \"org.opencontainers.image.revision\"}}";
    let image = format!("holdfast-e2e/identity-service:{tag}");
    let asked = ["image", "inspect", "--format", label, &image];
    Ok(output(&mut engine.docker(&asked))?.trim().to_owned())
}

/// Returns the size of each image of the product. Fails if one of a release build is too large.
pub(super) fn sizes(engine: &Engine, release: bool) -> Result<String> {
    let mut told = Vec::new();
    for program in PROGRAMS.into_iter().chain([STANDALONE]) {
        let image = format!("holdfast-e2e/{program}:latest");
        let asked = ["image", "inspect", "--format", "{{.Size}}", &image];
        let bytes: f64 = output(&mut engine.docker(&asked))?.trim().parse()?;
        let megabytes = bytes / 1e6;
        if release && megabytes > LARGEST_MB {
            return fail(format!("{image} has {megabytes:.0} MB, limit {LARGEST_MB}"));
        }
        told.push(format!("{program} {megabytes:.0} MB"));
    }
    Ok(told.join(", "))
}
