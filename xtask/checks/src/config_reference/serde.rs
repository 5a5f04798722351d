//! The attributes of serde. An unknown one is a failure, because it may change the name of a key or the form of its
//! value.

use super::source::text;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr};
use xtask_kit::cmd::{Result, fail};

/// Functions that read a value and change neither its name nor its form.
const READERS: [&str; 2] = ["read_url", "read_optional_url"];

/// Whether missing fields of a struct have a default, and unknown fields are rejected.
pub(super) fn is_strict(attributes: &[Attribute], of: &str) -> Result<bool> {
    let (mut has_default, mut refuses_unknown) = (false, false);
    each(attributes, of, |meta| {
        // `default = …` has another meaning.
        has_default |= meta.path.is_ident("default") && !meta.input.peek(syn::Token![=]);
        refuses_unknown |= meta.path.is_ident("deny_unknown_fields");
        Ok(meta.path.is_ident("default") || meta.path.is_ident("deny_unknown_fields"))
    })?;
    Ok(has_default && refuses_unknown)
}

/// Whether a field is not a key.
pub(super) fn is_skipped(attributes: &[Attribute], of: &str) -> Result<bool> {
    let mut is_skipped = false;
    if attributes.iter().any(|it| it.path().is_ident("cfg")) {
        return fail(format!("{of}: whether it exists depends on the build"));
    }
    each(attributes, of, |meta| {
        is_skipped |= meta.path.is_ident("skip");
        if meta.path.is_ident("deserialize_with") {
            let reader: Expr = meta.value()?.parse()?;
            return Ok(text(&reader).is_some_and(|name| READERS.contains(&name.as_str())));
        }
        Ok(meta.path.is_ident("skip"))
    })?;
    Ok(is_skipped)
}

/// Passes each attribute of serde to `known`, which returns whether it is understood.
fn each(
    attributes: &[Attribute],
    of: &str,
    mut known: impl FnMut(&ParseNestedMeta<'_>) -> syn::Result<bool>,
) -> Result {
    for attribute in attributes.iter().filter(|it| it.path().is_ident("serde")) {
        let parsed = attribute.parse_nested_meta(|meta| match known(&meta)? {
            true => Ok(()),
            false => Err(meta.error("a serde attribute that is not understood")),
        });
        if let Err(cause) = parsed {
            return fail(format!("{of}: {cause}"));
        }
    }
    Ok(())
}
