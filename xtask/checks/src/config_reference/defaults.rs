//! The default of a configuration: `impl Default`, as far as this check can read such bodies.

use super::source::{Crate, Sources, derives, named};
use std::collections::BTreeMap;
use syn::{
    BinOp, Expr, ExprCall, ExprLit, ExprMethodCall, Lit, Member as FieldName, Pat, Stmt, Type,
};
use xtask_kit::cmd::{Result, fail};

/// A default. Numbers and switches are texts, as they would be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    Unset,
    Text(String),
    List(Vec<String>),
    Fields(Fields),
}

/// The fields of a struct, by their names in the code.
pub(super) type Fields = BTreeMap<String, Value>;

/// Returns the default of a struct.
pub(super) fn of_struct(sources: &Sources, from: &str, name: &str) -> Result<Fields> {
    let (part, item) = sources.get_struct(from, name)?;
    if derives(&item.attrs, "Default")? {
        let fields = item.fields.iter().map(|field| {
            let ident = field.ident.as_ref().map(ToString::to_string);
            Ok((
                ident.unwrap_or_default(),
                of_type(sources, part.name, &field.ty)?,
            ))
        });
        return fields.collect();
    }
    let Some(body) = part.default_body(name) else {
        return fail(format!("{}: {name} has no default", part.name));
    };
    let mut reader = Reader {
        sources,
        part,
        of: name,
        known: Fields::new(),
    };
    let Some((last, before)) = body.stmts.split_last() else {
        return fail(format!("{}: the default of {name} is empty", part.name));
    };
    for statement in before {
        reader.bind(statement)?;
    }
    match last {
        Stmt::Expr(Expr::Struct(made), None) if made.rest.is_none() => {
            let mut fields = Fields::new();
            for field in &made.fields {
                let FieldName::Named(ident) = &field.member else {
                    return reader.refuse("a field without a name");
                };
                let value = reader.value(&field.expr);
                fields.insert(ident.to_string(), value?);
            }
            Ok(fields)
        }
        _ => reader.refuse("an end that is not a struct with all its fields"),
    }
}

/// Returns the value that `Default` gives a type.
fn of_type(sources: &Sources, from: &str, ty: &Type) -> Result<Value> {
    let Some((name, _)) = named(ty) else {
        return fail(format!("{from}: a type that is not a name"));
    };
    match name.as_str() {
        "Option" => Ok(Value::Unset),
        "bool" => Ok(Value::Text("false".to_owned())),
        "u8" | "u16" | "u32" | "u64" | "usize" | "i64" => Ok(Value::Text("0".to_owned())),
        "String" => Ok(Value::Text(String::new())),
        "CommaList" | "Vec" => Ok(Value::List(Vec::new())),
        _ => of_struct(sources, from, &name).map(Value::Fields),
    }
}

/// Reads the body of a `default`.
struct Reader<'a> {
    sources: &'a Sources,
    part: &'a Crate,
    of: &'a str,
    /// The values that `let` has bound.
    known: Fields,
}

impl Reader<'_> {
    fn refuse<T>(&self, what: &str) -> Result<T> {
        let Self { part, of, .. } = self;
        fail(format!(
            "{}: the default of {of} has {what}, which this check cannot read",
            part.name
        ))
    }

    fn bind(&mut self, statement: &Stmt) -> Result {
        let Stmt::Local(local) = statement else {
            return self.refuse("a statement other than `let`");
        };
        let Some(init) = local.init.as_ref().filter(|init| init.diverge.is_none()) else {
            return self.refuse("a `let` without a value, or with `else`");
        };
        let value = self.value(&init.expr)?;
        match (&local.pat, value) {
            (Pat::Ident(name), value) => {
                self.known.insert(name.ident.to_string(), value);
            }
            (Pat::Struct(_), Value::Fields(fields)) => self.known.extend(fields),
            _ => return self.refuse("an unsupported `let`"),
        }
        Ok(())
    }

    fn value(&self, expr: &Expr) -> Result<Value> {
        match expr {
            Expr::Lit(ExprLit { lit, .. }) => match lit {
                Lit::Str(text) => Ok(Value::Text(text.value())),
                Lit::Bool(it) => Ok(Value::Text(it.value.to_string())),
                Lit::Int(it) => Ok(Value::Text(it.base10_digits().to_owned())),
                _ => self.refuse("an unsupported literal"),
            },
            Expr::Paren(inner) => self.value(&inner.expr),
            Expr::Binary(it) if matches!(it.op, BinOp::Mul(_)) => {
                let product = self.number(&it.left)?.checked_mul(self.number(&it.right)?);
                match product {
                    Some(product) => Ok(Value::Text(product.to_string())),
                    None => self.refuse("a number that is too large"),
                }
            }
            Expr::Array(array) => {
                let items = array.elems.iter().map(|item| self.text(item));
                items.collect::<Result<_>>().map(Value::List)
            }
            Expr::Path(path) => self.named(&path.path),
            Expr::Call(call) => self.call(call),
            Expr::MethodCall(call) => self.method(call),
            _ => self.refuse("an unsupported expression"),
        }
    }

    fn text(&self, expr: &Expr) -> Result<String> {
        match self.value(expr)? {
            Value::Text(text) => Ok(text),
            _ => self.refuse("no single value where one is expected"),
        }
    }

    fn number(&self, expr: &Expr) -> Result<u64> {
        match self.text(expr)?.parse() {
            Ok(number) => Ok(number),
            Err(_) => self.refuse("no number where one is expected"),
        }
    }

    fn named(&self, path: &syn::Path) -> Result<Value> {
        let (owner, name) = ends(path);
        match (owner.as_deref(), name.as_str()) {
            (None, "None") => Ok(Value::Unset),
            (Some("Ipv4Addr"), "LOCALHOST") => Ok(Value::Text("127.0.0.1".to_owned())),
            (None, name) => match self.known.get(name) {
                Some(value) => Ok(value.clone()),
                None => match self.sources.find_const(self.part.name, name)? {
                    Some((_, item)) => self.value(&item.expr),
                    None => self.refuse(&format!("the name {name}")),
                },
            },
            _ => self.refuse(&format!("the name {name}")),
        }
    }

    fn call(&self, call: &ExprCall) -> Result<Value> {
        let Expr::Path(func) = &*call.func else {
            return self.refuse("a call of something without a name");
        };
        let (owner, name) = ends(&func.path);
        let args: Vec<&Expr> = call.args.iter().collect();
        match (owner.as_deref(), name.as_str(), args.as_slice()) {
            (None, "Some" | "CommaList", [inner]) => self.value(inner),
            (Some("IpAddr"), "V4", [inner]) => self.value(inner),
            (Some("SocketAddr"), "new", [ip, port]) => self.address(ip, port),
            (Some("SocketAddr"), "from", [Expr::Tuple(pair)]) => {
                match pair.elems.iter().collect::<Vec<_>>().as_slice() {
                    [ip, port] => self.address(ip, port),
                    _ => self.refuse("an unsupported address"),
                }
            }
            (Some("CommaList" | "Vec"), "new" | "default", []) => Ok(Value::List(Vec::new())),
            (Some("String"), "new" | "default", []) => Ok(Value::Text(String::new())),
            (Some(owner), "default", []) => {
                of_struct(self.sources, self.part.name, owner).map(Value::Fields)
            }
            _ => self.refuse(&format!("a call of {name}")),
        }
    }

    fn address(&self, ip: &Expr, port: &Expr) -> Result<Value> {
        Ok(Value::Text(format!(
            "{}:{}",
            self.text(ip)?,
            self.number(port)?
        )))
    }

    /// Reads a method that makes an owned value of a borrowed one.
    fn method(&self, call: &ExprMethodCall) -> Result<Value> {
        let name = call.method.to_string();
        let args: Vec<&Expr> = call.args.iter().collect();
        match (name.as_str(), args.as_slice()) {
            ("to_owned" | "to_string" | "into" | "to_vec", []) => self.value(&call.receiver),
            ("map", [Expr::Path(func)]) if ends(&func.path).1 == "to_owned" => {
                self.value(&call.receiver)
            }
            _ => self.refuse(&format!("a call of {name}")),
        }
    }
}

/// Returns the last two names of a path.
fn ends(path: &syn::Path) -> (Option<String>, String) {
    let mut names = path.segments.iter().rev().map(|it| it.ident.to_string());
    let last = names.next().unwrap_or_default();
    (names.next(), last)
}
