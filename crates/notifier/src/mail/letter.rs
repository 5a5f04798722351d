use askama::Template;
use chrono::{DateTime, Utc};
use event_types::{ChatProvider, MailTemplate};
use url::Url;

use crate::text::{line, unlinked_line};

/// The longest name that is shown, in characters.
const NAME_LIMIT: usize = 64;

/// The longest description of a program or a change, in characters.
const FACT_LIMIT: usize = 160;

const IGNORE: &str =
    "If you did not expect this mail you can ignore it: without the link nothing happens.";
const NOT_YOU: &str = "If it was not you, somebody else may have your password: choose a new one at once \
    and end all other sign-ins on your account page.";

/// The content of a mail, ready to be rendered as text and as HTML. All user input is on one line, truncated and
/// without links. The templates escape it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MailContent {
    pub(super) subject: String,
    title: String,
    /// The recipient's name, if it is known.
    name: Option<String>,
    opening: String,
    facts: Vec<(&'static str, String)>,
    action: Option<Action>,
    closing: &'static str,
}

/// What the recipient may do.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Action {
    label: &'static str,
    link: String,
    /// How long the link is valid, if it expires.
    term: Option<String>,
}

/// The error for a link that is not a web address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the link is not a web address")]
pub(super) struct InvalidLink;

#[derive(Template)]
#[template(path = "mail.txt", escape = "none")]
struct Plain<'a> {
    letter: &'a MailContent,
}

#[derive(Template)]
#[template(path = "mail.html")]
struct Html<'a> {
    letter: &'a MailContent,
}

impl MailContent {
    pub(super) fn of(text: &MailTemplate) -> Result<Self, InvalidLink> {
        Ok(match text {
            MailTemplate::Invitation {
                team,
                invited_by,
                link,
                expires_at,
            } => {
                let team = name(team);
                Self {
                    subject: format!("Invitation to the team “{team}” on Holdfast"),
                    title: format!("Join the team “{team}”"),
                    name: None,
                    opening: format!(
                        "“{}” invites you to the team “{team}” on Holdfast, where teams plan focused work \
                         and see what came of it. To join, sign in or make an account.",
                        name(invited_by)
                    ),
                    facts: Vec::new(),
                    action: Some(Action::once("Join the team", link, *expires_at)?),
                    closing: IGNORE,
                }
            }
            MailTemplate::VerifyEmail {
                username,
                link,
                expires_at,
            } => Self {
                subject: "Confirm your e-mail address for Holdfast".to_owned(),
                title: "Confirm your e-mail address".to_owned(),
                name: Some(name(username)),
                opening: "This address was given for your Holdfast account. Please confirm that it is yours, \
                    so that you can be invited to teams and choose a new password if you ever forget it."
                    .to_owned(),
                facts: Vec::new(),
                action: Some(Action::once("Confirm the address", link, *expires_at)?),
                closing: "If you have no account on Holdfast you can ignore this mail: \
                    the address is then never confirmed.",
            },
            MailTemplate::ResetPassword {
                username,
                link,
                expires_at,
            } => Self {
                subject: "Choose a new password for Holdfast".to_owned(),
                title: "Choose a new password".to_owned(),
                name: Some(name(username)),
                opening: "A new password was asked for on your Holdfast account.".to_owned(),
                facts: Vec::new(),
                action: Some(Action::once("Choose a new password", link, *expires_at)?),
                closing: "If it was not you, ignore this mail: your password stays as it is. \
                    Never pass the link on to anybody.",
            },
            MailTemplate::NewSignIn {
                username,
                at,
                address,
                user_agent,
            } => Self {
                subject: "New sign-in to your Holdfast account".to_owned(),
                title: "New sign-in".to_owned(),
                name: Some(name(username)),
                opening: "Somebody signed in to your Holdfast account from somewhere new. \
                    If it was you, there is nothing to do."
                    .to_owned(),
                facts: place(*at, Some(address), user_agent.as_deref()),
                action: None,
                closing: NOT_YOU,
            },
            MailTemplate::CodesRefused {
                username,
                at,
                address,
                user_agent,
            } => Self {
                subject: "Wrong codes at your Holdfast account".to_owned(),
                title: "Wrong codes at your account".to_owned(),
                name: Some(name(username)),
                opening: "Somebody who knows your password has given several wrong codes of your second factor, \
                    and was not let in. If it was you, there is nothing to do but to wait a moment before the \
                    next one."
                    .to_owned(),
                facts: place(*at, address.as_deref(), user_agent.as_deref()),
                action: None,
                closing: NOT_YOU,
            },
            MailTemplate::EmailChanged {
                username,
                new_address_hint,
                at,
            } => Self {
                subject: "The e-mail address of your Holdfast account was changed".to_owned(),
                title: "Your e-mail address was changed".to_owned(),
                name: Some(name(username)),
                opening: "Your Holdfast account has another e-mail address now. This is the last mail to \
                    the old one."
                    .to_owned(),
                facts: vec![
                    ("When", moment(*at)),
                    ("New address", unlinked_line(new_address_hint, FACT_LIMIT)),
                ],
                action: None,
                closing: NOT_YOU,
            },
            MailTemplate::SecurityChanged { username, what, at } => Self {
                subject: "The security of your Holdfast account was changed".to_owned(),
                title: "Your account’s security was changed".to_owned(),
                name: Some(name(username)),
                opening: "Something that protects your Holdfast account is not what it was. \
                    If it was you, there is nothing to do."
                    .to_owned(),
                facts: vec![
                    ("When", moment(*at)),
                    ("Changed", unlinked_line(what, FACT_LIMIT)),
                ],
                action: None,
                closing: NOT_YOU,
            },
            MailTemplate::ChatSwitchedOff {
                username,
                project_id,
                project,
                team,
                provider,
                reason,
                at,
                link,
            } => {
                let project = name(project);
                Self {
                    subject: format!("The chat of “{project}” is switched off"),
                    title: format!("The chat of “{project}” is switched off"),
                    name: Some(name(username)),
                    opening: "The chat that you set for this project refuses our messages for good, so it is not \
                        told of sessions any more. Nothing else is lost: sessions and points go on as before."
                        .to_owned(),
                    facts: vec![
                        ("Project", format!("{project} ({})", name(team))),
                        ("Chat", chat_label(provider)),
                        ("Why", unlinked_line(reason, FACT_LIMIT)),
                        ("When", moment(*at)),
                        ("Switch on", format!("PUT /api/team-projects/{project_id}/chat")),
                    ],
                    action: Some(Action::lasting("How to set the chat again", link)?),
                    closing: "See in the chat whether the hook, or the access, is still there; then set it for the project \
                        again: that switches it on. You get this mail because you set the chat last.",
                }
            }
            MailTemplate::WebhookSwitchedOff {
                username,
                webhook_id,
                description,
                origin,
                reason,
                at,
                link,
            } => {
                let description = name(description);
                let description = if description.is_empty() {
                    format!("number {webhook_id}")
                } else {
                    format!("“{description}”")
                };
                Self {
                    subject: format!("Your webhook {description} is switched off"),
                    title: format!("Your webhook {description} is switched off"),
                    name: Some(name(username)),
                    opening: "The receiver of this webhook does not take our calls, so it is not called any more. \
                        What happens meanwhile is not kept for it."
                        .to_owned(),
                    facts: vec![
                        ("Receiver", unlinked_line(origin, FACT_LIMIT)),
                        ("Why", unlinked_line(reason, FACT_LIMIT)),
                        ("When", moment(*at)),
                        ("Switch on", format!("PUT /api/webhooks/{webhook_id}")),
                        ("Its calls", format!("GET /api/webhooks/{webhook_id}/deliveries")),
                    ],
                    action: Some(Action::lasting("How to switch it on again", link)?),
                    closing: "Once the receiver answers again, change the webhook, even to what it is: that switches \
                        it on. You get this mail because you changed it last.",
                }
            }
            MailTemplate::HooksPaused {
                username,
                reason,
                hooks,
                more,
                at,
                link,
            } => {
                let mut facts = vec![
                    ("Why", unlinked_line(reason, FACT_LIMIT)),
                    ("When", moment(*at)),
                ];
                let named = hooks.iter().map(|hook| unlinked_line(hook, FACT_LIMIT));
                let more = (*more > 0).then(|| format!("and {more} more"));
                facts.extend(named.chain(more).map(|hook| ("Paused", hook)));
                Self {
                    subject: "Webhooks or chats on Holdfast are paused".to_owned(),
                    title: "Webhooks or chats are paused".to_owned(),
                    name: Some(name(username)),
                    opening: "Holdfast no longer sends anything to the webhooks and chats below, because what set them \
                        up has lost access. Events in the meantime are not sent later."
                        .to_owned(),
                    facts,
                    action: Some(Action::lasting("See your webhooks", link)?),
                    closing: "If you want one to go on, choose “Keep it” on its page; a chat’s is among the settings \
                        of its project. Otherwise delete it, or leave it as it is.",
                }
            }
        })
    }

    pub(super) fn plain(&self) -> Result<String, askama::Error> {
        Plain { letter: self }.render()
    }

    pub(super) fn html(&self) -> Result<String, askama::Error> {
        Html { letter: self }.render()
    }
}

impl Action {
    fn once(label: &'static str, link: &str, until: DateTime<Utc>) -> Result<Self, InvalidLink> {
        let term = format!("The link works once, until {}.", moment(until));
        Ok(Self {
            term: Some(term),
            ..Self::lasting(label, link)?
        })
    }

    fn lasting(label: &'static str, link: &str) -> Result<Self, InvalidLink> {
        let url = Url::parse(link).map_err(|_| InvalidLink)?;
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(InvalidLink);
        }
        Ok(Self {
            label,
            // The parsed form has no spaces, line ends or quotation marks, whatever the input was.
            link: url.into(),
            term: None,
        })
    }
}

/// Returns the chat's name, as its vendor writes it.
fn chat_label(provider: &str) -> String {
    let known = ChatProvider::named(provider);
    known.map_or_else(|| name(provider), |chat| chat.label().to_owned())
}

/// Returns the facts about when, from which address and with which program something was done.
fn place(
    at: DateTime<Utc>,
    address: Option<&str>,
    program: Option<&str>,
) -> Vec<(&'static str, String)> {
    let address = address.map(|address| ("Address", line(address, NAME_LIMIT)));
    let program = program.map(|program| ("Program", unlinked_line(program, FACT_LIMIT)));
    let when = ("When", moment(at));
    [Some(when), address, program]
        .into_iter()
        .flatten()
        .collect()
}

fn name(text: &str) -> String {
    unlinked_line(text, NAME_LIMIT)
}

fn moment(at: DateTime<Utc>) -> String {
    at.format("%-d %B %Y, %H:%M UTC").to_string()
}

#[cfg(test)]
#[path = "letter_tests.rs"]
mod tests;
