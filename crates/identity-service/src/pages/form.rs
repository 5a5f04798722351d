//! What a form of our pages sends, once it is sure that it came from one.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use service_kit::http::Unread;
use web_kit::form;

use super::visitor::{Administrator, Member, Visitor};

/// A form of one of our pages, and who sent it. Absent text fields read as empty ones only where the shape
/// says so with `#[serde(default)]`.
pub(crate) struct Form<T> {
    pub(crate) visitor: Visitor,
    pub(crate) fields: T,
}

/// A form without fields of its own.
#[derive(Deserialize)]
pub(crate) struct Empty {}

impl<T: DeserializeOwned + 'static> FromRequest for Form<T> {
    type Error = actix_web::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Self::Error>>>>;

    fn from_request(req: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let req = req.clone();
        let body = Unread::from_request(&req, payload);
        Box::pin(async move {
            let visitor = Visitor::of(&req).await?;
            form::check_site(req.headers())?;
            let Ok(body) = body.await;
            let bytes = form::read(body).await?;
            form::check_token(&visitor.form_token(), form::token_in(&bytes).as_deref())?;
            let fields = form::fields(&bytes)?;
            Ok(Self { visitor, fields })
        })
    }
}

impl<T> Form<T> {
    /// The form as one of somebody who is signed in.
    ///
    /// # Errors
    /// The way to the sign-in page.
    pub(crate) fn by_member(self) -> Result<(Member, T), actix_web::Error> {
        Ok((Member::new(self.visitor)?, self.fields))
    }

    /// The form as an administrator's.
    ///
    /// # Errors
    /// As for a page of administration.
    pub(crate) async fn by_administrator(self) -> Result<(Administrator, T), actix_web::Error> {
        let (member, fields) = self.by_member()?;
        Ok((Administrator::new(member).await?, fields))
    }
}
