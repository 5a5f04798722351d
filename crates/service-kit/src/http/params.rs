use std::future::{Ready, ready};
use std::str::FromStr;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};
use serde::de::DeserializeOwned;
use url::form_urlencoded;

use crate::Problem;

/// The variable segments of the path, each parsed with `FromStr`.
///
/// A segment that cannot be parsed results in 404: what cannot be a name or an id names nothing.
///
/// ```text
/// async fn get_user(Path((id,)): Path<(UserId,)>) -> …
/// ```
#[derive(Debug)]
pub struct Path<T>(pub T);

/// A tuple that is parsed from path segments; implemented for one and two of them.
pub trait FromSegments: Sized {
    /// Parses the tuple, if there are as many segments as it has fields and each one parses.
    fn from_segments(segments: &[String]) -> Option<Self>;
}

impl<A: FromStr> FromSegments for (A,) {
    fn from_segments(segments: &[String]) -> Option<Self> {
        match segments {
            [a] => Some((a.parse().ok()?,)),
            _ => None,
        }
    }
}

impl<A: FromStr, B: FromStr> FromSegments for (A, B) {
    fn from_segments(segments: &[String]) -> Option<Self> {
        match segments {
            [a, b] => Some((a.parse().ok()?, b.parse().ok()?)),
            _ => None,
        }
    }
}

impl<T: FromSegments> FromRequest for Path<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        // actix decodes the percent escapes and rejects invalid UTF-8.
        let segments = web::Path::<Vec<String>>::from_request(req, payload).into_inner();
        let value = segments
            .ok()
            .filter(|all| !all.iter().any(|text| text.contains('\0')))
            .and_then(|all| T::from_segments(&all));
        ready(value.map(Self).ok_or_else(Problem::not_found))
    }
}

/// The query string, parsed with serde. If it does not fit, the response is 400 with a sentence that names the parameter.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> Query<T> {
    /// Parses a query string. An empty `cursor` counts as absent, unless there is another one: it asks for the first page.
    ///
    /// # Errors
    /// 400 when a parameter is missing, is given twice, or does not fit.
    pub fn read(query: &str) -> Result<Self, Problem> {
        let names = form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
        let is_repeated = names.filter(|name| name == "cursor").count() > 1;
        let pairs = query.split('&');
        let without = pairs.filter(|pair| is_repeated || *pair != "cursor=");
        let query = &without.collect::<Vec<_>>().join("&");
        let parse = |query: &str| web::Query::<T>::from_query(query).map(web::Query::into_inner);
        let reason = |query: &str| parse(query).err().map(|error| error.to_string());
        let pairs = || form_urlencoded::parse(query.as_bytes());
        if pairs().any(|(name, value)| name.contains('\0') || value.contains('\0')) {
            let culprit = pairs().find(|(_, value)| value.contains('\0'));
            let name = culprit.map_or_else(Default::default, |(name, _)| name);
            return Err(parameter_error(&name, "must not contain the NUL character"));
        }
        let error = match parse(query) {
            Ok(value) => return Ok(Self(value)),
            Err(error) => error.to_string(),
        };
        if let Some(name) = quoted(&error, "duplicate field `") {
            return Err(parameter_error(name, "is given twice"));
        }
        // serde does not say which value fails: it is the one that also fails alone.
        let alone = pairs().find_map(|(name, value)| {
            let pair = form_urlencoded::Serializer::new(String::new())
                .append_pair(&name, &value)
                .finish();
            let reason = reason(&pair)?;
            quoted(&reason, "missing field `")
                .is_none()
                .then(|| parameter_error(&name, wanted(&reason)))
        });
        let missing = || match quoted(&error, "missing field `") {
            Some(name) => parameter_error(name, "is missing"),
            None => Problem::bad_request("The query parameters are invalid"),
        };
        Err(alone.unwrap_or_else(missing))
    }
}

impl<T: DeserializeOwned> FromRequest for Query<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(req: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        ready(Self::read(req.query_string()))
    }
}

fn parameter_error(name: &str, reason: &str) -> Problem {
    Problem::bad_request(match name {
        "" => format!("A query parameter {reason}"),
        name => format!("The parameter {name} {reason}"),
    })
}

/// Returns the text between `before` and the next back quote.
fn quoted<'a>(error: &'a str, before: &str) -> Option<&'a str> {
    let (_, rest) = error.split_once(before)?;
    rest.split_once('`').map(|(name, _)| name)
}

/// Returns what a value must be, according to serde's message. It never repeats the value.
fn wanted(reason: &str) -> &'static str {
    const NUMBER: [&str; 5] = [
        "invalid digit",
        "cannot parse integer",
        "number too large",
        "number too small",
        "number would be zero",
    ];
    if NUMBER.iter().any(|start| reason.contains(start)) {
        "must be a whole number"
    } else if reason.contains("`true` or `false`") {
        "must be true or false"
    } else {
        "is invalid"
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::Query;

    #[derive(Deserialize)]
    struct Wanted {
        #[expect(dead_code, reason = "only read")]
        team: String,
        #[expect(dead_code, reason = "only read")]
        limit: Option<i64>,
        #[expect(dead_code, reason = "only read")]
        archived: Option<bool>,
        #[expect(dead_code, reason = "only read")]
        cursor: Option<String>,
    }

    #[test]
    fn a_refusal_names_the_parameter_and_never_its_value() {
        const NOT_A_NUMBER: &str = "The parameter limit must be a whole number";
        for (query, sentence) in [
            (
                "team=a&limit=1&limit=2",
                "The parameter limit is given twice",
            ),
            ("team=a&team=a", "The parameter team is given twice"),
            (
                "team=a&cursor=&cursor=x",
                "The parameter cursor is given twice",
            ),
            (
                "c%75rsor=x&team=a&cursor=",
                "The parameter cursor is given twice",
            ),
            ("team=a&limit=x", NOT_A_NUMBER),
            ("team=a&limit=", NOT_A_NUMBER),
            ("team=a&limit=99999999999999999999", NOT_A_NUMBER),
            ("limit=x", NOT_A_NUMBER),
            (
                "archived=maybe&team=a",
                "The parameter archived must be true or false",
            ),
            ("", "The parameter team is missing"),
            (
                "team=%00",
                "The parameter team must not contain the NUL character",
            ),
            (
                "team=a&%00=b",
                "A query parameter must not contain the NUL character",
            ),
        ] {
            let refused = Query::<Wanted>::read(query).err();
            assert_eq!(refused.unwrap().message, sentence, "{query}");
        }
        for good in [
            "team=a",
            "team=a&cursor=",
            "team=a&limit=-1&archived=true",
            "team=&x=1&x=2",
        ] {
            assert!(Query::<Wanted>::read(good).is_ok(), "{good}");
        }
    }
}
