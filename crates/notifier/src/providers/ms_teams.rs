//! Microsoft Teams: an Adaptive Card, in a message for the webhook of a workflow.
//!
//! The workflow answers 202 before it posts. Only its list of runs shows whether Teams has accepted the card.

use serde_json::{Value, json};
use service_kit::guard::GuardedResponse;

use super::content::compose;
use super::dialect::MarkupDialect;
use super::escape::Markup;
use super::responses::{self, PostOutcome};
#[cfg(test)]
use super::tests::limits::{is_apart, is_escaped, texts};
use super::{ChatAdapter, Notification};

/// In UTF-16 units. Teams accepts about 28 KB in total; a unit can become two characters of JSON, of two bytes each.
const NOTE_LIMIT: usize = 2_800;
const NOTE_LINES: usize = 60;
const DIGEST_LIMIT: usize = 5_500;

/// The subset of Markdown differs between clients. A backslash is used where nothing else removes the meaning. `{`
/// would begin a function such as `{{DATE(…)}}`.
const MARKDOWN: Markup = Markup {
    backslash: "\\*_`",
    at_line_start: "#-+>",
    apart: "&<[]{~",
    ..Markup::NONE
};

pub(super) struct MsTeams;

impl MarkupDialect for MsTeams {
    fn escape(&self, text: &str, limit: usize) -> String {
        MARKDOWN.line(text, limit)
    }

    fn bold(&self, escaped: &str) -> String {
        format!("**{escaped}**")
    }
}

impl ChatAdapter for MsTeams {
    fn write(&self, notifications: &[Notification], _channel: &str) -> Value {
        let body = match notifications {
            [one] => message(one),
            several => digest(several),
        };
        json!({
            "type": "message",
            "attachments": [{
                "contentType": "application/vnd.microsoft.card.adaptive",
                "contentUrl": null,
                "content": {
                    "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
                    "type": "AdaptiveCard",
                    "version": "1.4",
                    "body": body,
                },
            }],
        })
    }

    fn classify(&self, response: &GuardedResponse) -> (PostOutcome, &'static str) {
        match response.status {
            // A deleted workflow has the same response.
            400 if responses::text(response, "/error/code") == "WorkflowTriggerIsNotEnabled" => (
                PostOutcome::Gone,
                ": the workflow is turned off or was deleted",
            ),
            401 | 403 => {
                let hint =
                    ": the workflow must let anyone trigger it, and its address must be complete";
                (PostOutcome::Gone, hint)
            }
            404 => (PostOutcome::Gone, ": there is no such workflow any more"),
            status => (responses::classify_status(status), ""),
        }
    }

    #[cfg(test)]
    fn is_harmless(&self, message: &Value) -> bool {
        texts(message).into_iter().all(|text| {
            is_escaped(&text.replace("**", ""), &['*', '`'])
                && is_apart(&json!(text), &['<', '[', ']', '{', '~'])
        })
    }
}

fn message(notification: &Notification) -> Vec<Value> {
    let content = compose(notification);
    let mut body = vec![text_block(&MsTeams.format_part(&content.headline))];
    if !content.fields.is_empty() {
        let fact = |(title, value): &(_, _)| json!({ "title": title, "value": MsTeams.format_part(value) });
        let fields: Vec<Value> = content.fields.iter().map(fact).collect();
        body.push(json!({ "type": "FactSet", "facts": fields }));
    }
    if !content.note.is_empty() {
        // Cards have no quotations. The background prevents users from imitating lines of the notifier.
        let note = text_block(&note(content.note));
        body.push(json!({ "type": "Container", "style": "emphasis", "items": [note] }));
    }
    body
}

fn digest(notifications: &[Notification]) -> Vec<Value> {
    let lines = MsTeams.digest_lines(notifications, "• ", DIGEST_LIMIT);
    let headline = MsTeams.digest_headline(notifications.len());
    vec![text_block(&headline), text_block(&lines.join("\n\n"))]
}

/// Formats a note. Lines become paragraphs, because Teams ignores single line breaks. Indentation is cut: it would mean code.
fn note(input: &str) -> String {
    let trimmed: Vec<&str> = input.lines().map(str::trim).collect();
    let escaped = MARKDOWN.text(&trimmed.join("\n"), NOTE_LIMIT);
    let mut lines: Vec<&str> = escaped.lines().take(NOTE_LINES).collect();
    if escaped.lines().nth(NOTE_LINES).is_some() {
        lines.push("…");
    }
    lines.join("\n\n")
}

fn text_block(text: &str) -> Value {
    json!({ "type": "TextBlock", "text": text, "wrap": true })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn user_text_is_plain_text_in_a_card() {
        for (input, sent) in [
            ("*b* __i__ `c` \\", "\\*b\\* \\_\\_i\\_\\_ \\`c\\` \\\\"),
            ("- x", "\\- x"),
            ("# x - y", "\\# x - y"),
            ("> x", "\\> x"),
            ("~~s~~", "~\u{200b}~\u{200b}s~\u{200b}~\u{200b}"),
            (
                "[bank](https://evil.example)",
                "[\u{200b}bank]\u{200b}(https://evil.example)",
            ),
            ("<at>ada</at>", "<\u{200b}at>ada<\u{200b}/at>"),
            ("&lt;b>", "&\u{200b}lt;b>"),
            (
                "{{DATE(2026-11-27)}}",
                "{\u{200b}{\u{200b}DATE(2026-11-27)}}",
            ),
            ("@everyone", "@\u{200b}everyone"),
            (
                "https://t.example/a_b?x=1&y=2",
                "https://t.example/a_b?x=1&y=2",
            ),
        ] {
            assert_eq!(MsTeams.escape(input, 100), sent, "{input}");
        }
        assert_eq!(note("a\n  - b\n\n\tc"), "a\n\n\\- b\n\n\n\nc");
        let long = note(&"x\n".repeat(70));
        assert_eq!(long.matches('x').count(), NOTE_LINES);
        assert!(long.ends_with("\n\n…"));
    }

    #[test]
    fn a_disabled_workflow_counts_as_gone_with_advice_for_its_owner() {
        let outcome_of = |status, code: &str| {
            let response = GuardedResponse {
                status,
                retry_after: None,
                body: json!({ "error": { "code": code } }).to_string().into(),
                complete: true,
            };
            MsTeams.classify(&response)
        };
        assert_eq!(outcome_of(202, ""), (PostOutcome::Accepted, ""));
        assert_eq!(outcome_of(429, ""), (PostOutcome::Retry, ""));
        assert_eq!(outcome_of(413, ""), (PostOutcome::Refused, ""));
        let mismatch = outcome_of(400, "TriggerInputSchemaMismatch");
        assert_eq!(mismatch, (PostOutcome::Refused, ""));
        for (status, code, hint) in [
            (400, "WorkflowTriggerIsNotEnabled", "turned off"),
            (401, "DirectApiAuthorizationRequired", "anyone"),
            (404, "WorkflowNotFound", "no such workflow"),
        ] {
            let (outcome, named) = outcome_of(status, code);
            assert_eq!(outcome, PostOutcome::Gone, "{code}");
            assert!(named.contains(hint), "{code}: {named}");
        }
    }
}
