//! Microsoft Teams: an Adaptive Card, in a message for the webhook of a workflow.
//!
//! The workflow answers 202 before it posts. Only its list of runs shows whether Teams has accepted the card.

use serde_json::{Value, json};
use service_kit::guard::GuardedResponse;

use super::answers::{self, PostOutcome};
use super::article::article;
use super::escape::Markup;
#[cfg(test)]
use super::tests::limits::{is_apart, is_escaped, texts};
use super::tongue::MarkupDialect;
use super::{ChatAdapter, Notice};

/// Teams accepts about 28 KB in total. A unit can be two characters of JSON, each of which is two bytes in UTF-16.
const NOTE_LIMIT: usize = 2_800;
const NOTE_LINES: usize = 60;
const DIGEST: usize = 5_500;

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
    fn theirs(&self, text: &str, limit: usize) -> String {
        MARKDOWN.line(text, limit)
    }

    fn strong(&self, escaped: &str) -> String {
        format!("**{escaped}**")
    }
}

impl ChatAdapter for MsTeams {
    fn write(&self, notices: &[Notice], _channel: &str) -> Value {
        let body = match notices {
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

    fn judge(&self, answer: &GuardedResponse) -> (PostOutcome, &'static str) {
        match answer.status {
            // A deleted workflow has the same response.
            400 if answers::text(answer, "/error/code") == "WorkflowTriggerIsNotEnabled" => (
                PostOutcome::Gone,
                ": the workflow is turned off or was deleted",
            ),
            401 | 403 => {
                let advice = ": the workflow must let anyone trigger it, and its address be whole";
                (PostOutcome::Gone, advice)
            }
            404 => (PostOutcome::Gone, ": there is no such workflow any more"),
            status => (answers::sense(status), ""),
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

fn message(notice: &Notice) -> Vec<Value> {
    let article = article(notice);
    let mut body = vec![text_block(&MsTeams.say(&article.headline))];
    if !article.facts.is_empty() {
        let fact = |(title, value): &(_, _)| json!({ "title": title, "value": MsTeams.say(value) });
        let facts: Vec<Value> = article.facts.iter().map(fact).collect();
        body.push(json!({ "type": "FactSet", "facts": facts }));
    }
    if !article.note.is_empty() {
        // Cards have no quotations. The background prevents users from imitating lines of the notifier.
        let note = text_block(&note(article.note));
        body.push(json!({ "type": "Container", "style": "emphasis", "items": [note] }));
    }
    body
}

fn digest(notices: &[Notice]) -> Vec<Value> {
    let lines = MsTeams.digest_lines(notices, "• ", DIGEST);
    let headline = MsTeams.digest_headline(notices.len());
    vec![text_block(&headline), text_block(&lines.join("\n\n"))]
}

/// Formats a note. Lines become paragraphs, because Teams ignores single line breaks. Indentation is cut: it would mean code.
fn note(typed: &str) -> String {
    let trimmed: Vec<&str> = typed.lines().map(str::trim).collect();
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
        for (typed, sent) in [
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
            assert_eq!(MsTeams.theirs(typed, 100), sent, "{typed}");
        }
        assert_eq!(note("a\n  - b\n\n\tc"), "a\n\n\\- b\n\n\n\nc");
        let long = note(&"x\n".repeat(70));
        assert_eq!(long.matches('x').count(), NOTE_LINES);
        assert!(long.ends_with("\n\n…"));
    }

    #[test]
    fn a_disabled_workflow_counts_as_gone_with_advice_for_its_owner() {
        let judged = |status, code: &str| {
            let answer = GuardedResponse {
                status,
                retry_after: None,
                body: json!({ "error": { "code": code } }).to_string().into(),
                complete: true,
            };
            MsTeams.judge(&answer)
        };
        assert_eq!(judged(202, ""), (PostOutcome::Taken, ""));
        assert_eq!(judged(429, ""), (PostOutcome::Later, ""));
        assert_eq!(judged(413, ""), (PostOutcome::Refused, ""));
        let mismatch = judged(400, "TriggerInputSchemaMismatch");
        assert_eq!(mismatch, (PostOutcome::Refused, ""));
        for (status, code, advice) in [
            (400, "WorkflowTriggerIsNotEnabled", "turned off"),
            (401, "DirectApiAuthorizationRequired", "anyone"),
            (404, "WorkflowNotFound", "no such workflow"),
        ] {
            let (sense, told) = judged(status, code);
            assert_eq!(sense, PostOutcome::Gone, "{code}");
            assert!(told.contains(advice), "{code}: {told}");
        }
    }
}
