//! `cargo xtask e2e compose`: docker-compose.yml and its companions on a Docker engine, through restarts and failures.

mod engine;
mod images;
mod production;
mod scenarios;
mod stack;
mod steady_load;

use engine::Engine;
use images::PROGRAMS;
use scenarios::ComposeScene;
use stack::Stack;
use std::sync::Arc;
use std::time::{Duration, Instant};
use steady_load::Crowd;
use xtask_fixtures::fake_chat::Chat;
use xtask_fixtures::http::Client;
use xtask_kit::cmd::{Context as _, Result, cargo, fail, interrupted, output, run};
use xtask_kit::report::Report;
use xtask_kit::{env_vars, system};

const SERVERS: [&str; 5] = [
    "postgres",
    "rabbitmq",
    "identity-service",
    "notifier",
    "worksession-service",
];
const SCALED: [&str; 7] = [
    "rabbitmq-2",
    "rabbitmq-3",
    "proxy",
    "identity-service-2",
    "worksession-service-2",
    "notifier-2",
    "prometheus",
];
const PATIENCE: Duration = Duration::from_secs(120);
/// How long the first `up` may take until everything is healthy, with the images present.
const FIRST_UP: Duration = Duration::from_secs(30);
/// The largest resident memory of an idle service, in megabytes.
const IDLE_MB: f64 = 40.0;

#[derive(clap::Args)]
pub(crate) struct ComposeOptions {
    /// For `compose`: use the release build, whose image sizes and memory are limited
    #[arg(id = "release_images", long = "release-images")]
    release: bool,
    /// For `compose`: seconds without a broker
    #[arg(long, default_value_t = 60)]
    broker_away: u64,
}

pub(crate) fn compose(options: &ComposeOptions) -> Result {
    let mut report = Report::default();
    let engine = report.value("engine", || Ok((Engine::obtain()?, String::new())))?;
    let named = report.value("other images", || {
        Ok((images::obtain(&engine)?, String::new()))
    })?;
    let mut stack = Stack::new(&engine, &named, 0)?;
    let played = play(&mut stack, &engine, &named, options, &mut report);
    if played.is_err() && !interrupted() {
        stack.print_logs();
    }
    report.print();
    let staged = env_vars::root().join("deploy/bin");
    println!("programs staged in {}", staged.display());
    played
}

fn play(
    stack: &mut Stack<'_>,
    engine: &Engine,
    named: &[(String, String)],
    options: &ComposeOptions,
    report: &mut Report,
) -> Result {
    report.step("product images", || {
        images::stage(options.release)?;
        stack.build()?;
        images::build_standalone(engine, named)?;
        images::sizes(engine, options.release)
    })?;
    report.step("up", || {
        let since = Instant::now();
        stack.up(&[])?;
        stack.wait_healthy(&SERVERS, PATIENCE)?;
        match since.elapsed() {
            late if late > FIRST_UP => fail(format!("healthy only after {late:.0?}")),
            _ => Ok("all healthy".to_owned()),
        }
    })?;
    report.step("broker users", || users(stack))?;
    report.step("memory", || memory(stack, options.release))?;
    let identity = stack.address("HOLDFAST_IDENTITY_PORT")?;
    let worksession = stack.address("HOLDFAST_WORKSESSION_PORT")?;
    report.step("tour", || {
        run(cargo()
            .args(["xtask", "tour", "--against", &identity, &worksession])
            .args(["--hook-host", "host.docker.internal"]))?;
        Ok("prints what docs/api.md shows".to_owned())
    })?;
    report.step("metrics", || metrics(&[&identity, &worksession]))?;

    let chat = Chat::listen("0.0.0.0")?;
    let hook = format!("http://host.docker.internal:{}/hook", chat.port);
    let crowd = Crowd::gather(&identity, &worksession, &hook)?;
    let scene = ComposeScene {
        stack,
        crowd: &crowd,
        chat: &chat,
    };
    report.step("restart each", || scenarios::restart_each(&scene))?;
    let away = Duration::from_secs(options.broker_away);
    report.step("broker away", || scenarios::broker_away(&scene, away))?;
    report.step("back up, restore", || restore(&scene, engine, named))?;
    report.step("production", || production::production(engine, named, 2))?;
    scaled(stack, engine, &crowd, &chat, report)?;
    report.step("down", || stack.down().map(|()| String::new()))
}

/// Tests two of each service and three brokers behind the proxy.
fn scaled(
    stack: &mut Stack<'_>,
    engine: &Engine,
    crowd: &Arc<Crowd>,
    chat: &Chat,
    report: &mut Report,
) -> Result {
    stack.scale();
    report.step("scale", || {
        // All but Grafana, for which Debian has no package.
        stack.up(&SERVERS)?;
        stack.up(&SCALED)?;
        stack.wait_healthy(&SERVERS, PATIENCE)?;
        stack.wait_healthy(&SCALED, PATIENCE)?;
        Ok("two of each, three brokers".to_owned())
    })?;
    crowd.go_by(
        &stack.address("HOLDFAST_IDENTITY_PROXY_PORT")?,
        &stack.address("HOLDFAST_WORKSESSION_PROXY_PORT")?,
    );
    report.step("revocation", || scenarios::revocation(stack))?;
    // Other labels make another image, which to the engine is an upgrade.
    stack.set("HOLDFAST_REVISION", "next");
    stack.use_tag("next");
    report.step("rebuild", || {
        stack.build()?;
        match images::revision(engine, "next")?.as_str() {
            "next" => Ok("labelled as requested".to_owned()),
            other => fail(format!("labelled {other:?}")),
        }
    })?;
    let scene = ComposeScene { stack, crowd, chat };
    let services: Vec<String> = PROGRAMS
        .iter()
        .flat_map(|program| [(*program).to_owned(), format!("{program}-2")])
        .collect();
    let services: Vec<&str> = services.iter().map(String::as_str).collect();
    report.step("roll to the next", || scenarios::roll(&scene, &services))?;
    report.step("kill a broker", || scenarios::kill_broker(&scene))?;
    report.step("restart database", || scenarios::restart_database(&scene))?;
    report.step("figures", || {
        let prometheus = stack.address("HOLDFAST_PROMETHEUS_PORT")?;
        run(cargo().args(["xtask", "alerts", "--against", &prometheus]))?;
        Ok("every metric of the alerts and panels exists".to_owned())
    })
}

/// Makes a backup while users work and restores it as a second stack. That stack must know every session started before
/// the backup, and accept a token from before it.
fn restore(
    scene: &ComposeScene<'_, '_>,
    engine: &Engine,
    named: &[(String, String)],
) -> Result<String> {
    let (stack, crowd) = (scene.stack, scene.crowd);
    let folder = tempfile::tempdir()?;
    let run = |stack: &Stack<'_>, script: &str| {
        let mut command = engine.command("sh");
        command.arg(script).arg(folder.path());
        stack.name_in(&mut command);
        output(&mut command).map(drop)
    };
    let wanted = crowd.accepted();
    // At this rate some message is always on its way to the chat.
    let drive = crowd.drive(scenarios::RATE);
    let saved = run(stack, "deploy/compose/backup.sh");
    scenarios::flawless(drive)?;
    saved?;
    scenarios::settle(scene)?;
    let fresh = Stack::new(engine, named, 1)?;
    run(&fresh, "deploy/compose/restore.sh")?;
    fresh.up(&[])?;
    fresh.wait_healthy(&SERVERS, PATIENCE)?;
    scenarios::all_there(&fresh, &wanted)?;
    let address = fresh.address("HOLDFAST_WORKSESSION_PORT")?;
    let mut client = Client::new(&address, crowd.token());
    let data = client.text("/api/user/data");
    data.context(|| "a token from before the backup".to_owned())?;
    let count = wanted.len();
    Ok(format!(
        "{count} earlier sessions, and a token that is still valid"
    ))
}

/// Checks the broker's users: none of them is an administrator.
fn users(stack: &Stack<'_>) -> Result<String> {
    let asked = ["rabbitmqctl", "-q", "list_users", "--no-table-headers"];
    let listed = stack.exec("rabbitmq", &asked)?;
    let names = listed
        .lines()
        .filter_map(|line| line.split_whitespace().next());
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    match names.as_slice() {
        ["consumer", "identity", "notifier", "parked", "worksession"] => Ok(names.join(", ")),
        others => fail(format!("the broker has the users {others:?}")),
    }
}

/// Returns the resident memory of each idle service. Fails if one of a release build is too high.
fn memory(stack: &Stack<'_>, release: bool) -> Result<String> {
    let mut told = Vec::new();
    for program in PROGRAMS {
        let status = stack.exec(program, &["cat", "/proc/1/status"])?;
        let megabytes = system::megabytes(&status, "VmRSS").context(|| program.to_owned())?;
        if release && megabytes > IDLE_MB {
            return fail(format!("{program} uses {megabytes:.1} MB, limit {IDLE_MB}"));
        }
        told.push(format!("{program} {megabytes:.1} MB"));
    }
    Ok(told.join(", "))
}

fn metrics(addresses: &[&str]) -> Result<String> {
    let mut lines = 0;
    for address in addresses {
        let text = Client::new(address, "").text("/metrics")?;
        if !text.contains("http_requests_total{") {
            return fail(format!("{address}/metrics does not count requests"));
        }
        lines += text.lines().filter(|line| !line.starts_with('#')).count();
    }
    Ok(format!("{lines} series"))
}
