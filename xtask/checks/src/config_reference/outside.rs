//! What no struct says: the page's beginning, how the standalone differs, the command line, and the
//! variables that are read elsewhere. Names in it are checked against the code.

use super::Part;
use super::defaults::texts;
use super::keys::Keys;
use super::page::{Page, environment, escaped};
use super::source::{SHARED, Sources, doc, text};
use syn::{Item, Stmt};
use xtask_kit::cmd::{Result, fail};

pub(super) const BEGINNING: &str = "\
# Configuration

Made by `cargo xtask config --write` from the types that the configuration is read into; what a key means stands there.

Built-in defaults come first, then the file given with `--config`, then the environment. All is read once, at the start. An
unknown key, a bad value, or a table in the file that no part has, stops the start with one line that names it;
`PROGRAM check-config` does the same without starting.

`IDENTITY__DATABASE__POOL_SIZE=4` in the environment is `pool_size = 4` under `[identity.database]` in the file (TOML). One file
may hold all parts' tables; each part reads its own. A list has commas between its items, and may be an array in the file. A
variable that is set and empty counts as not set.

A secret's variable has a twin that ends in `_FILE` and names a file with the value, of which line ends at the end are dropped;
setting both is an error. In the configuration file there are no such twins. Secrets are printed nowhere.

In the column of defaults, – means that nothing is set; the meaning says what holds then.";

/// What `standalone` puts where nothing is set, for those keys for which that is not what a service by
/// itself does. `*` stands for each part that has the key.
const STANDALONE: [(&str, &str); 10] = [
    (
        "*__DATA_DIR",
        "`--data-dir`, else whichever part's is set, the identity area's first, else `{data_dir}` in the working directory; one folder for all",
    ),
    (
        "*__DATABASE__URL",
        "`identity.db`, `worksession.db` and `notifier.db` in the data folder",
    ),
    ("*__BROKER__URL", "`memory:`; either all three are, or none"),
    (
        "*__SECRETS__ENCRYPTION_KEY",
        "one for all three: whichever is set, else that in `{secrets_key}` in the data folder, which is made at the first start. Two that differ stop the start",
    ),
    (
        "*__RATE_LIMITS__ENABLED",
        "`false` while both public addresses and both listening ones are loopback, else `true`",
    ),
    ("*__WORKERS", "as many as there are cores, at most 2"),
    (
        "IDENTITY__SSO__ALLOWED_ORIGINS",
        "{origins} while both public addresses are loopback, else none",
    ),
    (
        "WORKSESSION__IDENTITY_URL",
        "where the identity area listens",
    ),
    (
        "WORKSESSION__IDENTITY_PUBLIC_URL",
        "`IDENTITY__BASE_URL`, else where the identity area listens",
    ),
    (
        "WORKSESSION__DASHBOARD__CLIENT_ID",
        "a client of its own, registered at each start with a secret that follows from the key above; not where `WORKSESSION__BASE_URL` is plain http beyond this machine, nor when `WORKSESSION__IDENTITY_URL` is set",
    ),
];

/// Variables that are no configuration of a part.
const VARIABLES: [[&str; 3]; 4] = [
    [
        "`RUST_LOG`",
        "`info`",
        "What is logged, as env_logger reads it: `warn`, or `info,worksession_service=debug`. Libraries that would log secrets at finer levels stay quiet.",
    ],
    [
        "`LOG_FORMAT`",
        "–",
        "`json` logs one JSON object a line (`ts`, `level`, `target`, `msg`, `kv`); anything else, text. The log goes to standard error.",
    ],
    [
        "`SSL_CERT_FILE`, `SSL_CERT_DIR`",
        "the system's",
        "Certificate authorities that are trusted, instead of those of the system, when anything is called over TLS. Where there are none at all, Mozilla's list that is compiled in.",
    ],
    [
        "`PGSSLMODE`, `PGSSLROOTCERT`, …",
        "–",
        "libpq's own: they hold for what a `postgres://` URL leaves open.",
    ],
];

/// How the standalone differs from the parts.
pub(super) fn write_standalone(
    page: &mut Page,
    sources: &Sources,
    parts: &[(&Part, Keys)],
) -> Result {
    page.text(
        "## The standalone\n\n`holdfast` reads the keys of all three parts. Where one of these is not set, it puts what makes the \
         three one:",
    );
    let mut rows = Vec::new();
    for (name, sentence) in STANDALONE {
        let known = |part: &Part, keys: &Keys| {
            let wanted = name.replacen('*', part.prefix, 1);
            keys.keys
                .iter()
                .any(|key| environment(part.prefix, &key.path) == wanted)
        };
        if !parts.iter().any(|(part, keys)| known(part, keys)) {
            return fail(format!(
                "{name}, which the standalone is said to set, is a key of no part"
            ));
        }
        let sentence = sentence
            .replace("{data_dir}", &constant(sources, SHARED, "DEFAULT")?)
            .replace(
                "{secrets_key}",
                &constant(sources, "standalone", "SECRETS_KEY")?,
            )
            .replace("{origins}", &origins(sources)?);
        rows.push([
            format!("`{}`", name.replacen('*', "…", 1)),
            escaped(&sentence),
        ]);
    }
    page.table(["variable", "what the standalone puts"], &rows);
    Ok(())
}

/// The command line, and variables outside of the parts' own.
pub(super) fn write_others(page: &mut Page, sources: &Sources) -> Result {
    page.text("## Command line\n\nBefore or after any command of any program:");
    let (_, args) = sources.get_struct(SHARED, "CommonArgs")?;
    let mut rows = Vec::new();
    for field in &args.fields {
        let name = field
            .ident
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        let mut value = None;
        let mut is_long = false;
        for attribute in field.attrs.iter().filter(|it| it.path().is_ident("arg")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("long") && !meta.input.peek(syn::Token![=]) {
                    is_long = true;
                } else if meta.path.is_ident("value_name") {
                    value = text(&meta.value()?.parse()?);
                } else if meta.path.is_ident("global") {
                    meta.value()?.parse::<syn::LitBool>()?;
                } else {
                    return Err(meta.error("an attribute of clap that is not understood"));
                }
                Ok(())
            })?;
        }
        let (true, Some(value)) = (is_long, value) else {
            return fail(format!(
                "{SHARED}: CommonArgs.{name} is not an option with a value"
            ));
        };
        let meaning = doc(&field.attrs, &format!("{SHARED}: CommonArgs.{name}"))?;
        rows.push([
            format!("`--{} {value}`", name.replace('_', "-")),
            escaped(&meaning),
        ]);
    }
    page.table(["option", "meaning"], &rows);
    page.text(
        "`--data-dir` wins over `…__DATA_DIR`. `holdfast serve --demo` adds a user with a team, projects and 90 days of \
         sessions, and prints the sign-in.",
    );
    page.text("## Other variables");
    page.table(
        ["variable", "default", "meaning"],
        &VARIABLES.map(|row| row.map(escaped)),
    );
    Ok(())
}

/// The endings of names for which `…_FILE` is read.
pub(super) fn secret_endings(sources: &Sources) -> Result<Vec<String>> {
    let function = sources.get_fn(SHARED, "from_file")?;
    let constants = function
        .block
        .stmts
        .iter()
        .filter_map(|statement| match statement {
            Stmt::Item(Item::Const(item)) if item.ident == "SECRET_ENDINGS" => texts(&item.expr),
            _ => None,
        });
    match constants.into_iter().next() {
        Some(endings) => Ok(endings),
        None => fail(format!("{SHARED}: from_file has no list SECRET_ENDINGS")),
    }
}

fn origins(sources: &Sources) -> Result<String> {
    let found = sources.find_const("standalone", "LOOPBACK_ORIGINS")?;
    match found.and_then(|(_, item)| texts(&item.expr)) {
        Some(origins) => Ok(format!("`{}`", origins.join(","))),
        None => fail("standalone: no list LOOPBACK_ORIGINS"),
    }
}

fn constant(sources: &Sources, of: &str, name: &str) -> Result<String> {
    let found = sources.find_const(of, name)?;
    match found.and_then(|(_, item)| text(&item.expr)) {
        Some(text) => Ok(text),
        None => fail(format!("{of}: no text {name}")),
    }
}
