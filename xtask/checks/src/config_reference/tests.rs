use super::describe;
use super::keys::of_part;
use super::page::row;
use super::source::Sources;
use xtask_kit::env_vars;

const ATTRIBUTES: &str = "#[derive(Debug, Deserialize)]\n#[serde(default, deny_unknown_fields)]";

/// Returns the rows of a part with this source, or why there are none.
fn rows(text: &str) -> Result<Vec<[String; 4]>, String> {
    let text = text.replace("#config", ATTRIBUTES);
    let sources = Sources::parse(vec![("part", vec![text])]).map_err(|it| it.to_string())?;
    let keys = of_part(&sources, "part").map_err(|it| it.to_string())?;
    Ok(keys.keys.iter().map(|key| row(key, Some("PART"))).collect())
}

/// Returns a struct with one field, and its default.
fn one(field: &str, default: &str) -> String {
    format!(
        "#config struct Config {{ {field} }}\n\
         impl Default for Config {{ fn default() -> Self {{ {default} }} }}"
    )
}

#[test]
fn a_key_has_its_name_its_form_its_default_and_its_meaning() {
    let rows = rows(
        "#config pub struct Config {
             /// Where to
             /// listen.
             pub listen: SocketAddr,
             /// The group.
             pub group: Group,
             /// Which | way.
             pub way: bool,
         }
         impl Default for Config {
             fn default() -> Self {
                 Self {
                     listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 8_080)),
                     group: Group::default(),
                     way: true,
                 }
             }
         }
         #[derive(Default, Deserialize)]
         #[serde(default, deny_unknown_fields)]
         struct Group {
             /// A secret.
             keys_old: CommaList<SecretKey>,
             /// A size.
             bytes: Option<usize>,
         }",
    );
    let expected = [
        [
            "`PART__LISTEN`",
            "address:port",
            "`127.0.0.1:8080`",
            "Where to listen.",
        ],
        ["`PART__WAY`", "`true`, `false`", "`true`", "Which \\| way."],
        [
            "`PART__GROUP__KEYS_OLD`, `…_FILE`",
            "list: 32 bytes in base64, secret",
            "empty",
            "A secret.",
        ],
        ["`PART__GROUP__BYTES`", "number", "–", "A size."],
    ];
    assert_eq!(rows.unwrap(), expected.map(|row| row.map(str::to_owned)));
}

#[test]
fn a_default_is_computed_as_the_code_does() {
    let number = "/// N.\n n: u32";
    for (field, body, shown) in [
        (number, "Self { n: 64 * 1_024 }", "`65536`"),
        (number, "let n = 7; Self { n }", "`7`"),
        ("/// T.\n n: String", "Self { n: \"a\".to_owned() }", "`a`"),
        (
            "/// L.\n n: CommaList<String>",
            "let n = [\"a\", \"b\"]; Self { n: CommaList(n.map(str::to_owned).to_vec()) }",
            "`a,b`",
        ),
        (
            "/// O.\n n: Option<bool>",
            "Self { n: Some(true) }",
            "`true`",
        ),
    ] {
        let rows = rows(&one(field, body)).unwrap();
        assert_eq!(rows[0][2], shown, "{body}");
    }
}

#[test]
fn what_is_not_understood_is_a_failure_and_named() {
    let fine = "Self { n: 1 }";
    for (field, body, named) in [
        ("n: u32", fine, "no documentation"),
        ("/// See [`u32`].\n n: u32", fine, "links to code"),
        ("/// N.\n n: Duration", fine, "Duration"),
        (
            "/// N.\n n: BTreeMap<String, u32>",
            fine,
            "its type is not a name",
        ),
        ("/// N.\n n: Vec<String>", fine, "Vec"),
        (
            "/// N.\n #[serde(flatten)]\n n: u32",
            fine,
            "not understood",
        ),
        (
            "/// N.\n #[serde(deserialize_with = \"odd\")]\n n: u32",
            fine,
            "not understood",
        ),
        (
            "/// N.\n #[cfg(unix)]\n n: u32",
            fine,
            "depends on the build",
        ),
        ("/// N.\n n: u32", "Self { n: compute() }", "compute"),
        ("/// N.\n n: u32", "Self { n: N }", "the name N"),
        (
            "/// N.\n n: u32",
            "Self { ..Self::new() }",
            "all its fields",
        ),
        ("/// N.\n n: u32", "Self { m: 1 }", "no such field"),
        (
            "/// N.\n n: u32",
            "if true { } Self { n: 1 }",
            "other than `let`",
        ),
    ] {
        let refusal = rows(&one(field, body)).unwrap_err();
        assert!(refusal.contains(named), "{field} {body}: {refusal}");
    }
    let lax =
        "#[derive(Deserialize)]\n#[serde(default)]\nstruct Config {}\nimpl Default for Config {}";
    assert!(rows(lax).is_err());
}

#[test]
fn the_page_is_what_the_code_says() {
    let page = std::fs::read_to_string(env_vars::root().join(super::PAGE)).unwrap();
    let now = describe(&env_vars::root(), &page).unwrap_or_else(|cause| panic!("{cause}"));
    assert!(now == page, "cargo xtask config --write");
}
