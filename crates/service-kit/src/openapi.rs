//! Responses that many endpoints of an area share, added to its description in one place.

use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Response, ResponseBuilder};

/// Adds the authentication of callers: an access token as bearer.
pub fn add_bearer(openapi: &mut OpenApi) {
    let bearer = Http::builder()
        .scheme(HttpAuthScheme::Bearer)
        .bearer_format("JWT")
        .build();
    let components = openapi.components.get_or_insert_default();
    components.add_security_scheme("bearer", SecurityScheme::Http(bearer));
}

/// Returns every operation of the description, with its method and path.
pub fn operations(
    openapi: &mut OpenApi,
) -> impl Iterator<Item = (&'static str, &str, &mut Operation)> {
    openapi.paths.paths.iter_mut().flat_map(|(path, item)| {
        let methods = [
            ("GET", &mut item.get),
            ("POST", &mut item.post),
            ("PUT", &mut item.put),
            ("PATCH", &mut item.patch),
            ("DELETE", &mut item.delete),
        ];
        let path = path.as_str();
        methods
            .into_iter()
            .filter_map(move |(method, operation)| Some((method, path, operation.as_mut()?)))
    })
}

/// Documents, for every operation with query parameters, the response to one that does not fit.
pub fn refuses_misfits(openapi: &mut OpenApi, body: &str) {
    for (_, _, operation) in operations(openapi) {
        let mut parameters = operation.parameters.iter().flatten();
        let is_query = |one: &Parameter| matches!(one.parameter_in, ParameterIn::Query);
        if parameters.any(|one| matches!(one, RefOr::T(one) if is_query(one))) {
            let reason = "a query parameter is repeated or has the wrong type; the text names it";
            may_answer(operation, "400", reason, body);
        }
    }
}

/// Documents that an operation may respond with `status` for this reason, with a body of the schema `body`. Does nothing if the
/// operation has this reason already, or a response for the whole class of statuses.
pub fn may_answer(operation: &mut Operation, status: &str, reason: &str, body: &str) {
    let answers = &mut operation.responses.responses;
    let kind = status.get(..1).unwrap_or_default();
    if answers.contains_key(&format!("{kind}XX")) {
        return;
    }
    match answers.get_mut(status) {
        Some(RefOr::T(known)) if !known.description.contains(reason) => {
            known.description.push_str(", or ");
            known.description.push_str(reason);
        }
        Some(_) => {}
        None => {
            answers.insert(status.to_owned(), RefOr::T(answer(reason, body)));
        }
    }
}

fn answer(reason: &str, body: &str) -> Response {
    let schema = Ref::from_schema_name(body);
    ResponseBuilder::new()
        .description(reason)
        .content("application/json", Content::new(Some(schema)))
        .build()
}
