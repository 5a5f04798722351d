use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// `mail.requested.v1`: a mail to be sent once. Private; the recipient and the content are sealed, so no address or
/// link is in plain text in a table or in the broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailRequested {
    /// The template, as in [`MailTemplate::template`]; for metrics and logs.
    pub template: String,
    /// A sealed [`Mail`].
    pub sealed: String,
}

impl MailRequested {
    /// Returns the sealing context, which binds a sealed mail to its template.
    #[must_use]
    pub fn seal_context(template: &str) -> String {
        format!("mail/{template}")
    }
}

/// The JSON inside `sealed`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// The recipient's address.
    pub to: String,
    /// The content of the mail.
    pub text: MailTemplate,
}

impl std::fmt::Debug for Mail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mail")
            .field("template", &self.text.template())
            .finish_non_exhaustive()
    }
}

/// The facts of a mail; the notifier has the text. Names are user input and must be escaped.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "template", rename_all = "snake_case")]
pub enum MailTemplate {
    /// Somebody is invited to a team.
    Invitation {
        /// The team's name.
        team: String,
        /// The username of the inviting account.
        invited_by: String,
        /// Accepts the invitation, once.
        link: String,
        /// When the link expires.
        expires_at: DateTime<Utc>,
    },
    /// An address is to be verified.
    VerifyEmail {
        /// The account's username.
        username: String,
        /// Verifies the address.
        link: String,
        /// When the link expires.
        expires_at: DateTime<Utc>,
    },
    /// A user may choose a new password.
    ResetPassword {
        /// The account's username.
        username: String,
        /// Leads to the form for a new password, once.
        link: String,
        /// When the link expires.
        expires_at: DateTime<Utc>,
    },
    /// An account signed in from a new location.
    NewSignIn {
        /// The account's username.
        username: String,
        /// When the sign-in happened.
        at: DateTime<Utc>,
        /// The IP address of the sign-in.
        address: String,
        /// The `User-Agent` of the sign-in.
        user_agent: Option<String>,
    },
    /// Somebody who knows the password entered several wrong codes of the second factor.
    CodesRefused {
        /// The account's username.
        username: String,
        /// When the last code was entered.
        at: DateTime<Utc>,
        /// The IP address, if it is known.
        address: Option<String>,
        /// The `User-Agent` of the request.
        user_agent: Option<String>,
    },
    /// The account has a new address. The mail goes to the old one.
    EmailChanged {
        /// The account's username.
        username: String,
        /// The new address, mostly masked.
        new_address_hint: String,
        /// When the address changed.
        at: DateTime<Utc>,
    },
    /// The password or the second factor changed.
    SecurityChanged {
        /// The account's username.
        username: String,
        /// What changed, such as `password`, `second factor turned off`.
        what: String,
        /// When it changed.
        at: DateTime<Utc>,
    },
    /// A project's chat permanently refuses messages, and was disabled. The mail goes to the account that set it last.
    ChatSwitchedOff {
        /// The account's username.
        username: String,
        /// The team project.
        project_id: i64,
        /// The name of the project.
        project: String,
        /// The team's name.
        team: String,
        /// The name of a [`ChatProvider`](crate::ChatProvider).
        provider: String,
        /// The cause, as a sentence without the address.
        reason: String,
        /// When the chat was disabled.
        at: DateTime<Utc>,
        /// Leads to a page that explains how to set the chat again.
        link: String,
    },
    /// A webhook's receiver is gone, and the webhook was disabled. The mail goes to the account that set it last.
    WebhookSwitchedOff {
        /// The account's username.
        username: String,
        /// The webhook.
        webhook_id: i64,
        /// The owner's description of the webhook; may be empty.
        description: String,
        /// The receiver's address without its path.
        origin: String,
        /// The cause, as a sentence without the address.
        reason: String,
        /// When the webhook was disabled.
        at: DateTime<Utc>,
        /// Leads to a page that explains how to activate the webhook again.
        link: String,
    },
    /// Integrations are paused, because their creator lost access. The mail goes to their owner, who may adopt them.
    HooksPaused {
        /// The account's username.
        username: String,
        /// The cause, as a sentence.
        reason: String,
        /// The names of some of the paused integrations.
        hooks: Vec<String>,
        /// The number of further ones.
        more: usize,
        /// When they were paused.
        at: DateTime<Utc>,
        /// Leads to the page on which they can be adopted.
        link: String,
    },
}

impl MailTemplate {
    /// Every template that this version knows.
    pub const TEMPLATES: [&'static str; 10] = [
        "invitation",
        "verify_email",
        "reset_password",
        "new_sign_in",
        "codes_refused",
        "email_changed",
        "security_changed",
        "chat_switched_off",
        "webhook_switched_off",
        "hooks_paused",
    ];

    /// Returns the name of the template, as in JSON.
    #[must_use]
    pub fn template(&self) -> &'static str {
        match self {
            Self::Invitation { .. } => "invitation",
            Self::VerifyEmail { .. } => "verify_email",
            Self::ResetPassword { .. } => "reset_password",
            Self::NewSignIn { .. } => "new_sign_in",
            Self::CodesRefused { .. } => "codes_refused",
            Self::EmailChanged { .. } => "email_changed",
            Self::SecurityChanged { .. } => "security_changed",
            Self::ChatSwitchedOff { .. } => "chat_switched_off",
            Self::WebhookSwitchedOff { .. } => "webhook_switched_off",
            Self::HooksPaused { .. } => "hooks_paused",
        }
    }
}
