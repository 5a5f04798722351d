use super::*;

fn complaints(files: &[(&str, &str)]) -> Vec<String> {
    let source = |(path, text): &(&str, &str)| Source {
        path: format!("crates/a/src/{path}"),
        text: (*text).to_owned(),
    };
    let files: Vec<Source> = files.iter().map(source).collect();
    check(&graphs(&files).expect("Rust"))
}

const FOUR: [(&str, &str); 5] = [
    ("lib.rs", "mod a; mod b; mod c; mod d;"),
    ("a.rs", "use crate::b::B; pub struct A(B);"),
    ("b.rs", "pub struct B; fn f() { crate::c::run(); }"),
    ("c.rs", "use super::d; pub fn run() { d::go(vec![1]) }"),
    (
        "d.rs",
        "#[x(crate::a::A)] struct D; pub fn go() { vec![super::b::B]; }",
    ),
];

#[test]
fn a_circle_of_four_files_is_told_by_its_shortest_way() {
    let found = complaints(&FOUR);
    assert_eq!(
        found,
        ["4 files import each other, at most 3; the shortest cycle:\
          \n    crates/a/src/b.rs names crate::c::run of crates/a/src/c.rs\
          \n    crates/a/src/c.rs names d::go of crates/a/src/d.rs\
          \n    crates/a/src/d.rs names super::b::B of crates/a/src/b.rs"]
    );
}

#[test]
fn a_circle_of_three_files_and_what_only_tests_import_is_no_complaint() {
    let three = FOUR.map(|(path, text)| match path {
        "d.rs" => (
            path,
            "#[cfg(test)] mod tests { use crate::a::A; } pub fn go() { crate::b::f(); }",
        ),
        _ => (path, text),
    });
    assert!(complaints(&three).is_empty());
    let tests = FOUR.map(|(path, text)| match path {
        "lib.rs" => (path, "mod a; mod b; mod c; #[cfg(test)] mod d;"),
        _ => (path, text),
    });
    assert!(complaints(&tests).is_empty());
}

#[test]
fn what_is_passed_on_is_followed_to_where_it_is_written() {
    // Each child needs `Thing`, which `a/mod.rs` re-exports. None needs anything defined in `a/mod.rs`.
    let facade = [
        ("lib.rs", "mod a; pub use a::{Thing, go as went};"),
        (
            "a/mod.rs",
            "mod b; mod c; mod d; pub(crate) use b::Thing; pub(crate) use c::*; pub use d::{go};",
        ),
        ("a/b.rs", "pub struct Thing;"),
        ("a/c.rs", "use super::Thing; pub fn f(_: Thing) {}"),
        (
            "a/d.rs",
            "use crate::a::f; pub fn go(_: crate::Thing) { f() }",
        ),
    ];
    assert!(complaints(&facade).is_empty());
    // Now the code of `a/mod.rs` calls the children, and they need what it defines.
    let wiring = facade.map(|(path, text)| match path {
        "a/mod.rs" => (
            path,
            "mod b; mod c; mod d; pub use d::go; pub fn own() { b::x(); c::f(); go(); }",
        ),
        "a/b.rs" => (path, "pub fn x() { super::own() }"),
        "a/c.rs" => (path, "use crate::a; pub fn f() { a::own() }"),
        "a/d.rs" => (path, "pub fn go() { X { ..crate::a::own() } }"),
        _ => (path, text),
    });
    let found = complaints(&wiring);
    assert!(found[0].starts_with("4 files"), "{found:?}");
}
