use auth_types::UserId;

use super::args::UserArg;
use crate::accounts::model::AccountRow;
use crate::accounts::{self, name_to_look_up};
use crate::cli::context::{CommandError, Context};

/// Returns the account that the arguments name. A text of digits is an id. If it matches another account's name as
/// well, that is an error.
pub(super) async fn find(context: &Context, user: &UserArg) -> Result<AccountRow, CommandError> {
    let (id, name) = match (&user.id, &user.user) {
        (Some(id), _) => (Some(*id), None),
        (None, Some(text)) => (
            text.trim().parse::<UserId>().ok(),
            Some(name_to_look_up(text)),
        ),
        (None, None) => {
            return Err(CommandError::Usage(
                "no account given: pass a username or --id".into(),
            ));
        }
    };
    let lookup = name.clone();
    let (by_id, by_name) = context
        .app
        .read(move |db| {
            let by_id = match id {
                Some(id) => accounts::queries::find_account(db, id)?,
                None => None,
            };
            let by_name = match &lookup {
                Some(name) => accounts::queries::find_by_name(db, name)?,
                None => None,
            };
            Ok((by_id, by_name))
        })
        .await?;
    match (id, by_id, by_name) {
        (Some(_), Some(by_id), Some(by_name)) if by_id.id != by_name.id => {
            Err(CommandError::Usage(format!(
                "{} is the id of {} and the name of the account {}; choose one with --id",
                by_id.id, by_id.username, by_name.id
            )))
        }
        (Some(_), Some(account), _) | (None, _, Some(account)) => Ok(account),
        (Some(id), None, Some(by_name)) => Err(CommandError::UserNotFound(format!(
            "there is no account with the id {id}; for the account of that name, use --id {}",
            by_name.id
        ))),
        (Some(id), None, None) => Err(CommandError::UserNotFound(format!(
            "there is no account with the id {id}; {} lists all",
            context.command("users list")
        ))),
        (None, _, None) => {
            let name = name.unwrap_or_default();
            let part: String = name.chars().take(3).collect();
            let search = context.command(&format!("users list {part}"));
            Err(CommandError::UserNotFound(format!(
                "there is no account named {name}; {search} finds similar ones"
            )))
        }
    }
}

/// Returns the id of the account with this name.
pub(in crate::cli) async fn find_named(
    context: &Context,
    name: String,
) -> Result<UserId, CommandError> {
    let user = UserArg {
        user: Some(name),
        id: None,
    };
    find(context, &user).await.map(|account| account.id)
}
