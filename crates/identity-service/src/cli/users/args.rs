use std::io::{IsTerminal as _, Read as _};
use std::str::FromStr;

use auth_types::{AccountRole, PremiumTier, UnknownName, UserId};
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};

use crate::cli::context::{CommandError, moment};
use crate::pagination::PAGE;
use crate::passwords::Password;

/// The maximum number of bytes read from standard input; no password is longer.
const MAX_PASSWORD_INPUT: u64 = 4_096;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum UsersCommand {
    /// Create an account
    ///
    /// The password is generated and printed once, unless it is read from standard input.
    Create {
        /// 3 to 64 of A-Z a-z 0-9 _ -
        #[arg(value_name = "USERNAME")]
        username: String,
        /// E-mail address, to which a verification link is mailed
        #[arg(long)]
        email: Option<String>,
        /// Create a SUPERADMIN, who may administer everything; this is how the first one is created
        #[arg(long)]
        superadmin: bool,
        #[command(flatten)]
        password: PasswordArg,
    },
    /// List accounts in order of id
    List {
        /// Only accounts whose username or e-mail address contains this text, ignoring case
        #[arg(value_name = "TEXT")]
        text: Option<String>,
        /// Only accounts with this role: USER or SUPERADMIN
        #[arg(long, ignore_case = true, value_parser = upper::<AccountRole>)]
        role: Option<AccountRole>,
        /// Only accounts with this plan: FREE or PREMIUM
        #[arg(long, value_name = "TIER", value_parser = upper::<PremiumTier>)]
        premium: Option<PremiumTier>,
        /// Only active accounts
        #[arg(long, conflicts_with = "inactive")]
        active: bool,
        /// Only deactivated accounts
        #[arg(long)]
        inactive: bool,
        /// Maximum number of accounts, 1 to 200
        #[arg(long, value_name = "N", default_value_t = PAGE)]
        limit: u16,
        /// Only ids above this one, for the next page
        #[arg(long, value_name = "ID")]
        after: Option<UserId>,
    },
    /// Show one account
    Show(UserArg),
    /// Make an account a SUPERADMIN
    Promote(UserArg),
    /// Make a SUPERADMIN an ordinary account again
    Demote(UserArg),
    /// Set the plan of an account
    SetPremium {
        #[command(flatten)]
        user: UserArg,
        /// FREE or PREMIUM
        #[arg(long, value_parser = upper::<PremiumTier>)]
        tier: PremiumTier,
        /// When PREMIUM ends (2027-01-31, or RFC 3339); never if not set
        #[arg(long, value_name = "TIME", value_parser = moment)]
        until: Option<DateTime<Utc>>,
    },
    /// Deactivate an account and end all its sessions
    ///
    /// Every running service rejects its tokens within a second.
    Deactivate(UserArg),
    /// Reactivate a deactivated account
    Activate(UserArg),
    /// Set a new password for an account and end all its sessions
    ///
    /// The password is generated and printed once, unless it is read from standard input.
    ResetPassword {
        #[command(flatten)]
        user: UserArg,
        #[command(flatten)]
        password: PasswordArg,
    },
    /// Remove the second factor of an account whose owner has lost it
    RemoveTotp(UserArg),
    /// End all sessions of an account
    RevokeSessions(UserArg),
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(in crate::cli) struct UserArg {
    /// Username, or id if it consists of digits only
    #[arg(value_name = "USER")]
    pub(super) user: Option<String>,
    /// Id of the account
    #[arg(long, value_name = "ID")]
    pub(super) id: Option<UserId>,
}

#[derive(Debug, Args)]
pub(in crate::cli) struct PasswordArg {
    /// Read the password from standard input (one line)
    #[arg(long)]
    password_stdin: bool,
}

impl PasswordArg {
    /// Reads the password from standard input, if the option is set.
    pub(super) fn read(&self) -> Result<Option<Password>, CommandError> {
        if !self.password_stdin {
            return Ok(None);
        }
        let mut input = std::io::stdin();
        let mut text = String::new();
        let read = if input.is_terminal() {
            #[expect(clippy::print_stderr, reason = "a prompt for the terminal's user")]
            {
                eprintln!("Type the password and press Enter; it is visible while you type.");
            }
            input.read_line(&mut text)
        } else {
            input
                .by_ref()
                .take(MAX_PASSWORD_INPUT)
                .read_to_string(&mut text)
        };
        read.map_err(|error| {
            CommandError::Refused(format!("the password cannot be read: {error}"))
        })?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.contains(['\n', '\r']) {
            return Err(CommandError::Usage(
                "standard input contains more than one line; a password is one line".into(),
            ));
        }
        Ok(Some(Password::parse_new(line)?))
    }
}

/// Parses a name such as a role, ignoring case.
fn upper<T: FromStr<Err = UnknownName>>(text: &str) -> Result<T, String> {
    let parsed = text.to_ascii_uppercase().parse();
    parsed.map_err(|error: UnknownName| error.to_string())
}
