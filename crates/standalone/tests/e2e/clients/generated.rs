//! The OpenAPI and AsyncAPI documents as other programs read them: linters, a parser, and generators of clients.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::{node, tool};
use crate::site::Site;

const SERVICES: [&str; 2] = ["identity", "worksession"];

#[test]
#[ignore = "needs Spectral and Redocly: `cargo xtask e2e clients` runs it"]
fn spectral_and_redocly_find_nothing_in_the_openapi_documents() {
    let documents = SERVICES.map(document);
    let spectral = "lint --ruleset spectral.yaml --fail-severity hint";
    let mut program = package("@stoplight/spectral-cli/dist/index.js");
    run(program.args(spectral.split(' ')).args(&documents));
    let mut program = package("@redocly/cli/bin/cli.js");
    run(program
        .args(["lint", "--config", "redocly.yaml"])
        .args(&documents));
}

#[test]
#[ignore = "needs AsyncAPI's parser: `cargo xtask e2e clients` runs it"]
fn the_asyncapi_parser_finds_a_channel_for_each_event() {
    let events = tool("EVENTS");
    let mut program = node();
    program.current_dir(tool("GENERATORS")).arg("asyncapi.js");
    let said = run(program.arg(events.join("asyncapi.json")));
    let channels: BTreeSet<&str> = said.split_whitespace().collect();
    let schemas = files(&events.join("schemas"));
    let schemas: BTreeSet<&str> = schemas.iter().map(|path| stem(path)).collect();
    assert_eq!(channels, schemas);
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs openapi-python-client: `cargo xtask e2e clients` runs it"]
async fn clients_that_openapi_python_client_generates_do_the_main_job() {
    let folder = tempfile::tempdir().unwrap();
    for service in SERVICES {
        let client = folder.path().join(format!("{service}_client"));
        let mut program =
            Command::new(tool("OPENAPI_PYTHON").with_file_name("openapi-python-client"));
        program.args(["generate", "--meta", "none"]);
        run(program
            .arg("--path")
            .arg(document(service))
            .arg("--output-path")
            .arg(&client));
        let tags = files(&client.join("api"));
        let tags = tags.iter().filter(|path| path.is_dir());
        let functions: Vec<PathBuf> = tags.flat_map(|tag| files(tag)).collect();
        assert_has_operations(service, functions.iter().map(|path| stem(path)));
    }
    let mut program = Command::new(tool("OPENAPI_PYTHON"));
    program.arg(tool("GENERATORS").join("main_job.py"));
    check_main_job(program.env("PYTHONPATH", folder.path())).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs openapi-typescript: `cargo xtask e2e clients` runs it"]
async fn openapi_fetch_with_the_types_of_openapi_typescript_does_the_main_job() {
    for service in SERVICES {
        let types = tool("GENERATORS").join(format!("{service}.d.ts"));
        let mut program = package("openapi-typescript/bin/cli.js");
        run(program.arg(document(service)).arg("--output").arg(&types));
        let types = fs::read_to_string(types).unwrap();
        let (_, operations) = types.split_once("export interface operations {").unwrap();
        let names = operations
            .lines()
            .filter_map(|line| line.strip_suffix(": {"));
        assert_has_operations(service, names.map(str::trim));
    }
    let options = "--strict --skipLibCheck --module nodenext --target es2022 --lib es2022,dom";
    let mut program = package("typescript/bin/tsc");
    run(program.args(options.split(' ')).arg("main_job.ts"));
    let mut program = node();
    program.current_dir(tool("GENERATORS")).arg("main_job.js");
    check_main_job(&mut program).await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs progenitor: `cargo xtask e2e clients` runs it"]
async fn clients_that_progenitor_generates_do_the_main_job() {
    let program = tool("OPENAPI_RUST").join("holdfast-openapi-client");
    for service in SERVICES {
        let code = run(Command::new(&program).arg(service));
        let functions = code
            .lines()
            .filter_map(|line| line.trim().strip_prefix("pub async fn "));
        let names = functions.filter_map(|line| line.split(['<', '(']).next());
        assert_has_operations(service, names);
    }
    check_main_job(&mut Command::new(&program)).await;
}

/// Checks that a generator has made something for each operation of a document. The spelling of names depends on the language.
fn assert_has_operations<'a>(service: &str, names: impl Iterator<Item = &'a str>) {
    let plain = |name: &str| name.replace('_', "").to_lowercase();
    let names: BTreeSet<String> = names.map(plain).collect();
    let text = fs::read_to_string(document(service)).unwrap();
    let document: Value = serde_json::from_str(&text).unwrap();
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|path| path.as_object().unwrap().values());
    let mut lost: Vec<&str> = operations
        .map(|operation| operation["operationId"].as_str().unwrap())
        .collect();
    assert!(lost.len() > 40, "{lost:?}");
    lost.retain(|operation| !names.contains(&plain(operation)));
    assert_eq!(lost, Vec::<&str>::new());
}

/// Runs a program that registers, signs in, creates a team, uploads a photo, submits a session and reads the leaderboard.
async fn check_main_job(program: &mut Command) {
    let site = Site::plain().await;
    let said = run(program
        .env("IDENTITY", site.api.base())
        .env("WORKSESSION", site.sessions.base())
        .env("NAME", "mia")
        .env("NO_PROXY", "127.0.0.1"));
    let expected = "Teams: mia\nPhoto: true\nPlanned: 25\nStatus: partial\nBoard: day\n";
    assert_eq!(said, expected);
}

fn document(service: &str) -> PathBuf {
    tool("OPENAPI").join(format!("{service}.json"))
}

/// Returns a program of a Node.js package, by its file in that package.
fn package(file: &str) -> Command {
    let mut program = node();
    program
        .current_dir(tool("GENERATORS"))
        .arg(Path::new("node_modules").join(file));
    program
}

/// Runs a program to its end, and returns what it printed.
#[track_caller]
fn run(program: &mut Command) -> String {
    let output = program.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program:?}: {said}{complained}");
    said
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn stem(path: &Path) -> &str {
    path.file_stem().unwrap().to_str().unwrap()
}
