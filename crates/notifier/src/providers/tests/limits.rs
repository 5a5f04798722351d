//! Whatever people type, no message is longer than its chat takes, and none calls anybody.

use proptest::prelude::*;

use super::*;
use crate::providers::escape::units;
use crate::text::ZERO_WIDTH_SPACE;

/// What people might write: anything, and the signs that mean something somewhere, again and again.
fn typed() -> impl Strategy<Value = String> {
    let signs = "@everyone @here @all @room @channel @**all** @_**bob** <@42> <@!42> <@&7> <#9> <!channel> <!here|x> \
                 <t:0:R> <time:x> [x](https://e.example) ![x](https://e.example) <https://e.example|x> ](/ \\ ` ``` * ** \
                 _ ~~ || > # - <b> <a\u{20}href=x> & &lt; &#64;all https://e.example/a_b?c=1&d=@x \n \t \u{202e}";
    let signs: Vec<&str> = signs.split(' ').collect();
    let part = prop_oneof![
        any::<String>(),
        prop::sample::select(signs).prop_map(str::to_owned)
    ];
    (prop::collection::vec(part, 0..12), 1_usize..200)
        .prop_map(|(parts, times)| parts.concat().repeat(times))
        .prop_map(|text| text.chars().take(4_000).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_message_is_too_long_or_calls_anybody(
        user in typed(), project in typed(), team in typed(), category in typed(), note in typed()
    ) {
        let words = Words { user, project, team: Some(team), category, note };
        for (_, notices) in words.messages() {
            for provider in PROVIDERS {
                check(provider, &body(provider, &notices));
                let many: Vec<Notice> = std::iter::repeat_n(notices.clone(), 8).flatten().collect();
                check(provider, &body(provider, &many));
            }
        }
    }
}

fn check(provider: &str, message: &Value) {
    let mut texts = Vec::new();
    gather(message, &mut texts);
    for text in &texts {
        for (index, _) in text.match_indices('@') {
            assert!(
                text[index + 1..].starts_with(ZERO_WIDTH_SPACE),
                "{provider} {text:?}"
            );
        }
    }
    let length = |value: &Value| value.as_str().map_or(0, units);
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = message["text"].as_str().unwrap_or_default();
    // Where a sign stands that is neither ours nor held apart from what follows.
    let live = |signs: &[char]| {
        let mut found = text.match_indices(signs);
        found.any(|(index, sign)| !text[index + sign.len()..].starts_with(ZERO_WIDTH_SPACE))
    };
    match provider {
        "slack" => {
            assert!(length(&message["text"]) <= 5_000);
            for block in list(&message["blocks"]) {
                assert!(length(&block["text"]["text"]) <= 3_000);
                assert!(list(&block["fields"]).len() <= 10);
                assert!(
                    list(&block["fields"])
                        .iter()
                        .all(|field| length(&field["text"]) <= 2_000)
                );
            }
            for text in texts {
                assert!(!text.replace("<!date^", "").contains('<'), "{text:?}");
            }
        }
        "discord" => {
            assert!(length(&message["content"]) <= 2_000);
            assert_eq!(message["allowed_mentions"], json!({"parse": []}));
            for embed in list(&message["embeds"]) {
                let mut total = length(&embed["description"]);
                assert!(total <= 4_096);
                for field in list(&embed["fields"]) {
                    assert!(
                        length(&field["name"]) <= 256
                            && (1..=1_024).contains(&length(&field["value"]))
                    );
                    total += length(&field["name"]) + length(&field["value"]);
                }
                assert!(total <= 6_000);
            }
            for text in texts {
                let text = text.replace("<t:1795003000:t>", "");
                assert!(escaped(&text, &['<', '[', ']']), "{text:?}");
            }
        }
        "mattermost" => {
            assert!(length(&message["text"]) <= 16_383);
            for text in &texts {
                assert!(!text.contains('<'), "{text:?}");
                assert!(escaped(text, &['[', ']', '|']), "{text:?}");
            }
        }
        "rocketchat" => {
            assert!(length(&message["text"]) <= 5_000);
            assert!(!live(&['<', '[', ']', '#', '`']), "{text:?}");
        }
        "zulip" => {
            assert!(length(&message["text"]) <= 10_000);
            assert!(!live(&['<', '[', ']', '#', '`', '$']), "{text:?}");
        }
        _ => {
            assert!(message.to_string().len() <= 60_000);
            assert_eq!(message["m.mentions"], json!({}));
            let mut formatted = message["formatted_body"].as_str().unwrap().to_owned();
            for tag in ["b", "blockquote", "ul", "li"] {
                formatted = formatted
                    .replace(&format!("<{tag}>"), "")
                    .replace(&format!("</{tag}>"), "");
            }
            assert!(
                !formatted.replace("<br>", "").contains(['<', '"']),
                "{formatted:?}"
            );
        }
    }
}

/// Whether a backslash stands before each of the signs, and not before itself.
fn escaped(text: &str, signs: &[char]) -> bool {
    text.match_indices(signs).all(|(index, _)| {
        let before = text[..index].chars().rev();
        before.take_while(|sign| *sign == '\\').count() % 2 == 1
    })
}

fn gather(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(values) => values.iter().for_each(|value| gather(value, texts)),
        Value::Object(values) => values.values().for_each(|value| gather(value, texts)),
        _ => {}
    }
}
