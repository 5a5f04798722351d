//! What serde's attributes make of names. An attribute that is not known here is a failure: it may change
//! what a key is called or how its value is written.

use super::source::text;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr};
use xtask_kit::cmd::{Result, fail};

/// Functions that read a value and change neither its name nor how it is written.
const READERS: [&str; 2] = ["read_url", "read_optional_url"];

/// What stands above a struct or an enum.
#[derive(Debug, Default)]
pub(super) struct Container {
    /// Whether fields that are not given have a default.
    pub(super) has_default: bool,
    pub(super) refuses_unknown: bool,
    rename_all: Option<String>,
}

/// What stands above a field or a variant.
#[derive(Debug, Default)]
pub(super) struct Member {
    pub(super) is_skipped: bool,
    rename: Option<String>,
}

impl Container {
    pub(super) fn read(attributes: &[Attribute], of: &str) -> Result<Self> {
        let mut container = Self::default();
        each(attributes, of, |meta| {
            if meta.path.is_ident("default") && is_word(meta) {
                container.has_default = true;
            } else if meta.path.is_ident("deny_unknown_fields") {
                container.refuses_unknown = true;
            } else if meta.path.is_ident("rename_all") {
                container.rename_all = Some(value(meta)?);
            } else {
                return Ok(false);
            }
            Ok(true)
        })?;
        Ok(container)
    }

    /// What a field or a variant is called in the configuration.
    pub(super) fn name(&self, member: &Member, ident: &str, of: &str) -> Result<String> {
        if let Some(name) = &member.rename {
            return Ok(name.clone());
        }
        let words = words(ident);
        match self.rename_all.as_deref() {
            None => Ok(ident.to_owned()),
            Some("lowercase") => Ok(words.concat()),
            Some("UPPERCASE") => Ok(words.concat().to_uppercase()),
            Some("snake_case") => Ok(words.join("_")),
            Some("SCREAMING_SNAKE_CASE") => Ok(words.join("_").to_uppercase()),
            Some("kebab-case") => Ok(words.join("-")),
            Some(other) => fail(format!("{of}: rename_all = {other:?} is not understood")),
        }
    }
}

impl Member {
    pub(super) fn read(attributes: &[Attribute], of: &str) -> Result<Self> {
        let mut member = Self::default();
        if attributes.iter().any(|it| it.path().is_ident("cfg")) {
            return fail(format!("{of}: whether it is there depends on the build"));
        }
        each(attributes, of, |meta| {
            if meta.path.is_ident("rename") {
                member.rename = Some(value(meta)?);
            } else if meta.path.is_ident("skip") {
                member.is_skipped = true;
            } else if meta.path.is_ident("deserialize_with") {
                return Ok(READERS.contains(&value(meta)?.as_str()));
            } else {
                return Ok(false);
            }
            Ok(true)
        })?;
        Ok(member)
    }
}

/// Hands each of serde's attributes to `known`, which says whether it is understood.
fn each(
    attributes: &[Attribute],
    of: &str,
    mut known: impl FnMut(&ParseNestedMeta<'_>) -> syn::Result<bool>,
) -> Result {
    for attribute in attributes.iter().filter(|it| it.path().is_ident("serde")) {
        let parsed = attribute.parse_nested_meta(|meta| match known(&meta)? {
            true => Ok(()),
            false => Err(meta.error("an attribute of serde that is not understood")),
        });
        if let Err(cause) = parsed {
            return fail(format!("{of}: {cause}"));
        }
    }
    Ok(())
}

fn value(meta: &ParseNestedMeta<'_>) -> syn::Result<String> {
    let value: Expr = meta.value()?.parse()?;
    text(&value).ok_or_else(|| meta.error("a text is expected"))
}

/// Whether the attribute stands alone, without `= …`.
fn is_word(meta: &ParseNestedMeta<'_>) -> bool {
    !meta.input.peek(syn::Token![=])
}

/// The words of a name, in lower case: `FreePlan` and `free_plan` have the same two.
fn words(ident: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut starts = true;
    for letter in ident.chars() {
        if letter == '_' {
            starts = true;
            continue;
        }
        let starts_now = starts || letter.is_uppercase();
        match words.last_mut() {
            Some(word) if !starts_now => word.extend(letter.to_lowercase()),
            _ => words.push(letter.to_lowercase().collect()),
        }
        starts = false;
    }
    words
}
