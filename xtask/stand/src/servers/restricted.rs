//! A virtual host in which RabbitMQ's users have the permissions of production.

use super::rabbitmq::control;
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use xtask_kit::cmd::Result;
use xtask_kit::envs;

/// The users and permissions of production. Compose, the manual and the tests use the same file.
const DEFINITIONS: &str = "deploy/rabbitmq/definitions.json";

/// A virtual host in which each part of the product has its own user. Users belong to the whole broker, so their names end
/// in the virtual host's: `NAME-VHOST`. The password is the name.
pub(super) struct RestrictedVhost {
    /// `amqp://USER-VHOST:USER-VHOST@HOST:PORT/VHOST`. The tests replace `USER`.
    pub(super) url: String,
    vhost: String,
    /// Whether the broker keeps running after this tool, so that drop has to remove users and virtual host.
    is_to_be_removed: bool,
}

impl RestrictedVhost {
    const USERS: [&str; 5] = ["identity", "worksession", "notifier", "parked", "consumer"];

    pub(super) fn make(
        address: &str,
        control: impl Fn(&[&str]) -> Result,
        stays: bool,
    ) -> Result<Self> {
        let vhost = format!("holdfast-restricted-{}", std::process::id());
        let text = std::fs::read_to_string(envs::root().join(DEFINITIONS))?;
        let mut definitions: Value = serde_json::from_str(&text)?;
        rename(&mut definitions, &vhost);
        let mut file = tempfile::NamedTempFile::new()?;
        serde_json::to_writer(&mut file, &definitions)?;
        // The broker's own user reads it.
        file.as_file()
            .set_permissions(Permissions::from_mode(0o644))?;
        let path = file.path().to_string_lossy();
        control(&["import_definitions", &path])?;
        Ok(Self {
            url: format!("amqp://USER-{vhost}:USER-{vhost}@{address}/{vhost}"),
            vhost,
            is_to_be_removed: stays,
        })
    }
}

impl Drop for RestrictedVhost {
    fn drop(&mut self) {
        if !self.is_to_be_removed {
            return;
        }
        let users = Self::USERS.map(|user| format!("{user}-{}", self.vhost));
        let users = users.iter().map(|user| ["delete_user", user.as_str()]);
        for command in users.chain([["delete_vhost", self.vhost.as_str()]]) {
            if let Err(e) = control(&command) {
                eprintln!("xtask: {}: {e}", command.join(" "));
            }
        }
    }
}

/// Moves the definitions to another virtual host, and gives each user a name and password of its own there.
fn rename(definitions: &mut Value, vhost: &str) {
    for (kind, entries) in definitions.as_object_mut().into_iter().flatten() {
        for entry in entries.as_array_mut().into_iter().flatten() {
            let of = if kind == "users" { "name" } else { "user" };
            if let Some(user) = entry.get(of).and_then(Value::as_str) {
                let user = Value::from(format!("{user}-{vhost}"));
                if kind == "users" {
                    entry["password"] = user.clone();
                }
                entry[of] = user;
            }
            let place = if kind == "vhosts" { "name" } else { "vhost" };
            if entry.get(place).is_some() {
                entry[place] = Value::from(vhost);
            }
        }
    }
}
