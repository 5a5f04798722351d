//! What serde's attributes say. One that is not known here is a failure: it may change what a key is called or how its
//! value is written.

use super::source::text;
use syn::meta::ParseNestedMeta;
use syn::{Attribute, Expr};
use xtask_kit::cmd::{Result, fail};

/// Functions that read a value and change neither its name nor how it is written.
const READERS: [&str; 2] = ["read_url", "read_optional_url"];

/// Whether fields of a struct that are not given have a default, and others than its own are refused.
pub(super) fn is_strict(attributes: &[Attribute], of: &str) -> Result<bool> {
    let (mut has_default, mut refuses_unknown) = (false, false);
    each(attributes, of, |meta| {
        // `default = …` is something else.
        has_default |= meta.path.is_ident("default") && !meta.input.peek(syn::Token![=]);
        refuses_unknown |= meta.path.is_ident("deny_unknown_fields");
        Ok(meta.path.is_ident("default") || meta.path.is_ident("deny_unknown_fields"))
    })?;
    Ok(has_default && refuses_unknown)
}

/// Whether a field is no key.
pub(super) fn is_skipped(attributes: &[Attribute], of: &str) -> Result<bool> {
    let mut is_skipped = false;
    if attributes.iter().any(|it| it.path().is_ident("cfg")) {
        return fail(format!("{of}: whether it is there depends on the build"));
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
