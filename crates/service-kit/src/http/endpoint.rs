use actix_web::dev::{AppService, HttpServiceFactory};
use actix_web::http::{Method, StatusCode};
use actix_web::{FromRequest, Handler, Resource, Responder, guard, web};

use crate::Problem;

/// A path with its methods. Another method answers 405 with `Allow`; HEAD answers as GET.
pub struct Endpoint {
    resource: Resource,
    allow: Vec<Method>,
}

/// Starts the description of what a path answers.
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
    /// Answers GET and HEAD.
    #[must_use]
    pub fn get<F, Args>(mut self, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.allow.extend([Method::GET, Method::HEAD]);
        let get_or_head = guard::Any(guard::Get()).or(guard::Head());
        self.resource = self
            .resource
            .route(web::route().guard(get_or_head).to(handler));
        self
    }

    /// Answers POST.
    #[must_use]
    pub fn post<F, Args>(self, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.method(Method::POST, handler)
    }

    /// Answers PUT.
    #[must_use]
    pub fn put<F, Args>(self, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.method(Method::PUT, handler)
    }

    /// Answers PATCH.
    #[must_use]
    pub fn patch<F, Args>(self, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.method(Method::PATCH, handler)
    }

    /// Answers DELETE.
    #[must_use]
    pub fn delete<F, Args>(self, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.method(Method::DELETE, handler)
    }

    fn method<F, Args>(mut self, method: Method, handler: F) -> Self
    where
        F: Handler<Args>,
        Args: FromRequest + 'static,
        F::Output: Responder + 'static,
    {
        self.resource = self.resource.route(web::method(method.clone()).to(handler));
        self.allow.push(method);
        self
    }
}

impl HttpServiceFactory for Endpoint {
    fn register(self, config: &mut AppService) {
        let allow = self
            .allow
            .iter()
            .map(Method::as_str)
            .collect::<Vec<_>>()
            .join(", ");
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
