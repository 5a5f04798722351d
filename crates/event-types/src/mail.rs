use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// `mail.requested.v1`: a mail to be sent, once. Private; whom it goes to and what it says is sealed,
/// so that no address and no link stands in clear in a table or in the broker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MailRequested {
    /// The kind of mail, [`MailText::template`]; for figures and logs.
    pub template: String,
    /// A sealed [`Mail`].
    pub sealed: String,
}

impl MailRequested {
    /// What a sealed mail is bound to, so that one kind cannot be passed off as another.
    #[must_use]
    pub fn seal_context(template: &str) -> String {
        format!("mail/{template}")
    }
}

/// What `sealed` opens to, as JSON.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mail {
    /// The recipient's address.
    pub to: String,
    /// What it says.
    pub text: MailText,
}

impl std::fmt::Debug for Mail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Mail")
            .field("template", &self.text.template())
            .finish_non_exhaustive()
    }
}

/// The facts of a mail; the notifier has the words. Names come from people and are hostile until escaped.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "template", rename_all = "snake_case")]
pub enum MailText {
    /// Somebody is asked into a team.
    Invitation {
        /// The team's name.
        team: String,
        /// Who asks.
        invited_by: String,
        /// Accepts, once.
        link: String,
        /// Until when the link is good.
        expires_at: DateTime<Utc>,
    },
    /// An address is to be proved.
    VerifyEmail {
        /// Whose account.
        username: String,
        /// Proves it.
        link: String,
        /// Until when the link is good.
        expires_at: DateTime<Utc>,
    },
    /// A new password may be chosen.
    ResetPassword {
        /// Whose account.
        username: String,
        /// Leads to the choice, once.
        link: String,
        /// Until when the link is good.
        expires_at: DateTime<Utc>,
    },
    /// A sign-in from somewhere new.
    NewSignIn {
        /// Whose account.
        username: String,
        /// When.
        at: DateTime<Utc>,
        /// From which address.
        address: String,
        /// With which program, as it calls itself.
        user_agent: Option<String>,
    },
    /// Wrong codes of the second factor, one after the other, from somebody who knows the password.
    CodesRefused {
        /// Whose account.
        username: String,
        /// When the last one came.
        at: DateTime<Utc>,
        /// From which address, where that is known.
        address: Option<String>,
        /// With which program, as it calls itself.
        user_agent: Option<String>,
    },
    /// To the old address: the account has another one now.
    EmailChanged {
        /// Whose account.
        username: String,
        /// The new address, all but hidden.
        new_address_hint: String,
        /// When.
        at: DateTime<Utc>,
    },
    /// The password, or the second factor, is not what it was.
    SecurityChanged {
        /// Whose account.
        username: String,
        /// What was changed, such as `password`, `second factor switched off`.
        what: String,
        /// When.
        at: DateTime<Utc>,
    },
    /// To whoever set it: a project's chat refuses messages for good and is told nothing more.
    ChatSwitchedOff {
        /// Whose account.
        username: String,
        /// The team project.
        project_id: i64,
        /// Its name.
        project: String,
        /// The team's name.
        team: String,
        /// The name of a [`ChatProvider`](crate::ChatProvider).
        provider: String,
        /// Why, a sentence without the address.
        reason: String,
        /// When.
        at: DateTime<Utc>,
        /// Leads to where it can be set again.
        link: String,
    },
    /// To whoever set it: a webhook's receiver is gone, and it is called no more.
    WebhookSwitchedOff {
        /// Whose account.
        username: String,
        /// The webhook.
        webhook_id: i64,
        /// What its owner calls it; may be empty.
        description: String,
        /// The receiver's address without its path.
        origin: String,
        /// Why, a sentence without the address.
        reason: String,
        /// When.
        at: DateTime<Utc>,
        /// Leads to where it can be switched on again.
        link: String,
    },
    /// To whom they belong: what made these hooks has ended, and they are told nothing more until somebody keeps them.
    HooksPaused {
        /// Whose account.
        username: String,
        /// Why, a sentence.
        reason: String,
        /// What they are called.
        hooks: Vec<String>,
        /// How many there are besides.
        more: usize,
        /// When.
        at: DateTime<Utc>,
        /// Leads to where they can be kept.
        link: String,
    },
}

impl MailText {
    /// Every kind that this version knows.
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

    /// The kind's name, as in JSON.
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
