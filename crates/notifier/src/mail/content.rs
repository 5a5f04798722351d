use askama::Template;
use chrono::{DateTime, Utc};
use event_types::{ChatProvider, MailTemplate};
use messages::{Text, t, utc_time};
use url::Url;

use crate::text::{line, unlinked_line};

/// The longest name that is shown, in characters.
const NAME_LIMIT: usize = 64;

/// The longest description of a program or a change, in characters.
const FACT_LIMIT: usize = 160;

/// The content of a mail, ready to be rendered as text and as HTML. All user input is on one line, truncated and
/// without links. The templates escape it.
#[derive(Debug, Clone)]
pub(super) struct MailContent {
    pub(super) subject: Text,
    title: Text,
    /// Addresses the recipient by name, if it is known.
    greeting: Option<Text>,
    opening: Text,
    facts: Vec<(Text, String)>,
    action: Option<Action>,
    closing: Text,
}

/// What the recipient may do.
#[derive(Debug, Clone)]
struct Action {
    label: Text,
    link: String,
    /// How long the link is valid, if it expires.
    term: Option<Text>,
}

/// The error for a link that is not a web address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the link is not a web address")]
pub(super) struct InvalidLink;

#[derive(Template)]
#[template(path = "mail.txt", escape = "none")]
struct Plain<'a> {
    content: &'a MailContent,
}

#[derive(Template)]
#[template(path = "mail.html")]
struct Html<'a> {
    content: &'a MailContent,
}

impl MailContent {
    pub(super) fn from_template(template: &MailTemplate) -> Result<Self, InvalidLink> {
        Ok(match template {
            MailTemplate::Invitation {
                team,
                invited_by,
                link,
                expires_at,
            } => {
                let team = name(team);
                let action = t("mail-invitation-action");
                Self {
                    subject: t("mail-invitation-subject").with("team", &team),
                    title: t("mail-invitation-title").with("team", &team),
                    greeting: None,
                    opening: t("mail-invitation-opening")
                        .with("inviter", name(invited_by))
                        .with("team", team),
                    facts: Vec::new(),
                    action: Some(Action::once(action, link, *expires_at)?),
                    closing: t("mail-unexpected"),
                }
            }
            MailTemplate::VerifyEmail {
                username,
                link,
                expires_at,
            } => Self {
                subject: t("mail-verify-subject"),
                title: t("mail-verify-title"),
                greeting: greeting(username),
                opening: t("mail-verify-opening"),
                facts: Vec::new(),
                action: Some(Action::once(t("mail-verify-action"), link, *expires_at)?),
                closing: t("mail-verify-closing"),
            },
            MailTemplate::ResetPassword {
                username,
                link,
                expires_at,
            } => Self {
                subject: t("mail-reset-subject"),
                title: t("mail-reset-title"),
                greeting: greeting(username),
                opening: t("mail-reset-opening"),
                facts: Vec::new(),
                action: Some(Action::once(t("mail-reset-action"), link, *expires_at)?),
                closing: t("mail-reset-closing"),
            },
            MailTemplate::NewSignIn {
                username,
                at,
                address,
                user_agent,
            } => Self {
                subject: t("mail-sign-in-subject"),
                title: t("mail-sign-in-title"),
                greeting: greeting(username),
                opening: t("mail-sign-in-opening"),
                facts: origin(*at, Some(address), user_agent.as_deref()),
                action: None,
                closing: t("mail-not-you"),
            },
            MailTemplate::CodesRefused {
                username,
                at,
                address,
                user_agent,
            } => Self {
                subject: t("mail-codes-subject"),
                title: t("mail-codes-title"),
                greeting: greeting(username),
                opening: t("mail-codes-opening"),
                facts: origin(*at, address.as_deref(), user_agent.as_deref()),
                action: None,
                closing: t("mail-not-you"),
            },
            MailTemplate::EmailChanged {
                username,
                new_address_hint,
                at,
            } => Self {
                subject: t("mail-email-changed-subject"),
                title: t("mail-email-changed-title"),
                greeting: greeting(username),
                opening: t("mail-email-changed-opening"),
                facts: vec![
                    (t("mail-time"), utc_time(at).into()),
                    (
                        t("mail-new-address"),
                        unlinked_line(new_address_hint, FACT_LIMIT),
                    ),
                ],
                action: None,
                closing: t("mail-not-you"),
            },
            MailTemplate::SecurityChanged { username, what, at } => Self {
                subject: t("mail-security-subject"),
                title: t("mail-security-title"),
                greeting: greeting(username),
                opening: t("mail-security-opening"),
                facts: vec![
                    (t("mail-time"), utc_time(at).into()),
                    (t("mail-changed"), unlinked_line(what, FACT_LIMIT)),
                ],
                action: None,
                closing: t("mail-not-you"),
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
                let title = t("mail-chat-disabled-title").with("project", &project);
                let project = t("mail-project-of-team")
                    .with("project", project)
                    .with("team", name(team));
                let call = format!("PUT /api/team-projects/{project_id}/chat");
                Self {
                    subject: title.clone(),
                    title,
                    greeting: greeting(username),
                    opening: t("mail-chat-disabled-opening"),
                    facts: vec![
                        (t("mail-project"), project.into()),
                        (t("mail-chat"), chat_label(provider)),
                        (t("mail-reason"), unlinked_line(reason, FACT_LIMIT)),
                        (t("mail-time"), utc_time(at).into()),
                        (t("mail-enable"), call),
                    ],
                    action: Some(Action::permanent(t("mail-chat-disabled-action"), link)?),
                    closing: t("mail-chat-disabled-closing"),
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
                let title = if description.is_empty() {
                    t("mail-webhook-disabled-title-number").with("id", webhook_id)
                } else {
                    t("mail-webhook-disabled-title").with("webhook", description)
                };
                let call = format!("PUT /api/webhooks/{webhook_id}");
                let log = format!("GET /api/webhooks/{webhook_id}/deliveries");
                Self {
                    subject: title.clone(),
                    title,
                    greeting: greeting(username),
                    opening: t("mail-webhook-disabled-opening"),
                    facts: vec![
                        (t("mail-receiver"), unlinked_line(origin, FACT_LIMIT)),
                        (t("mail-reason"), unlinked_line(reason, FACT_LIMIT)),
                        (t("mail-time"), utc_time(at).into()),
                        (t("mail-enable"), call),
                        (t("mail-deliveries"), log),
                    ],
                    action: Some(Action::permanent(t("mail-webhook-disabled-action"), link)?),
                    closing: t("mail-webhook-disabled-closing"),
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
                    (t("mail-reason"), unlinked_line(reason, FACT_LIMIT)),
                    (t("mail-time"), utc_time(at).into()),
                ];
                let named = hooks.iter().map(|hook| unlinked_line(hook, FACT_LIMIT));
                let more =
                    (*more > 0).then(|| t("mail-paused-more").with("count", more).to_string());
                facts.extend(named.chain(more).map(|hook| (t("mail-paused"), hook)));
                Self {
                    subject: t("mail-paused-subject"),
                    title: t("mail-paused-title"),
                    greeting: greeting(username),
                    opening: t("mail-paused-opening"),
                    facts,
                    action: Some(Action::permanent(t("mail-paused-action"), link)?),
                    closing: t("mail-paused-closing"),
                }
            }
        })
    }

    pub(super) fn plain(&self) -> Result<String, askama::Error> {
        Plain { content: self }.render()
    }

    pub(super) fn html(&self) -> Result<String, askama::Error> {
        Html { content: self }.render()
    }
}

impl Action {
    fn once(label: Text, link: &str, until: DateTime<Utc>) -> Result<Self, InvalidLink> {
        Ok(Self {
            term: Some(t("mail-link-expires").with("time", utc_time(&until))),
            ..Self::permanent(label, link)?
        })
    }

    fn permanent(label: Text, link: &str) -> Result<Self, InvalidLink> {
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
fn origin(at: DateTime<Utc>, address: Option<&str>, program: Option<&str>) -> Vec<(Text, String)> {
    let address = address.map(|address| (t("mail-address"), line(address, NAME_LIMIT)));
    let program = program.map(|program| (t("mail-program"), unlinked_line(program, FACT_LIMIT)));
    let time = (t("mail-time"), String::from(utc_time(&at)));
    [Some(time), address, program]
        .into_iter()
        .flatten()
        .collect()
}

fn greeting(username: &str) -> Option<Text> {
    Some(t("mail-greeting").with("name", name(username)))
}

fn name(text: &str) -> String {
    unlinked_line(text, NAME_LIMIT)
}

#[cfg(test)]
#[path = "content_tests.rs"]
mod tests;
