//! The keys of a configuration, from its struct.

use super::defaults::{Fields, Value, of_struct};
use super::serde::{is_skipped, is_strict};
use super::source::{Sources, derives, doc, named};
use syn::Type;
use xtask_kit::cmd::{Result, fail};

/// A key, without its part's prefix.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Key {
    /// Its path in the file: `database`, `pool_size`.
    pub(super) path: Vec<String>,
    /// The form of its value.
    pub(super) form: String,
    pub(super) is_secret: bool,
    pub(super) default: Value,
    pub(super) meaning: String,
}

/// Tables that only the file can contain, any number of each: `[[identity.oauth_clients]]`.
pub(super) struct Tables {
    pub(super) path: Vec<String>,
    pub(super) meaning: String,
    pub(super) keys: Vec<Key>,
}

#[derive(Default)]
pub(super) struct Keys {
    pub(super) keys: Vec<Key>,
    pub(super) tables: Vec<Tables>,
}

/// Returns the keys of a part, whose struct is called `Config`.
pub(super) fn of_part(sources: &Sources, part: &str) -> Result<Keys> {
    let mut keys = Keys::default();
    let defaults = of_struct(sources, part, "Config")?;
    let root = Place {
        from: part,
        name: "Config",
        path: Vec::new(),
    };
    collect(sources, &root, &defaults, &mut keys)?;
    Ok(keys)
}

/// A struct, and the path of its keys.
struct Place<'a> {
    from: &'a str,
    name: &'a str,
    path: Vec<String>,
}

/// What the type of a field says about its key.
enum Kind {
    Single { form: String, is_secret: bool },
    Group(String),
    Tables(String),
}

/// Collects a struct's own keys, then those of the structs in it.
fn collect(sources: &Sources, place: &Place<'_>, defaults: &Fields, keys: &mut Keys) -> Result {
    let (part, item) = sources.get_struct(place.from, place.name)?;
    let of = format!("{}: {}", part.name, place.name);
    if !derives(&item.attrs, "Deserialize")? || !is_strict(&item.attrs, &of)? {
        return fail(format!(
            "{of}: a configuration struct must derive Deserialize and have #[serde(default, deny_unknown_fields)]"
        ));
    }
    let mut groups = Vec::new();
    for field in &item.fields {
        let Some(ident) = field.ident.as_ref().map(ToString::to_string) else {
            return fail(format!("{of}: a field has no name"));
        };
        let of = format!("{of}.{ident}");
        if is_skipped(&field.attrs, &of)? {
            continue;
        }
        let mut path = place.path.clone();
        path.push(ident.clone());
        let Some(default) = defaults.get(&ident) else {
            return fail(format!("{of}: the default has no such field"));
        };
        let meaning = doc(&field.attrs, &of)?;
        match kind(sources, part.name, &field.ty, &of)? {
            Kind::Single { form, is_secret } => {
                let default = default.clone();
                keys.keys.push(Key {
                    path,
                    form,
                    is_secret,
                    default,
                    meaning,
                });
            }
            Kind::Group(name) => groups.push((name, path, default)),
            Kind::Tables(name) => {
                let defaults = of_struct(sources, part.name, &name)?;
                let place = Place {
                    from: part.name,
                    name: &name,
                    path: Vec::new(),
                };
                let (_, item) = sources.get_struct(part.name, &name)?;
                let meaning = doc(&item.attrs, &name)?;
                let mut inside = Keys::default();
                collect(sources, &place, &defaults, &mut inside)?;
                if !inside.tables.is_empty() {
                    return fail(format!("{of}: tables in tables are not supported"));
                }
                keys.tables.push(Tables {
                    path,
                    meaning,
                    keys: inside.keys,
                });
            }
        }
    }
    for (name, path, default) in groups {
        let Value::Fields(defaults) = default else {
            return fail(format!(
                "{of}: the default of {} is not a struct",
                path.join(".")
            ));
        };
        collect(
            sources,
            &Place {
                from: part.name,
                name: &name,
                path,
            },
            defaults,
            keys,
        )?;
    }
    Ok(())
}

fn kind(sources: &Sources, from: &str, ty: &Type, of: &str) -> Result<Kind> {
    let Some((name, inner)) = named(ty) else {
        return fail(format!("{of}: its type is not a name"));
    };
    match (name.as_str(), inner) {
        ("Option", Some(inner)) => return kind(sources, from, inner, of),
        ("CommaList", Some(inner)) => {
            return match kind(sources, from, inner, of)? {
                Kind::Single { form, is_secret } => Ok(Kind::Single {
                    form: format!("list: {form}"),
                    is_secret,
                }),
                Kind::Group(_) | Kind::Tables(_) => {
                    fail(format!("{of}: a list of structs is not supported"))
                }
            };
        }
        ("Vec", Some(inner)) => {
            return match kind(sources, from, inner, of)? {
                Kind::Group(name) => Ok(Kind::Tables(name)),
                Kind::Single { .. } | Kind::Tables(_) => fail(format!(
                    "{of}: a Vec of single values, which the environment cannot set"
                )),
            };
        }
        (_, Some(_)) => return fail(format!("{of}: the type {name}<…> is not supported")),
        (_, None) => {}
    }
    if let Some((form, is_secret)) = single(&name) {
        return Ok(Kind::Single {
            form: form.to_owned(),
            is_secret,
        });
    }
    match sources.find_struct(from, &name)? {
        Some(_) => Ok(Kind::Group(name)),
        None => fail(format!(
            "{of}: the type {name} is unknown; add the file that defines it, or the form of its values, in \
             xtask/checks/src/config_reference"
        )),
    }
}

/// Returns the form of a type's values, and whether they are secret.
fn single(name: &str) -> Option<(&'static str, bool)> {
    Some(match name {
        "bool" => ("`true`, `false`", false),
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => ("number", false),
        "String" => ("text", false),
        "SocketAddr" => ("address:port", false),
        "Url" => ("URL", false),
        "PathBuf" => ("path", false),
        "IpNet" => ("network", false),
        "DatabaseUrl" => ("URL, secret", true),
        "SecretText" => ("text, secret", true),
        "SecretKey" => ("32 bytes in base64, secret", true),
        _ => return None,
    })
}
