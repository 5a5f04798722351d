use std::future::{Ready, ready};
use std::str::FromStr;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest, web};
use serde::de::DeserializeOwned;

use crate::Problem;

/// The variable segments of the path, each read with `FromStr`.
///
/// A segment that does not read answers 404: what cannot be a name or an id names nothing.
///
/// ```text
/// async fn get_user(Path((id,)): Path<(UserId,)>) -> …
/// ```
#[derive(Debug)]
pub struct Path<T>(pub T);

/// Reads a tuple from path segments; implemented for one and two of them.
pub trait FromSegments: Sized {
    /// The tuple, when there are as many segments as it has places and each reads.
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
        // actix decodes the percent escapes and refuses what is no UTF-8.
        let segments = web::Path::<Vec<String>>::from_request(req, payload).into_inner();
        let value = segments
            .ok()
            .filter(|all| !all.iter().any(|text| text.contains('\0')))
            .and_then(|all| T::from_segments(&all));
        ready(value.map(Self).ok_or_else(Problem::not_found))
    }
}

/// The query string, read with serde; 400 when it does not fit.
#[derive(Debug)]
pub struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequest for Query<T> {
    type Error = Problem;
    type Future = Ready<Result<Self, Problem>>;

    fn from_request(req: &HttpRequest, _payload: &mut Payload) -> Self::Future {
        let refused = || Problem::bad_request("The query parameters do not fit");
        let query = req.query_string();
        if query.contains("%00") || query.contains('\0') {
            return ready(Err(refused()));
        }
        ready(
            web::Query::<T>::from_query(query)
                .map(|query| Self(query.into_inner()))
                .map_err(|_| refused()),
        )
    }
}
