use std::marker::PhantomData;
use std::ops::Deref;
use std::sync::Arc;

use actix_web::dev::Payload;
use actix_web::http::header::AUTHORIZATION;
use actix_web::{FromRequest, HttpMessage as _, HttpRequest, web};
use auth_types::bearer_token;
use futures_util::future::LocalBoxFuture;
use service_kit::Problem;
use service_kit::http::RequestId;

use super::{AuthFailure, CurrentUser, RequiredScope, SessionsRead};
use crate::app_state::AppState;
use crate::error::Error;

/// The authenticated user, whose token has the scope `S`. A missing or invalid token is 401 "Authentication required",
/// unless the scope defines another error. A token without the scope is 403.
#[derive(Debug, Clone)]
pub(crate) struct Caller<S> {
    user: Arc<CurrentUser>,
    scope: PhantomData<S>,
}

impl<S> Deref for Caller<S> {
    type Target = CurrentUser;

    fn deref(&self) -> &CurrentUser {
        &self.user
    }
}

impl<S> From<Caller<S>> for Arc<CurrentUser> {
    fn from(caller: Caller<S>) -> Self {
        caller.user
    }
}

impl<S: RequiredScope> FromRequest for Caller<S> {
    type Error = Error;
    type Future = LocalBoxFuture<'static, Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        Box::pin(async move {
            let user = authenticate(&request).await.map_err(S::error_for)?;
            if !S::is_granted_to(&user) {
                return Err(Error::InsufficientScope);
            }
            request.extensions_mut().insert(Arc::clone(&user));
            Ok(Self {
                user,
                scope: PhantomData,
            })
        })
    }
}

/// Authenticates the caller again after a slow body; see [`SlowBodyCheck`](service_kit::http::SlowBodyCheck). If the
/// caller's rights have changed, the client must send the request again.
pub(crate) fn recheck_caller(request: HttpRequest) -> LocalBoxFuture<'static, Result<(), Problem>> {
    Box::pin(async move {
        let before = request.extensions().get::<Arc<CurrentUser>>().cloned();
        // A request without a caller yet is authenticated after its body has arrived.
        let Some(before) = before else { return Ok(()) };
        match authenticate(&request).await {
            Ok(now) if now == before => Ok(()),
            Ok(_) => Err(Problem::too_slow()),
            // Every scope of an endpoint with a body maps a failure to the same error.
            Err(failure) => Err((&SessionsRead::error_for(failure)).into()),
        }
    })
}

async fn authenticate(request: &HttpRequest) -> Result<Arc<CurrentUser>, AuthFailure> {
    let state = request
        .app_data::<web::Data<AppState>>()
        .ok_or(AuthFailure::Unavailable)?;
    let headers = request
        .headers()
        .get_all(AUTHORIZATION)
        .map(|value| value.as_bytes());
    let token = bearer_token(headers)?;
    let Ok(request_id) = RequestId::extract(request).into_inner();
    state.identity.validate(token, &request_id).await
}
