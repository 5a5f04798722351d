//! Reads the file out of a request: the body itself, or a form's field `photo`.

use std::cell::Cell;
use std::rc::Rc;

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::http::header::CONTENT_TYPE;
use actix_web::web::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use service_kit::Problem;
use service_kit::http::Unread;

use super::darkroom::too_many_bytes;
use crate::error::Error;

const FIELD: &str = "photo";
/// What a form may hold besides the photo.
const FORM_EXTRA: usize = 64 * 1024;

/// The file that a request brings; 413 beyond `limit` bytes, in the photo's own words.
pub(super) async fn read(body: Unread, limit: usize) -> Result<Bytes, Problem> {
    let content_type = body.headers().get(CONTENT_TYPE);
    let is_form = content_type
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| {
            value
                .trim_start()
                .to_ascii_lowercase()
                .starts_with("multipart/")
        });
    let file = if is_form {
        read_form(body, limit).await
    } else {
        body.bytes(limit).await
    };
    file.map_err(|problem| {
        if problem.code == "payload_too_large" {
            Problem::from(&too_many_bytes())
        } else {
            problem
        }
    })
}

async fn read_form(body: Unread, limit: usize) -> Result<Bytes, Problem> {
    let headers = body.headers().clone();
    let (payload, patience) = body.into_stream();
    // The parser skips what nobody asks for without end.
    let left = Rc::new(Cell::new(limit + FORM_EXTRA));
    let counted = {
        let left = Rc::clone(&left);
        payload.map(move |chunk| {
            let chunk = chunk?;
            let rest = left.get().checked_sub(chunk.len());
            left.set(rest.unwrap_or(0));
            rest.map(|_| chunk)
                .ok_or(actix_web::error::PayloadError::Overflow)
        })
    };
    let form = Multipart::new(&headers, counted);
    tokio::time::timeout(patience, photo_of(form, limit))
        .await
        .unwrap_or_else(|_| Err(Problem::too_slow()))
}

async fn photo_of(mut form: Multipart, limit: usize) -> Result<Bytes, Problem> {
    let mut photo = None;
    while let Some(field) = form.next().await {
        let field = field.map_err(|error| refused(&error, limit))?;
        if field.name() != Some(FIELD) {
            continue;
        }
        let file = whole(field, limit).await?;
        if photo.replace(file).is_some() {
            return Err(Problem::bad_request("The form has more than one photo"));
        }
    }
    photo.ok_or_else(|| {
        Problem::from(&Error::Validation(
            "the form has no field with the name photo".into(),
        ))
    })
}

async fn whole(mut field: Field, limit: usize) -> Result<Bytes, Problem> {
    let mut file = BytesMut::new();
    while let Some(chunk) = field.next().await {
        let chunk = chunk.map_err(|error| refused(&error, limit))?;
        if file.len() + chunk.len() > limit {
            return Err(Problem::payload_too_large(limit));
        }
        file.extend_from_slice(&chunk);
    }
    Ok(file.freeze())
}

fn refused(error: &MultipartError, limit: usize) -> Problem {
    match error {
        MultipartError::Payload(actix_web::error::PayloadError::Overflow) => {
            Problem::payload_too_large(limit)
        }
        _ => Problem::bad_request("The form could not be read"),
    }
}
