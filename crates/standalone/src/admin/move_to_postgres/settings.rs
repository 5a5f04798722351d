//! The settings that the services need, so that tokens and sealed values stay valid.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::Config;
use crate::admin::error::{AdminError, at};
use crate::admin::files;

/// The file of the dashboard's secret, which is derived from a key and has been in no file until now.
const DASHBOARD_SECRET: &str = "dashboard.secret";

/// Describes which keys and settings to carry over. The dashboard's secret is written into the data directory, because it must
/// not appear on a terminal.
///
/// # Errors
/// [`AdminError::File`].
pub(super) fn needed(config: &Config) -> Result<String, AdminError> {
    let data = &config.data_dir;
    let base_url = match &config.identity.base_url {
        Some(url) => url.as_str().trim_end_matches('/').to_owned(),
        None => format!("http://{}", config.identity.listen),
    };
    let key = |name: &str| {
        let path = data.join(name);
        match path.exists() {
            true => path.display().to_string(),
            false => "its current value".to_owned(),
        }
    };
    let (own, shared) = (key("identity-keys.key"), key("secrets.key"));
    let mut lines = vec![
        String::new(),
        "all rows were copied; the data folder still has them: do not serve from it any longer"
            .to_owned(),
        String::new(),
        "tokens stay valid with".to_owned(),
        format!("  IDENTITY__BASE_URL={base_url}"),
        format!("  IDENTITY__KEYS__ENCRYPTION_KEY_FILE={own}"),
        "sealed addresses of integrations, and pending mails, can be opened with".to_owned(),
    ];
    for part in ["IDENTITY", "WORKSESSION", "NOTIFIER"] {
        lines.push(format!("  {part}__SECRETS__ENCRYPTION_KEY_FILE={shared}"));
    }
    lines.extend(dashboard(config)?);
    lines.push(
        "photos are in the identity database; mails that were stored as files stay where they are"
            .to_owned(),
    );
    Ok(lines.join("\n"))
}

fn dashboard(config: &Config) -> Result<Vec<String>, AdminError> {
    let settings = &config.worksession.dashboard;
    let (Some(id), Some(secret)) = (&settings.client_id, &settings.client_secret) else {
        return Ok(Vec::new());
    };
    let own = config
        .identity
        .oauth_clients
        .iter()
        .find(|client| client.client_id == *id);
    let Some(own) = own else {
        return Ok(vec![format!(
            "the dashboard keeps its client: WORKSESSION__DASHBOARD__CLIENT_ID={id} and its secret"
        )]);
    };
    let file = write_secret(&config.data_dir, secret.expose())?;
    let path = file.display();
    let uris: Vec<String> = own
        .redirect_uris
        .0
        .iter()
        .map(|uri| format!("{uri:?}"))
        .collect();
    let algorithm = own.id_token_signed_response_alg.as_ref();
    let algorithm = algorithm.map(|name| format!("  id_token_signed_response_alg = {name:?}"));
    let mut lines = vec![
        "the dashboard keeps its client with".to_owned(),
        format!("  WORKSESSION__DASHBOARD__CLIENT_ID={id}"),
        format!("  WORKSESSION__DASHBOARD__CLIENT_SECRET_FILE={path}"),
        "and, in the identity service's configuration file,".to_owned(),
        "  [[identity.oauth_clients]]".to_owned(),
        format!("  client_id = {id:?}"),
        format!("  name = {:?}", own.name),
        format!("  client_secret_file = {:?}", path.to_string()),
        format!("  first_party = {}", own.first_party),
        format!("  scope = {:?}", own.scope.0),
        format!("  redirect_uris = [{}]", uris.join(", ")),
    ];
    lines.extend(algorithm);
    Ok(lines)
}

/// Writes the secret, completely or not at all. The file of an earlier move has the same secret, or is of no more use.
fn write_secret(data: &Path, secret: &str) -> Result<PathBuf, AdminError> {
    let path = data.join(DASHBOARD_SECRET);
    let passing = data.join(format!(".{DASHBOARD_SECRET}-{}", files::random_name()));
    let mut file = files::make_file(&passing)?;
    writeln!(file, "{secret}").map_err(at(&passing))?;
    file.sync_all().map_err(at(&passing))?;
    fs::rename(&passing, &path).map_err(at(&path))?;
    files::sync_folder(data)?;
    Ok(path)
}
