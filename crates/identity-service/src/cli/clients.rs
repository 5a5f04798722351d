use clap::{Args, Subcommand, ValueEnum};
use serde::Serialize;
use serde_json::json;

use super::context::{CommandError, Context};
use crate::error::Error;
use crate::oauth::clients::wire::{
    CreateOAuthClientRequest, OAuthClientBody, OAuthClientList, OAuthClientResponse,
    OAuthClientSecretResponse,
};
use crate::oauth::clients::{ClientChanges, ClientMetadata, GroupsClaim, NewClient, service};
use service_kit::cli::output::{Column, count, minute, record, table};

#[derive(Debug, Subcommand)]
pub(super) enum ClientsCommand {
    /// Register a client
    ///
    /// Its secret is generated and printed once, unless the client is public.
    Create(Box<CreateArgs>),
    /// List all clients, oldest first
    List,
    /// Show one client
    Show(ClientArg),
    /// Change a client; what is not named stays as it is, and an empty value sets the default
    ///
    /// Users stay signed in. They are asked for consent again only if the client requests more than they have allowed.
    Update(Box<UpdateArgs>),
    /// Replace a client's secret and print the new one once; the old one stops working at once
    RotateSecret(ClientArg),
    /// Delete a client and end all its sessions
    ///
    /// Every running service rejects its tokens within a second.
    Delete(ClientArg),
}

#[derive(Debug, Args)]
pub(super) struct CreateArgs {
    /// Name that consent pages show
    #[arg(long)]
    name: String,
    /// Redirect URIs, which must match exactly; on loopback any port matches
    #[arg(long, value_name = "URI", num_args = 1..)]
    redirect_uri: Vec<String>,
    /// Register a public client, which cannot keep a secret, such as a program on a user's machine
    #[arg(long)]
    public: bool,
    /// Client of the product itself; no consent is asked, unless it is public and its redirect URI is not https
    #[arg(long)]
    first_party: bool,
    /// Scopes it may request, and gets by default [default: openid profile email; every scope with --first-party]
    #[arg(long, num_args = 1..)]
    scope: Vec<String>,
    /// Algorithm of its ID tokens: RS256 (the default) or ES256
    #[arg(long, value_name = "ALGORITHM")]
    id_token_signed_response_alg: Option<String>,
    /// Grant types for the token endpoint; device_code is the device flow [default: authorization_code refresh_token]
    #[arg(long, num_args = 1..)]
    grant_type: Vec<String>,
    /// Allow it to introspect tokens of other clients
    #[arg(long)]
    introspect_any: bool,
    /// Require an S256 code challenge from this client, even if the service does not require it from all
    #[arg(long)]
    require_pkce_s256: bool,
    #[command(flatten)]
    metadata: ClientMetadata,
}

#[derive(Debug, Args)]
pub(super) struct UpdateArgs {
    #[command(flatten)]
    client: ClientArg,
    /// Name that consent pages show
    #[arg(long)]
    name: Option<String>,
    /// Redirect URIs, which must match exactly; on loopback any port matches
    #[arg(long, value_name = "URI", num_args = 1..)]
    redirect_uri: Vec<String>,
    /// Scopes it may request, and gets by default
    #[arg(long, num_args = 1..)]
    scope: Vec<String>,
    /// Algorithm of its ID tokens: RS256 or ES256
    #[arg(long, value_name = "ALGORITHM")]
    id_token_signed_response_alg: Option<String>,
    /// Grant types for the token endpoint
    #[arg(long, num_args = 1..)]
    grant_type: Vec<String>,
    /// Whether it must send an S256 code challenge
    #[arg(long)]
    require_pkce_s256: Option<bool>,
    /// Home page of the client
    #[arg(long, value_name = "URI")]
    client_uri: Option<String>,
    /// Logo of the client
    #[arg(long, value_name = "URI")]
    logo_uri: Option<String>,
    /// Privacy policy of the client
    #[arg(long, value_name = "URI")]
    policy_uri: Option<String>,
    /// Terms of service of the client
    #[arg(long, value_name = "URI")]
    tos_uri: Option<String>,
    /// Addresses to which a sign-out may return
    #[arg(long, value_name = "URI", num_args = 1..)]
    post_logout_redirect_uri: Vec<String>,
    /// Address that is called when a session of the client ends
    #[arg(long, value_name = "URI")]
    backchannel_logout_uri: Option<String>,
    /// Response types for the authorization endpoint
    #[arg(long, num_args = 1..)]
    response_type: Vec<String>,
    /// Content of the claim groups: slug, or slug:role
    #[arg(long)]
    groups_claim: Option<String>,
}

impl UpdateArgs {
    fn changes(self) -> ClientChanges {
        let texts = [
            ("name", self.name),
            ("scope", given(self.scope).map(|scopes| scopes.join(" "))),
            (
                "id_token_signed_response_alg",
                self.id_token_signed_response_alg,
            ),
            ("client_uri", self.client_uri),
            ("logo_uri", self.logo_uri),
            ("policy_uri", self.policy_uri),
            ("tos_uri", self.tos_uri),
            ("backchannel_logout_uri", self.backchannel_logout_uri),
            ("groups_claim", self.groups_claim),
        ];
        let lists = [
            ("redirect_uris", self.redirect_uri),
            ("grant_types", self.grant_type),
            ("post_logout_redirect_uris", self.post_logout_redirect_uri),
            ("response_types", self.response_type),
        ];
        let mut changes = ClientChanges::default();
        for (name, text) in texts {
            if let Some(text) = text {
                changes.set(name, json!(Some(text).filter(|text| !text.is_empty())));
            }
        }
        for (name, list) in lists {
            if let Some(list) = given(list) {
                let list: Vec<_> = list.into_iter().filter(|text| !text.is_empty()).collect();
                changes.set(name, json!(Some(list).filter(|list| !list.is_empty())));
            }
        }
        if let Some(required) = self.require_pkce_s256 {
            changes.set("requires_pkce_s256", json!(required));
        }
        changes
    }
}

fn given(list: Vec<String>) -> Option<Vec<String>> {
    Some(list).filter(|list| !list.is_empty())
}

#[derive(Debug, Args)]
pub(super) struct ClientArg {
    /// Id of the client, as `list` shows it
    #[arg(value_name = "CLIENT_ID")]
    client_id: String,
}

#[derive(Serialize)]
struct Deleted {
    client_id: String,
    sessions_ended: usize,
}

pub(super) async fn run(context: &Context, command: ClientsCommand) -> Result<(), CommandError> {
    match command {
        ClientsCommand::Create(args) => create(context, *args).await,
        ClientsCommand::List => list(context).await,
        ClientsCommand::Show(client) => show(context, client).await,
        ClientsCommand::Update(args) => update(context, *args).await,
        ClientsCommand::RotateSecret(client) => rotate_secret(context, client).await,
        ClientsCommand::Delete(client) => delete(context, client).await,
    }
}

async fn create(context: &Context, args: CreateArgs) -> Result<(), CommandError> {
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
        metadata: args.metadata,
    })?;
    let made = service::create(&context.app, new, &context.request).await?;
    context.show(&OAuthClientSecretResponse::from(made), |made| {
        with_secret(format!("{} was registered.", made.client.name), made)
    })
}

async fn list(context: &Context) -> Result<(), CommandError> {
    let clients = service::list(&context.app).await?;
    let clients = OAuthClientList {
        clients: clients.into_iter().map(OAuthClientBody::from).collect(),
    };
    context.show(&clients, listed)
}

async fn show(context: &Context, ClientArg { client_id }: ClientArg) -> Result<(), CommandError> {
    let found = service::get(&context.app, &client_id).await;
    let client = found.map_err(|error| named(context, &client_id, error))?;
    let client = client.into();
    context.show(&OAuthClientResponse { client }, |shown| {
        described(&shown.client)
    })
}

async fn update(context: &Context, args: UpdateArgs) -> Result<(), CommandError> {
    let client_id = args.client.client_id.clone();
    let changed = service::update(&context.app, &client_id, args.changes(), &context.request).await;
    let client = changed.map_err(|error| named(context, &client_id, error))?;
    let client = client.into();
    context.show(&OAuthClientResponse { client }, |shown| {
        described(&shown.client)
    })
}

async fn rotate_secret(
    context: &Context,
    ClientArg { client_id }: ClientArg,
) -> Result<(), CommandError> {
    let made = service::rotate_secret(&context.app, &client_id, &context.request).await;
    let made = made.map_err(|error| named(context, &client_id, error))?;
    context.show(&OAuthClientSecretResponse::from(made), |made| {
        with_secret(format!("{} has a new secret.", made.client.name), made)
    })
}

async fn delete(context: &Context, ClientArg { client_id }: ClientArg) -> Result<(), CommandError> {
    let deleted = service::delete(&context.app, &client_id, &context.request).await;
    let sessions_ended = deleted.map_err(|error| named(context, &client_id, error))?;
    let deleted = Deleted {
        client_id,
        sessions_ended,
    };
    context.show(&deleted, |deleted| {
        let ended = count(deleted.sessions_ended, "session");
        format!("{} was deleted; {ended} ended.", deleted.client_id)
    })
}

/// Turns "not found" into an error that says where to look.
fn named(context: &Context, client_id: &str, error: Error) -> CommandError {
    match error {
        Error::ClientNotFound => CommandError::Refused(format!(
            "there is no client {client_id}; {} lists all",
            context.command("clients list")
        )),
        error => error.into(),
    }
}

fn with_secret(line: String, made: &OAuthClientSecretResponse) -> String {
    let line = format!("{line}\nclient_id: {}", made.client_id);
    match &made.client_secret {
        Some(secret) => format!("{line}\nclient_secret (shown only once): {secret}"),
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
        Column::Whole("SOURCE"),
        Column::Cut("SCOPE"),
    ];
    table(columns, rows, "No clients found.")
}

fn described(client: &OAuthClientBody) -> String {
    let yes_no = |is| if is { "yes" } else { "no" }.to_owned();
    let utc = |at| format!("{} UTC", minute(at));
    let uris = |uris: &[String]| match uris {
        [] => "-".to_owned(),
        uris => uris.join(" "),
    };
    let metadata = &client.metadata;
    let given = |uri: &Option<String>| uri.clone().unwrap_or_else(|| "-".to_owned());
    record([
        ("client_id", client.client_id.clone()),
        ("name", client.name.clone()),
        ("kind", kind(client).to_owned()),
        ("redirect URIs", uris(&client.redirect_uris)),
        ("scope", client.scope.clone()),
        ("grant types", client.grant_types.join(" ")),
        ("response types", names(&metadata.response_types)),
        ("after sign-out", uris(&metadata.post_logout_redirect_uris)),
        ("logout calls", given(&metadata.backchannel_logout_uri)),
        (
            "groups claim",
            names(&[metadata.groups_claim.unwrap_or(GroupsClaim::Slug)]),
        ),
        ("home page", given(&metadata.client_uri)),
        ("logo", given(&metadata.logo_uri)),
        ("privacy policy", given(&metadata.policy_uri)),
        ("terms", given(&metadata.tos_uri)),
        ("first-party", yes_no(client.is_first_party)),
        ("introspects any", yes_no(client.may_introspect_any)),
        ("ID tokens", client.id_token_signed_response_alg.to_owned()),
        ("requires S256", yes_no(client.requires_pkce_s256)),
        ("challenge used", given(&client.pkce_seen)),
        ("source", source(client).to_owned()),
        ("created", utc(client.created_at)),
        ("changed", utc(client.updated_at)),
    ])
}

/// Returns the names that the command line uses for these values.
fn names(values: &[impl ValueEnum]) -> String {
    let names = values.iter().filter_map(ValueEnum::to_possible_value);
    let names: Vec<_> = names.map(|value| value.get_name().to_owned()).collect();
    names.join(" ")
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
