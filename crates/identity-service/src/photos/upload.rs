//! Reads a photo from a request: the body itself, or the form field `photo`.

use std::cell::Cell;
use std::rc::Rc;

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use actix_web::web::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use service_kit::Problem;
use service_kit::http::UnreadBody;
use web_kit::form::CSRF_FIELD;

use crate::error::Error;
use crate::photos::processor::too_many_bytes;

const FIELD: &str = "photo";
/// The maximum size of a page's CSRF token, in bytes. Ours are shorter.
const MAX_TOKEN_BYTES: usize = 256;
/// How many bytes a form may have besides the photo.
const FORM_EXTRA: usize = 64 * 1024;

/// The fields of a page's form.
pub(crate) struct PhotoUpload {
    /// Empty if no file was chosen: browsers then send an empty one.
    pub(crate) photo: Option<Bytes>,
    pub(crate) csrf: Option<String>,
}

/// Reads the photo and the CSRF token of a page's form. Fails with `photo_too_large` beyond `limit` bytes.
pub(crate) async fn read_form(body: UnreadBody, limit: usize) -> Result<PhotoUpload, Problem> {
    read_fields(body, limit)
        .await
        .map_err(|problem| in_own_words(problem, limit))
}

/// Reads the photo of a request. Fails with `photo_too_large` beyond `limit` bytes.
pub(super) async fn read(body: UnreadBody, limit: usize) -> Result<Bytes, Problem> {
    let content_type = body.headers().get(CONTENT_TYPE);
    let is_form = content_type
        .and_then(|value| value.to_str().ok())
        .is_some_and(|value| {
            value
                .trim_start()
                .to_ascii_lowercase()
                .starts_with("multipart/")
        });
    if !is_form {
        let file = body.bytes(limit).await;
        return file.map_err(|problem| in_own_words(problem, limit));
    }
    let sent = read_form(body, limit).await?;
    sent.photo
        .ok_or_else(|| Problem::from(&Error::Validation("the form has no field photo".into())))
}

fn in_own_words(problem: Problem, limit: usize) -> Problem {
    match problem.code {
        "payload_too_large" => Problem::from(&too_many_bytes(limit)),
        _ => problem,
    }
}

async fn read_fields(body: UnreadBody, limit: usize) -> Result<PhotoUpload, Problem> {
    let headers = body.headers().clone();
    let (payload, patience) = body.into_stream(limit + FORM_EXTRA)?;
    // The parser skips fields that nobody reads, without limit.
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
    let announced = headers.get(CONTENT_LENGTH);
    let announced = announced.and_then(|value| value.to_str().ok()?.parse().ok());
    let room = limit.min(announced.unwrap_or(limit));
    tokio::time::timeout(patience, fields_of(form, limit, room))
        .await
        .unwrap_or_else(|_| Err(Problem::too_slow()))
}

/// Reads the fields of a form. The photo gets `room` bytes at once: a growing buffer takes up to three times as much.
async fn fields_of(mut form: Multipart, limit: usize, room: usize) -> Result<PhotoUpload, Problem> {
    let (mut photo, mut csrf) = (None, None);
    while let Some(field) = form.next().await {
        let field = field.map_err(|error| refused(&error, limit))?;
        match field.name() {
            Some(FIELD) => {
                let file = whole(field, limit, room).await?;
                if photo.replace(file).is_some() {
                    return Err(Problem::bad_request("The form has more than one photo"));
                }
            }
            Some(CSRF_FIELD) => {
                let token = whole(field, MAX_TOKEN_BYTES, 0).await?;
                csrf = String::from_utf8(token.to_vec()).ok();
            }
            _ => {}
        }
    }
    Ok(PhotoUpload { photo, csrf })
}

async fn whole(mut field: Field, limit: usize, room: usize) -> Result<Bytes, Problem> {
    let mut file = BytesMut::with_capacity(room);
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
