//! No user input makes a message longer than its chat allows, or mentions anybody.

use proptest::prelude::*;
use test_kit::chat_response;

use super::*;
use crate::text::ZERO_WIDTH_SPACE;

/// Arbitrary text, mixed with repeated characters that have a meaning in some chat.
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
    fn no_message_is_too_long_or_mentions_anybody(
        user in typed(), project in typed(), team in typed(), category in typed(), note in typed()
    ) {
        let input = UserInput { user, project, team: Some(team), category, note };
        for (_, notifications) in input.messages() {
            for provider in ChatProvider::ALL {
                check(provider, &body(provider, &notifications));
                let many: Vec<Notification> = std::iter::repeat_n(notifications.clone(), 8).flatten().collect();
                check(provider, &body(provider, &many));
            }
        }
    }
}

pub(super) fn check(provider: ChatProvider, message: &Value) {
    for text in texts(message) {
        assert!(
            is_apart(&json!(text), &['@']),
            "{provider:?} calls somebody: {text:?}"
        );
    }
    let (status, error) = chat_response(provider, message);
    assert!(
        (200..300).contains(&status),
        "{provider:?} answers {status} {error}: {message}"
    );
    assert!(
        chat(provider).is_harmless(message),
        "{provider:?}: {message}"
    );
}

/// Whether each of these characters is separated from the next one.
pub(in crate::providers) fn is_apart(text: &Value, signs: &[char]) -> bool {
    let text = text.as_str().unwrap();
    let mut found = text.match_indices(signs);
    found.all(|(index, sign)| text[index + sign.len()..].starts_with(ZERO_WIDTH_SPACE))
}

/// Whether each of these characters is escaped by a backslash that is not itself escaped.
pub(in crate::providers) fn is_escaped(text: &str, signs: &[char]) -> bool {
    text.match_indices(signs).all(|(index, _)| {
        let before = text[..index].chars().rev();
        before.take_while(|sign| *sign == '\\').count() % 2 == 1
    })
}

/// Returns every text in a message.
pub(in crate::providers) fn texts(value: &Value) -> Vec<String> {
    match value {
        Value::String(text) => vec![text.clone()],
        Value::Array(values) => values.iter().flat_map(texts).collect(),
        Value::Object(values) => values.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}
