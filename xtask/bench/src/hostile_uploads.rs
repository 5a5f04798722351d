//! A hundred concurrent hostile uploads against a service with 256 MiB, and validations during the attack.

mod attack;
mod group;

use super::load::{self, LoadRequest, LoadResult};
use attack::{Answers, Attack, Attacker};
use group::MemoryGroup;
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use xtask_fixtures::accounts::register;
use xtask_fixtures::fresh_folder;
use xtask_fixtures::http::Client;
use xtask_fixtures::servers::Postgres;
use xtask_kit::cmd::{Result, fail};
use xtask_kit::system::{self, PARTS, Program, UNLIMITED};

/// The memory limit in Compose and Kubernetes.
const LIMIT_MIB: u64 = 256;
/// The limit of the process's own peak. The rest is for the system.
const RESIDENT_MIB: u64 = 240;
/// The limit of the p99 of validations, in milliseconds. The attack shares the two processors.
const P99_MS: f64 = 500.0;
const ACCOUNTS: usize = 10;

#[derive(clap::Args)]
pub(crate) struct HostileUploadsOptions {
    /// Seconds of attack on each program
    #[arg(long, default_value_t = 20)]
    seconds: u32,
    /// Validations a second
    #[arg(long, default_value_t = 200)]
    rate: u32,
    /// Attack only the standalone program
    #[arg(long)]
    standalone: bool,
    /// Use the development build, which `cargo build` has made
    #[arg(long)]
    dev: bool,
}

pub(crate) fn hostile_uploads(options: &HostileUploadsOptions) -> Result {
    if !options.dev {
        system::build(true, &["holdfast", "identity-service"])?;
    }
    let mut rows = Vec::new();
    if !options.standalone {
        let postgres = Postgres::durable()?;
        let database = postgres.make_database("identity")?;
        rows.push(("identity-service", run(options, Some(&database))?));
    }
    rows.push(("holdfast", run(options, None)?));
    println!(
        "\n{:<18} {:>10} {:>11} {:>9} {:>8} {:>8} {:>8}  responses to the attack",
        "program", "group MiB", "process MiB", "validated", "p50 ms", "p99 ms", "max ms"
    );
    for (name, row) in &rows {
        let (p50, p99, max) = row.load.summary();
        let group = row.group_mib.map_or("-".to_owned(), |mib| mib.to_string());
        println!(
            "{name:<18} {group:>10} {:>11} {:>9} {p50:>8.1} {p99:>8.1} {max:>8.1}  {}",
            row.process_mib,
            row.load.with_status(200),
            row.answers
        );
    }
    match rows
        .iter()
        .find_map(|(name, row)| Some((name, row.fault()?)))
    {
        Some((name, fault)) => fail(format!("{name}: {fault}")),
        None => Ok(()),
    }
}

/// The result of an attack.
struct AttackRow {
    /// The peak memory of the control group, page cache included.
    group_mib: Option<u64>,
    /// The peak memory of the process.
    process_mib: u64,
    load: LoadResult,
    answers: Answers,
}

impl AttackRow {
    fn fault(&self) -> Option<String> {
        let (_, p99, _) = self.load.summary();
        if self.process_mib > RESIDENT_MIB {
            Some(format!(
                "the process used {} MiB, limit {RESIDENT_MIB}",
                self.process_mib
            ))
        } else if self.load.with_status(200) < self.load.latencies.len() {
            Some(format!("validations failed: {:?}", self.load.statuses))
        } else if p99 > P99_MS {
            Some(format!("the p99 of validations is over {P99_MS} ms"))
        } else {
            None
        }
    }
}

fn run(options: &HostileUploadsOptions, database: Option<&str>) -> Result<AttackRow> {
    let folder = fresh_folder("holdfast-bench-")?;
    let (name, parts) = match database {
        Some(_) => ("identity-service", &PARTS[..1]),
        None => ("holdfast", &PARTS[..]),
    };
    let mut command = system::serve(!options.dev, name, &folder.path().join("data"));
    // An attacker has many accounts and addresses, so only memory may stop the attack.
    command.envs(UNLIMITED);
    if let Some(database) = database {
        command.env("IDENTITY__DATABASE__URL", database);
    }
    let group = MemoryGroup::new(LIMIT_MIB);
    let mut command = match &group {
        Some(group) => group.wrap(&command),
        None => {
            println!("cannot create a control group: only the process's own peak is measured");
            command
        }
    };
    let mut program = Program::start(&mut command, parts, &folder.path().join("log"))?;
    let address = program.address("identity")?.to_owned();
    let accounts: Vec<Attacker> = (0..ACCOUNTS)
        .map(|n| Attacker::register(&address, n))
        .collect::<Result<_>>()?;
    let victim = Attacker::register(&address, ACCOUNTS)?;
    let (load, answers) = attacked(options, &address, &accounts, &victim)?;
    let process_mib = group::peak_mib(program.process().id())?;
    // The service must still run and accept a photo.
    let honest = Attack::honest();
    let status = honest.once(&address, &victim, &AtomicBool::new(false));
    if status != Some(200) {
        return fail(format!(
            "a valid photo is answered with {status:?} after the attack"
        ));
    }
    drop(program);
    let group_mib = group.as_ref().map(MemoryGroup::peak_mib).transpose()?;
    Ok(AttackRow {
        group_mib,
        process_mib,
        load,
        answers,
    })
}

/// Validates tokens while a hundred connections repeatedly send hostile bodies of all kinds.
fn attacked(
    options: &HostileUploadsOptions,
    address: &str,
    accounts: &[Attacker],
    victim: &Attacker,
) -> Result<(LoadResult, Answers)> {
    let (over, answers) = (AtomicBool::new(false), Answers::default());
    let attacks = Attack::hundred();
    let idle = attack::unfinished_small(address, accounts)?;
    let load = std::thread::scope(|scope| {
        for (attack, account) in attacks.iter().zip(accounts.iter().cycle()) {
            let (over, answers) = (&over, &answers);
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    answers.count(attack.once(address, account, over));
                }
            });
        }
        // By then the attack is under way.
        std::thread::sleep(Duration::from_secs(1));
        let count = usize::try_from(options.rate * options.seconds)?;
        let shots = (0..count).map(|_| LoadRequest::get(&victim.token, "/api/auth/validate"));
        let gap = Duration::from_secs(1) / options.rate;
        let load = load::fire(address, shots.collect(), gap);
        over.store(true, Ordering::SeqCst);
        load
    })?;
    drop(idle);
    Ok((load, answers))
}

impl Attacker {
    fn register(address: &str, n: usize) -> Result<Self> {
        let token = register(address, &format!("attacker-{n}"))?;
        let me = Client::new(address, &token).json("/api/auth/me")?;
        match me.pointer("/user/id").and_then(Value::as_i64) {
            Some(id) => Ok(Self { id, token }),
            None => fail(format!("no id: {me}")),
        }
    }
}
