use std::io::{IsTerminal as _, Read as _};

use auth_types::{AccountRole, PremiumTier, UnknownName, UserId};
use chrono::{DateTime, Utc};
use clap::{Args, Subcommand};

use crate::accounts::rules::Password;
use crate::cli::context::{Failure, moment};
use crate::page::PAGE;

/// A password is shorter; what is longer is no password but a file.
const MAX_PASSWORD_INPUT: u64 = 4_096;

#[derive(Debug, Subcommand)]
pub(in crate::cli) enum UsersCommand {
    /// Make an account
    ///
    /// Its password is made too, and printed once, unless it is given on standard input.
    Create {
        /// 3 to 64 of A-Z a-z 0-9 _ -
        #[arg(value_name = "USERNAME")]
        username: String,
        /// Is sent a mail that asks to prove it
        #[arg(long)]
        email: Option<String>,
        /// May administer everything; the first one is made here
        #[arg(long)]
        superadmin: bool,
        #[command(flatten)]
        password: PasswordArg,
    },
    /// Show accounts by id
    List {
        /// A part of the username or of the e-mail address, in any case
        #[arg(value_name = "TEXT")]
        text: Option<String>,
        /// Only USER or SUPERADMIN
        #[arg(long, ignore_case = true, value_parser = role)]
        role: Option<AccountRole>,
        /// Only FREE or PREMIUM
        #[arg(long, value_name = "TIER", value_parser = tier)]
        premium: Option<PremiumTier>,
        /// Only active accounts
        #[arg(long, conflicts_with = "inactive")]
        active: bool,
        /// Only deactivated accounts
        #[arg(long)]
        inactive: bool,
        /// At most so many, 1 to 200
        #[arg(long, value_name = "N", default_value_t = PAGE)]
        limit: u16,
        /// Only ids above this one: the next page
        #[arg(long, value_name = "ID")]
        after: Option<UserId>,
    },
    /// Show all of one account
    Show(UserArg),
    /// Make an account a SUPERADMIN
    Promote(UserArg),
    /// Make a SUPERADMIN an ordinary account again
    Demote(UserArg),
    /// Give an account a plan
    SetPremium {
        #[command(flatten)]
        user: UserArg,
        /// FREE or PREMIUM
        #[arg(long, value_parser = tier)]
        tier: PremiumTier,
        /// When PREMIUM ends (2027-01-31, or RFC 3339); without it, it does not
        #[arg(long, value_name = "MOMENT", value_parser = moment)]
        until: Option<DateTime<Utc>>,
    },
    /// Shut an account out and end all its sessions
    ///
    /// Every running service refuses its tokens within a second.
    Deactivate(UserArg),
    /// Let a deactivated account in again
    Activate(UserArg),
    /// Give an account another password and end all its sessions
    ///
    /// The password is made, and printed once, unless it is given on standard input.
    ResetPassword {
        #[command(flatten)]
        user: UserArg,
        #[command(flatten)]
        password: PasswordArg,
    },
    /// Let an account whose owner has lost his second factor in without one
    RemoveTotp(UserArg),
    /// End all sessions of an account
    RevokeSessions(UserArg),
}

/// Which account.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(in crate::cli) struct UserArg {
    /// A username, or an id: what is made of digits alone
    #[arg(value_name = "USER")]
    pub(super) user: Option<String>,
    /// The account with this id
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
    /// The password that was given on standard input, if one was to be.
    pub(super) fn read(&self) -> Result<Option<Password>, Failure> {
        if !self.password_stdin {
            return Ok(None);
        }
        let mut input = std::io::stdin();
        let mut text = String::new();
        let read = if input.is_terminal() {
            #[expect(clippy::print_stderr, reason = "a question to whoever sits there")]
            {
                eprintln!("Type the password and press Enter; it shows while you type.");
            }
            input.read_line(&mut text)
        } else {
            input
                .by_ref()
                .take(MAX_PASSWORD_INPUT)
                .read_to_string(&mut text)
        };
        read.map_err(|error| Failure::Refused(format!("the password cannot be read: {error}")))?;
        let line = text.strip_suffix('\n').unwrap_or(&text);
        let line = line.strip_suffix('\r').unwrap_or(line);
        if line.contains(['\n', '\r']) {
            return Err(Failure::Usage(
                "standard input has more than one line; a password is one".into(),
            ));
        }
        Ok(Some(Password::parse_new(line)?))
    }
}

fn role(text: &str) -> Result<AccountRole, String> {
    text.to_ascii_uppercase()
        .parse()
        .map_err(|error: UnknownName| error.to_string())
}

fn tier(text: &str) -> Result<PremiumTier, String> {
    text.to_ascii_uppercase()
        .parse()
        .map_err(|error: UnknownName| error.to_string())
}
