use clap::{Args, Subcommand};
use serde::Serialize;

use super::context::{Context, Failure};
use crate::error::Error;
use crate::oauth::clients::wire::{
    CreateOAuthClientRequest, OAuthClientBody, OAuthClientList, OAuthClientResponse,
    OAuthClientSecretResponse,
};
use crate::oauth::clients::{NewClient, service};
use service_kit::cli::output::{Column, count, minute, record, table};

#[derive(Debug, Subcommand)]
pub(super) enum ClientsCommand {
    /// Register a client
    ///
    /// Its secret is made too, and printed once, unless the client is public.
    Create(CreateArgs),
    /// Show all clients, oldest first
    List,
    /// Show all of one client
    Show(ClientArg),
    /// Give a client another secret, which is printed once; the old one is refused at once
    RotateSecret(ClientArg),
    /// Delete a client and end all sessions that it was given
    ///
    /// Every running service refuses its tokens within a second.
    Delete(ClientArg),
}

#[derive(Debug, Args)]
pub(super) struct CreateArgs {
    /// Shown to people who are asked for their consent
    #[arg(long)]
    name: String,
    /// Where answers may be sent, to the letter; on loopback any port
    #[arg(long, value_name = "URI", num_args = 1..)]
    redirect_uri: Vec<String>,
    /// It can keep no secret, as a program on a user's machine
    #[arg(long)]
    public: bool,
    /// It is one of the product's own: nobody is asked for consent, unless it is public and not at an https address
    #[arg(long)]
    first_party: bool,
    /// What it may ask for, and gets when it asks for nothing [default: openid profile email; every scope with --first-party]
    #[arg(long, num_args = 1..)]
    scope: Vec<String>,
    /// ES256 (the default) or RS256
    #[arg(long, value_name = "ALGORITHM")]
    id_token_signed_response_alg: Option<String>,
    /// What it may come to the token endpoint with; the device flow takes device_code [default: authorization_code refresh_token]
    #[arg(long, num_args = 1..)]
    grant_type: Vec<String>,
    /// It may introspect tokens of others
    #[arg(long)]
    introspect_any: bool,
    /// It has to send a challenge made with S256, though not every client has to
    #[arg(long)]
    require_pkce_s256: bool,
}

/// Which client.
#[derive(Debug, Args)]
pub(super) struct ClientArg {
    /// As `list` shows it
    #[arg(value_name = "CLIENT_ID")]
    client_id: String,
}

#[derive(Serialize)]
struct Deleted {
    client_id: String,
    sessions_ended: usize,
}

pub(super) async fn run(context: &Context, command: ClientsCommand) -> Result<(), Failure> {
    match command {
        ClientsCommand::Create(args) => create(context, args).await,
        ClientsCommand::List => list(context).await,
        ClientsCommand::Show(client) => show(context, client).await,
        ClientsCommand::RotateSecret(client) => rotate_secret(context, client).await,
        ClientsCommand::Delete(client) => delete(context, client).await,
    }
}

async fn create(context: &Context, args: CreateArgs) -> Result<(), Failure> {
    let new = NewClient::try_from(CreateOAuthClientRequest {
        name: args.name,
        redirect_uris: args.redirect_uri,
        scope: Some(args.scope.join(" ")),
        is_public: args.public,
        is_first_party: args.first_party,
        may_introspect_any: args.introspect_any,
        id_token_signed_response_alg: args.id_token_signed_response_alg,
        requires_pkce_s256: args.require_pkce_s256,
        grant_types: args.grant_type,
    })?;
    let made = service::create(&context.app, new, &context.origin).await?;
    context.show(&OAuthClientSecretResponse::from(made), |made| {
        with_secret(format!("{} was registered.", made.client.name), made)
    })
}

async fn list(context: &Context) -> Result<(), Failure> {
    let clients = service::list(&context.app).await?;
    let clients = OAuthClientList {
        clients: clients.into_iter().map(OAuthClientBody::from).collect(),
    };
    context.show(&clients, listed)
}

async fn show(context: &Context, ClientArg { client_id }: ClientArg) -> Result<(), Failure> {
    let found = service::get(&context.app, &client_id).await;
    let client = found.map_err(|error| named(context, &client_id, error))?;
    let client = client.into();
    context.show(&OAuthClientResponse { client }, |shown| {
        described(&shown.client)
    })
}

async fn rotate_secret(
    context: &Context,
    ClientArg { client_id }: ClientArg,
) -> Result<(), Failure> {
    let made = service::rotate_secret(&context.app, &client_id, &context.origin).await;
    let made = made.map_err(|error| named(context, &client_id, error))?;
    context.show(&OAuthClientSecretResponse::from(made), |made| {
        with_secret(format!("{} has a new secret.", made.client.name), made)
    })
}

async fn delete(context: &Context, ClientArg { client_id }: ClientArg) -> Result<(), Failure> {
    let deleted = service::delete(&context.app, &client_id, &context.origin).await;
    let sessions_ended = deleted.map_err(|error| named(context, &client_id, error))?;
    let deleted = Deleted {
        client_id,
        sessions_ended,
    };
    context.show(&deleted, |deleted| {
        let ended = count(deleted.sessions_ended, "session");
        format!("{} is deleted; {ended} ended.", deleted.client_id)
    })
}

/// Says where to look for what was not found.
fn named(context: &Context, client_id: &str, error: Error) -> Failure {
    match error {
        Error::ClientNotFound => Failure::Refused(format!(
            "there is no client {client_id}; {} shows all",
            context.command("clients list")
        )),
        error => error.into(),
    }
}

fn with_secret(line: String, made: &OAuthClientSecretResponse) -> String {
    let line = format!("{line}\nclient_id: {}", made.client_id);
    match &made.client_secret {
        Some(secret) => format!("{line}\nclient_secret, shown this once: {secret}"),
        None => line,
    }
}

fn listed(list: &OAuthClientList) -> String {
    let rows = list.clients.iter().map(|client| {
        [
            client.client_id.clone(),
            client.name.clone(),
            kind(client).to_owned(),
            source(client).to_owned(),
            client.scope.clone(),
        ]
    });
    let columns = [
        Column::Whole("CLIENT ID"),
        Column::Cut("NAME"),
        Column::Whole("KIND"),
        Column::Whole("FROM"),
        Column::Cut("SCOPE"),
    ];
    table(columns, rows, "There is no client yet.")
}

fn described(client: &OAuthClientBody) -> String {
    let yes_no = |is| if is { "yes" } else { "no" }.to_owned();
    let utc = |at| format!("{} UTC", minute(at));
    let uris = match client.redirect_uris.as_slice() {
        [] => "-".to_owned(),
        uris => uris.join(" "),
    };
    record([
        ("client_id", client.client_id.clone()),
        ("name", client.name.clone()),
        ("kind", kind(client).to_owned()),
        ("redirect URIs", uris),
        ("scope", client.scope.clone()),
        ("grant types", client.grant_types.join(" ")),
        ("first-party", yes_no(client.is_first_party)),
        ("introspects any", yes_no(client.may_introspect_any)),
        ("id tokens", client.id_token_signed_response_alg.to_owned()),
        ("requires S256", yes_no(client.requires_pkce_s256)),
        (
            "challenge used",
            client.pkce_seen.clone().unwrap_or_else(|| "-".to_owned()),
        ),
        ("from", source(client).to_owned()),
        ("created", utc(client.created_at)),
        ("changed", utc(client.updated_at)),
    ])
}

fn kind(client: &OAuthClientBody) -> &'static str {
    if client.is_public {
        "public"
    } else {
        "confidential"
    }
}

fn source(client: &OAuthClientBody) -> &'static str {
    if client.is_configured {
        "file"
    } else {
        "command"
    }
}
