//! `cargo xtask tour`: runs the blocks of the API guide, and compares their output with what the guide shows.

use std::process::Command;
use xtask_fixtures::fresh_folder;
use xtask_fixtures::servers::free_port;
use xtask_kit::cmd::{Context, Result, fail, run_reading};
use xtask_kit::env_vars;
use xtask_kit::system::{self, PARTS, Program};

const SCRIPT: &str = "sh tour";
const SHOWN: &str = "text tour";
const GUIDE: &str = "docs/api.md";
const MARK: &str = "@@ tour:";

#[derive(clap::Args)]
pub(crate) struct TourOptions {
    /// Use a running product at these addresses of the identity and the work-session service
    #[arg(long, num_args = 2, value_names = ["IDENTITY", "WORKSESSION"])]
    against: Option<Vec<String>>,
    /// Host under which the running product reaches this machine's chat listener
    #[arg(long, default_value = "127.0.0.1")]
    hook_host: String,
}

pub(crate) fn tour(options: &TourOptions) -> Result {
    match options.against.as_deref() {
        Some([identity, worksession]) => walk(identity, worksession, &options.hook_host),
        _ => {
            system::build(false, &["holdfast"])?;
            tour_of_built()
        }
    }
}

/// Runs the tour against a new `holdfast` that is already built.
pub(crate) fn tour_of_built() -> Result {
    let folder = fresh_folder("holdfast-tour-")?;
    let mut command = system::serve(false, "holdfast", &folder.path().join("data"));
    let holdfast = Program::start(&mut command, &PARTS, &folder.path().join("log"))?;
    walk(
        holdfast.address("identity")?,
        holdfast.address("worksession")?,
        "127.0.0.1",
    )
}

/// Runs the tour against a running product that reaches this machine as `hook_host`.
pub(crate) fn walk(identity: &str, worksession: &str, hook_host: &str) -> Result {
    let guide = std::fs::read_to_string(env_vars::root().join(GUIDE))?;
    let steps = steps(&guide)?;
    let file = tempfile::Builder::new()
        .prefix("tour-")
        .suffix(".sh")
        .tempfile()?;
    std::fs::write(file.path(), script(&steps))?;
    let port = free_port()?;
    let listen = if hook_host == "127.0.0.1" {
        hook_host
    } else {
        "0.0.0.0"
    };
    let mut command = Command::new("bash");
    command
        .current_dir(env_vars::root())
        .args(["-euo", "pipefail"])
        .arg(file.path())
        .env("CARGO_TARGET_DIR", env_vars::target_dir())
        .env("IDENTITY", identity)
        .env("WORKSESSION", worksession)
        .env("CHAT", format!("{listen}:{port}"))
        .env("HOOK", format!("http://{hook_host}:{port}/hook"));
    let mut said = vec![Vec::new()];
    let ended = run_reading(&mut command, |line| {
        if line.starts_with(MARK) {
            said.push(Vec::new());
        } else if let Some(block) = said.last_mut() {
            block.push(line.to_owned());
        }
    });
    ended.context(|| format!("the blocks of {GUIDE} failed"))?;
    for (step, lines) in steps.iter().zip(said.iter().skip(1)) {
        check(step, lines)?;
    }
    println!(
        "tour: {} blocks ran and printed what {GUIDE} shows",
        steps.len()
    );
    Ok(())
}

/// A block, and the output that the guide shows for it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Step {
    line: usize,
    script: String,
    shown: Vec<String>,
}

fn steps(guide: &str) -> Result<Vec<Step>> {
    let mut steps: Vec<Step> = Vec::new();
    let mut fence = "";
    for (n, line) in guide.lines().enumerate() {
        match (line.strip_prefix("```"), fence) {
            (Some(info), "") => {
                fence = if info.is_empty() { "plain" } else { info };
                if info == SCRIPT {
                    steps.push(Step {
                        line: n + 1,
                        ..Step::default()
                    });
                }
            }
            (Some(_), _) => fence = "",
            (None, SCRIPT) => {
                if let Some(step) = steps.last_mut() {
                    step.script.push_str(line);
                    step.script.push('\n');
                }
            }
            (None, SHOWN) => match steps.last_mut() {
                Some(step) => step.shown.push(line.to_owned()),
                None => return fail(format!("{GUIDE}:{}: output before any block", n + 1)),
            },
            _ => {}
        }
    }
    if steps.is_empty() || steps.iter().all(|step| step.shown.is_empty()) {
        return fail(format!("{GUIDE} has no tour, or shows none of its output"));
    }
    Ok(steps)
}

fn script(steps: &[Step]) -> String {
    steps
        .iter()
        .map(|step| format!("echo '{MARK}{}'\n{}", step.line, step.script))
        .collect()
}

/// Checks that the block has printed each line that the guide shows, in this order. `…` stands for any text.
fn check(step: &Step, said: &[String]) -> Result {
    let mut said = said.iter();
    for shown in &step.shown {
        if !said.any(|line| matches(shown, line)) {
            return fail(format!(
                "{GUIDE}:{} shows `{shown}`, but the block did not print it",
                step.line
            ));
        }
    }
    Ok(())
}

fn matches(shown: &str, line: &str) -> bool {
    let mut parts = shown.split('…');
    let Some(mut rest) = parts.next().and_then(|first| line.strip_prefix(first)) else {
        return false;
    };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        match rest.split_once(part) {
            Some((_, after)) => rest = after,
            None => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOUR: &str = "# x\n```sh\nnot run\n```\n```sh tour\nname=mia\necho $name\n```\nsays\n```text tour\nmia\n```\n";

    #[test]
    fn only_marked_blocks_are_run() {
        let steps = steps(TOUR).unwrap();
        assert_eq!(steps.len(), 1);
        assert_eq!(steps[0].line, 5);
        assert_eq!(steps[0].script, "name=mia\necho $name\n");
        assert_eq!(steps[0].shown, ["mia"]);
    }

    #[test]
    fn a_guide_without_a_tour_is_refused() {
        assert!(steps("# x\n```sh\nls\n```\n").is_err());
        assert!(steps("```sh tour\nls\n```\n").is_err());
    }

    #[test]
    fn an_output_that_differs_from_the_guide_is_found() {
        let step = Step {
            line: 1,
            script: String::new(),
            shown: vec!["a…c".into(), "d".into()],
        };
        let said = |lines: &[&str]| lines.iter().map(|l| (*l).to_owned()).collect::<Vec<_>>();
        assert!(check(&step, &said(&["x", "abbc", "d"])).is_ok());
        assert!(check(&step, &said(&["d", "abc"])).is_err());
        assert!(check(&step, &said(&["abc"])).is_err());
    }

    #[test]
    fn an_ellipsis_stands_for_anything_and_the_rest_for_itself() {
        assert!(matches(r#"{"id":…,"name":"x"}"#, r#"{"id":17,"name":"x"}"#));
        assert!(matches("…", ""));
        assert!(matches("a…b…c", "a1b2c"));
        assert!(!matches("a…b…c", "a1c2b"));
        assert!(!matches("abc", "abcd"));
        assert!(!matches("abc…", "ab"));
    }
}
