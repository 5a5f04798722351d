//! What the operations of an area share, added to its description in one place: responses, and what client generators need.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use utoipa::openapi::path::{Operation, Parameter, ParameterIn};
use utoipa::openapi::schema::{SchemaType, Type};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::server::ServerBuilder;
use utoipa::openapi::{Contact, Content, OpenApi, Ref, RefOr, Response, ResponseBuilder, Schema};

/// Completes a description for readers, linters and client generators. It is the last step.
///
/// Names each operation in camelCase, after its handler unless that has an `operation_id`. `examples` is a JSON object with an
/// example of each body, by the name of its schema.
pub fn complete(openapi: &mut OpenApi, examples: &str) {
    let mut contact = Contact::new();
    contact.name = Some("Holdfast maintainers".to_owned());
    openapi.info.contact = Some(contact);
    let server = ServerBuilder::new()
        .url("/")
        .description(Some("The service that serves this document"));
    openapi.servers = Some(vec![server.build()]);
    let examples: BTreeMap<String, Value> = serde_json::from_str(examples).unwrap_or_default();
    let mut names = BTreeSet::new();
    for (method, _, operation) in operations(openapi) {
        let mut name = camel_case(operation.operation_id.as_deref().unwrap_or_default());
        if !names.insert(name.clone()) {
            // One handler for two methods of a path.
            name += &camel_case(&format!("_by_{}", method.to_lowercase()));
        }
        operation.operation_id = Some(name);
        shorten_summary(operation);
        // A linter cannot tell an operation for everybody from one whose authentication was forgotten.
        operation.security.get_or_insert_default();
        for parameter in operation.parameters.iter_mut().flatten() {
            forbid_null(parameter);
        }
        for content in contents(operation) {
            let name = content.schema.as_ref().and_then(schema_name);
            content.example = name.and_then(|name| examples.get(name)).cloned();
        }
    }
}

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

/// Turns the name of a handler into that of an operation: `list_teams` into `listTeams`.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let mut letters = word.chars();
        let initial = letters.next().map(|letter| letter.to_ascii_uppercase());
        name + &String::from_iter(initial) + letters.as_str()
    })
}

/// Keeps the first sentence as the summary. The whole text becomes the description.
fn shorten_summary(operation: &mut Operation) {
    let Some(summary) = operation.summary.take() else {
        return;
    };
    let summary = summary.replace('\n', " ");
    let end = summary.find(". ").unwrap_or(summary.len());
    let short = summary.get(..end).unwrap_or_default();
    operation.summary = Some(short.trim_end_matches('.').to_owned());
    let more = operation.description.take();
    let more = more.map_or(String::new(), |more| {
        format!("\n\n{}", more.replace('\n', " "))
    });
    operation.description = Some(summary + &more);
}

/// A parameter may be left out, but is never null.
fn forbid_null(parameter: &mut RefOr<Parameter>) {
    if let RefOr::T(parameter) = parameter
        && let Some(RefOr::T(Schema::Object(schema))) = &mut parameter.schema
        && let SchemaType::Array(types) = &schema.schema_type
        && let Some(kind) = types.iter().find(|kind| **kind != Type::Null)
    {
        schema.schema_type = SchemaType::Type(kind.clone());
    }
}

/// Returns the bodies of an operation: of the request and of each response.
fn contents(operation: &mut Operation) -> impl Iterator<Item = &mut Content> {
    let request = operation.request_body.iter_mut().filter_map(inline);
    let responses = operation.responses.responses.values_mut();
    let responses = responses.filter_map(inline);
    let request = request.flat_map(|body| body.content.values_mut());
    let responses = responses.flat_map(|response| response.content.values_mut());
    request.chain(responses).filter_map(inline)
}

/// Returns a part that is not a reference to a shared component. Here, only schemas are shared.
fn inline<T>(part: &mut RefOr<T>) -> Option<&mut T> {
    match part {
        RefOr::T(part) => Some(part),
        RefOr::Ref(_) => None,
    }
}

fn schema_name(schema: &RefOr<Schema>) -> Option<&str> {
    match schema {
        RefOr::Ref(schema) => schema.ref_location.rsplit('/').next(),
        // A body that may be left out.
        RefOr::T(Schema::OneOf(choice)) => choice.items.iter().find_map(schema_name),
        RefOr::T(_) => None,
    }
}
