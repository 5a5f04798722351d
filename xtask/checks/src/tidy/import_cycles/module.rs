//! What a file defines and names, read from its tokens, so that attributes and macro calls count, too.

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};
use std::collections::{HashMap, HashSet};
use xtask_kit::cmd::{Context as _, Result};

/// The segments of a path.
pub(super) type Path = Vec<String>;

/// A file as a module of its crate.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Its path from the root of the checkout.
    pub(super) file: String,
    /// Its module path from the root of the crate.
    pub(super) place: Path,
    /// The items defined here.
    pub(super) items: HashSet<String>,
    /// The paths that a `use` brings in, by their names here.
    pub(super) names: HashMap<String, Path>,
    /// The paths from which a `use` brings in everything.
    pub(super) globs: HashSet<Path>,
    /// The paths that are used here: all but those that are only re-exported.
    pub(super) used: HashSet<Path>,
    /// Child modules that are only for tests.
    pub(super) tests: HashSet<Path>,
}

/// Returns the module path of a file below `src`; `None` for tests.
pub(super) fn place(path: &str) -> Option<Path> {
    let path = path.strip_suffix(".rs")?;
    let mut place: Path = path.split('/').map(str::to_owned).collect();
    let last = place.pop()?;
    if last == "tests" || last.ends_with("_tests") {
        return None;
    }
    if last != "mod" && path != "lib" && path != "main" {
        place.push(last);
    }
    Some(place)
}

impl Module {
    pub(super) fn read(file: &str, place: Path, text: &str) -> Result<Self> {
        let stream: TokenStream = text.parse().context(|| file.to_owned())?;
        let mut tokens = Vec::new();
        flatten(stream, &mut tokens);
        let module = Self {
            file: file.to_owned(),
            place,
            ..Self::default()
        };
        let mut reader = Reader {
            tokens: &tokens,
            at: 0,
            module,
        };
        reader.read();
        Ok(reader.module)
    }

    /// Returns the path of a module below this one.
    pub(super) fn child(&self, name: &str) -> Path {
        let mut place = self.place.clone();
        place.push(name.to_owned());
        place
    }
}

struct Reader<'a> {
    tokens: &'a [String],
    at: usize,
    module: Module,
}

impl<'a> Reader<'a> {
    /// Returns the token at this offset from the current one.
    fn word(&self, offset: usize) -> &'a str {
        self.tokens.get(self.at + offset).map_or("", String::as_str)
    }

    fn read(&mut self) {
        let mut before = "";
        while self.at < self.tokens.len() {
            let word = self.word(0);
            match word {
                "#" if self.is_test() => self.skip_item(),
                // The path in a visibility imports nothing.
                "pub" if self.word(1) == "(" => {
                    self.at += 1;
                    self.skip_group();
                }
                "use" if self.word(1) != "<" => {
                    self.at += 1;
                    self.bring_in(&Vec::new(), before == "pub");
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" => {
                    self.module.items.insert(self.word(1).to_owned());
                    self.at += 1;
                }
                _ if is_name(word) && before != "." => {
                    let path = self.path();
                    self.module.used.insert(path);
                }
                _ => self.at += 1,
            }
            before = word;
        }
    }

    fn path(&mut self) -> Path {
        let mut path = vec![self.word(0).to_owned()];
        self.at += 1;
        while self.word(0) == "::" && is_name(self.word(1)) {
            path.push(self.word(1).to_owned());
            self.at += 2;
        }
        path
    }

    /// Reads the paths of a `use`, or of one part of it.
    fn bring_in(&mut self, prefix: &[String], is_passed_on: bool) {
        let mut path = prefix.to_vec();
        while self.at < self.tokens.len() {
            let word = self.word(0);
            self.at += 1;
            match word {
                "::" => {}
                "{" => {
                    while !matches!(self.word(0), "}" | "") {
                        self.bring_in(&path, is_passed_on);
                        self.at += usize::from(self.word(0) == ",");
                    }
                    self.at += 1;
                    return;
                }
                "*" => {
                    self.module.globs.insert(path.clone());
                    path.push("*".to_owned());
                    return self.imported(path, is_passed_on);
                }
                _ => {
                    path.push(word.to_owned());
                    if self.word(0) == "::" {
                        continue;
                    }
                    // `a::{self}` is `a`.
                    if path.len() > 1 {
                        path.pop_if(|last| last == "self");
                    }
                    let mut name = path.last().cloned().unwrap_or_default();
                    if self.word(0) == "as" {
                        name = self.word(1).to_owned();
                        self.at += 2;
                    }
                    self.module.names.insert(name, path.clone());
                    return self.imported(path, is_passed_on);
                }
            }
        }
    }

    fn imported(&mut self, path: Path, is_passed_on: bool) {
        if !is_passed_on {
            self.module.used.insert(path);
        }
    }

    /// Whether an item only for tests begins here.
    fn is_test(&self) -> bool {
        let words = ["#", "[", "cfg", "(", "test", ")"];
        words
            .iter()
            .enumerate()
            .all(|(at, word)| self.word(at) == *word)
    }

    /// Skips an attribute and the item below it.
    fn skip_item(&mut self) {
        self.at += 1;
        self.skip_group();
        while self.at < self.tokens.len() {
            match self.word(0) {
                "mod" => {
                    let child = self.module.child(self.word(1));
                    self.module.tests.insert(child);
                    self.at += 1;
                }
                "{" => return self.skip_group(),
                "(" | "[" => self.skip_group(),
                word => {
                    self.at += 1;
                    if word == ";" {
                        return;
                    }
                }
            }
        }
    }

    /// Skips the brackets that begin here, with their content.
    fn skip_group(&mut self) {
        let mut depth = 0;
        while self.at < self.tokens.len() {
            match self.word(0) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return;
            }
        }
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

fn flatten(stream: TokenStream, tokens: &mut Vec<String>) {
    let mut trees = stream.into_iter();
    while let Some(tree) = trees.next() {
        match tree {
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    Delimiter::Parenthesis => ["(", ")"],
                    Delimiter::Bracket => ["[", "]"],
                    Delimiter::Brace | Delimiter::None => ["{", "}"],
                };
                tokens.push(open.to_owned());
                flatten(group.stream(), tokens);
                tokens.push(close.to_owned());
            }
            TokenTree::Punct(punct) => match (punct.as_char(), punct.spacing()) {
                // The first half of `::` and `..`.
                (sign @ (':' | '.'), Spacing::Joint) => {
                    trees.next();
                    tokens.push([sign; 2].iter().collect());
                }
                // A lifetime.
                ('\'', _) => {
                    trees.next();
                }
                (sign, _) => tokens.push(sign.to_string()),
            },
            TokenTree::Ident(name) => tokens.push(name.to_string()),
            TokenTree::Literal(_) => tokens.push("\"\"".to_owned()),
        }
    }
}
