use actix_web::dev::{AppService, HttpServiceFactory};
use actix_web::http::{Method, StatusCode};
use actix_web::{FromRequest, Handler, Resource, Responder, guard, web};

use crate::Problem;

/// A path with its methods. Another method receives 405 with `Allow`; HEAD is answered like GET.
pub struct Endpoint {
    resource: Resource,
    allow: Vec<Method>,
}

/// Starts the definition of a path.
///
/// ```text
/// cfg.service(endpoint("/api/teams").get(list).post(create));
/// ```
#[must_use]
pub fn endpoint(path: &str) -> Endpoint {
    Endpoint {
        resource: web::resource(path),
        allow: Vec::new(),
    }
}

impl Endpoint {
    /// Sets the handler of GET and HEAD.
    #[must_use]
    pub fn get<Args: FromRequest + 'static>(
        mut self,
        handler: impl Handler<Args, Output: Responder + 'static>,
    ) -> Self {
        self.allow.extend([Method::GET, Method::HEAD]);
        let get_or_head = guard::Any(guard::Get()).or(guard::Head());
        self.resource = self
            .resource
            .route(web::route().guard(get_or_head).to(handler));
        self
    }

    /// Sets the handler of POST.
    #[must_use]
    pub fn post<Args: FromRequest + 'static>(
        self,
        handler: impl Handler<Args, Output: Responder + 'static>,
    ) -> Self {
        self.method(Method::POST, handler)
    }

    /// Sets the handler of PUT.
    #[must_use]
    pub fn put<Args: FromRequest + 'static>(
        self,
        handler: impl Handler<Args, Output: Responder + 'static>,
    ) -> Self {
        self.method(Method::PUT, handler)
    }

    /// Sets the handler of PATCH.
    #[must_use]
    pub fn patch<Args: FromRequest + 'static>(
        self,
        handler: impl Handler<Args, Output: Responder + 'static>,
    ) -> Self {
        self.method(Method::PATCH, handler)
    }

    /// Sets the handler of DELETE.
    #[must_use]
    pub fn delete<Args: FromRequest + 'static>(
        self,
        handler: impl Handler<Args, Output: Responder + 'static>,
    ) -> Self {
        self.method(Method::DELETE, handler)
    }

    fn method<Args: FromRequest + 'static>(
        mut self,
        method: Method,
        handler: impl Handler<Args, Output: Responder + 'static>,
    ) -> Self {
        self.resource = self.resource.route(web::method(method.clone()).to(handler));
        self.allow.push(method);
        self
    }
}

impl HttpServiceFactory for Endpoint {
    fn register(self, config: &mut AppService) {
        let allow: Vec<&str> = self.allow.iter().map(Method::as_str).collect();
        let allow = allow.join(", ");
        let refuse = move || {
            let mut problem = Problem::from_status(StatusCode::METHOD_NOT_ALLOWED);
            problem.allow = Some(allow.as_str().into());
            async move { Err::<actix_web::HttpResponse, _>(problem) }
        };
        self.resource
            .default_service(web::to(refuse))
            .register(config);
    }
}
