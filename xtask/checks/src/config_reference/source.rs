//! The files that define the configuration's types, parsed.

use std::path::Path;
use syn::{Attribute, Expr, ExprLit, Item, ItemConst, ItemStruct, Lit, Meta, Type};
use xtask_kit::cmd::{Context, Result, fail};

/// The types of one crate, by the crate's folder.
pub(super) struct Crate {
    pub(super) name: &'static str,
    items: Vec<Item>,
}

/// All crates that are read. A type is looked up in the crate that names it, then in [`SHARED`].
pub(super) struct Sources(Vec<Crate>);

/// The crate whose types the others use.
pub(super) const SHARED: &str = "service-kit";

impl Sources {
    /// Reads `FOLDER/src/FILE` of each crate.
    pub(super) fn read(crates: &Path, files: &[(&'static str, &[&str])]) -> Result<Self> {
        let mut sources = Vec::new();
        for (name, paths) in files {
            let mut texts = Vec::new();
            for path in *paths {
                let path = crates.join(name).join("src").join(path);
                let text = std::fs::read_to_string(&path);
                texts.push(text.context(|| path.display().to_string())?);
            }
            sources.push((*name, texts));
        }
        Self::parse(sources)
    }

    /// Parses the texts of the files.
    pub(super) fn parse(texts: Vec<(&'static str, Vec<String>)>) -> Result<Self> {
        let mut crates = Vec::new();
        for (name, texts) in texts {
            let mut items = Vec::new();
            for text in texts {
                items.extend(syn::parse_file(&text).context(|| name.to_owned())?.items);
            }
            crates.push(Crate { name, items });
        }
        Ok(Self(crates))
    }

    /// Finds a struct, and the crate that defines it.
    pub(super) fn find_struct(
        &self,
        from: &str,
        name: &str,
    ) -> Result<Option<(&Crate, &ItemStruct)>> {
        self.find(from, name, |item| match item {
            Item::Struct(item) if item.ident == name => Some(item),
            _ => None,
        })
    }

    /// Returns a struct, and the crate that defines it; fails if there is none.
    pub(super) fn get_struct(&self, from: &str, name: &str) -> Result<(&Crate, &ItemStruct)> {
        match self.find_struct(from, name)? {
            Some(found) => Ok(found),
            None => fail(format!(
                "{from}: no struct {name} in the files that are read"
            )),
        }
    }

    /// Finds a constant, and the crate that defines it.
    pub(super) fn find_const(
        &self,
        from: &str,
        name: &str,
    ) -> Result<Option<(&Crate, &ItemConst)>> {
        self.find(from, name, |item| match item {
            Item::Const(item) if item.ident == name => Some(item),
            _ => None,
        })
    }

    /// Returns a function; fails if there is none. Methods are not found.
    pub(super) fn get_fn(&self, of: &str, name: &str) -> Result<&syn::ItemFn> {
        let found = self.find(of, name, |item| match item {
            Item::Fn(item) if item.sig.ident == name => Some(item),
            _ => None,
        })?;
        match found {
            Some((_, item)) => Ok(item),
            None => fail(format!(
                "{of}: no function {name} in the files that are read"
            )),
        }
    }

    fn find<'a, T>(
        &'a self,
        from: &str,
        name: &str,
        pick: impl Fn(&'a Item) -> Option<&'a T>,
    ) -> Result<Option<(&'a Crate, &'a T)>> {
        for wanted in [from, SHARED] {
            let Some(part) = self.0.iter().find(|part| part.name == wanted) else {
                continue;
            };
            let mut hits = part.items.iter().filter_map(&pick);
            match (hits.next(), hits.next()) {
                (Some(_), Some(_)) => {
                    return fail(format!("{wanted}: two items are called {name}"));
                }
                (Some(hit), None) => return Ok(Some((part, hit))),
                (None, _) => {}
            }
        }
        Ok(None)
    }
}

impl Crate {
    /// Returns the body of `impl Default for NAME`.
    pub(super) fn default_body(&self, name: &str) -> Option<&syn::Block> {
        self.items.iter().find_map(|item| match item {
            Item::Impl(it) if is_default_of(it, name) => {
                it.items.iter().find_map(|item| match item {
                    syn::ImplItem::Fn(it) if it.sig.ident == "default" => Some(&it.block),
                    _ => None,
                })
            }
            _ => None,
        })
    }
}

fn is_default_of(item: &syn::ItemImpl, name: &str) -> bool {
    let is_default = item
        .trait_
        .as_ref()
        .is_some_and(|(path, _)| path.is_ident("Default"));
    is_default && named(&item.self_ty).is_some_and(|(own, _)| own == name)
}

/// Returns the last name of a type, and the type in its angle brackets, if there is one.
pub(super) fn named(ty: &Type) -> Option<(String, Option<&Type>)> {
    let Type::Path(path) = ty else { return None };
    let last = path.path.segments.last()?;
    let inner = match &last.arguments {
        syn::PathArguments::None => None,
        syn::PathArguments::AngleBracketed(list) => match (list.args.first(), list.args.len()) {
            (Some(syn::GenericArgument::Type(inner)), 1) => Some(inner),
            _ => return None,
        },
        syn::PathArguments::Parenthesized(_) => return None,
    };
    Some((last.ident.to_string(), inner))
}

/// Whether the attributes of an item derive this name.
pub(super) fn derives(attributes: &[Attribute], name: &str) -> Result<bool> {
    let mut found = false;
    for attribute in attributes.iter().filter(|it| it.path().is_ident("derive")) {
        attribute.parse_nested_meta(|meta| {
            found |= meta.path.segments.last().is_some_and(|it| it.ident == name);
            Ok(())
        })?;
    }
    Ok(found)
}

/// Returns the documentation of an item as one line of Markdown. It must exist, and must not link to code, which is not on
/// the page.
pub(super) fn doc(attributes: &[Attribute], of: &str) -> Result<String> {
    let mut words = Vec::new();
    for attribute in attributes.iter().filter(|it| it.path().is_ident("doc")) {
        let Meta::NameValue(meta) = &attribute.meta else {
            return fail(format!("{of}: its documentation is not a comment"));
        };
        let Some(line) = text(&meta.value) else {
            return fail(format!("{of}: its documentation is not a comment"));
        };
        words.extend(line.split_whitespace().map(str::to_owned));
    }
    let line = words.join(" ");
    if line.is_empty() {
        return fail(format!("{of}: it has no documentation"));
    }
    if line.contains("[`") || line.contains("](") {
        return fail(format!(
            "{of}: its documentation links to code, which a page cannot follow"
        ));
    }
    Ok(line)
}

/// Returns the text of a string literal.
pub(super) fn text(value: &Expr) -> Option<String> {
    match value {
        Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) => Some(text.value()),
        _ => None,
    }
}
