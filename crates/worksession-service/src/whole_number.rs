//! Whole numbers in JSON bodies. `25.0` is 25, because some languages have only one kind of number (RFC 8259 section 6).

use serde::de::{Deserialize as _, Deserializer, Error as _, Unexpected};
use serde_json::Number;

/// Deserializes a whole number, or null.
pub(crate) fn whole_number<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    let Some(number) = Option::<Number>::deserialize(deserializer)? else {
        return Ok(None);
    };
    // A number without a fraction prints as an integer.
    let of_float = || number.as_f64()?.to_string().parse().ok();
    let whole = number.as_i64().or_else(of_float);
    let found = Unexpected::Float(number.as_f64().unwrap_or_default());
    let refused = || D::Error::invalid_value(found, &"a whole number");
    whole
        .and_then(|whole| T::try_from(whole).ok())
        .map(Some)
        .ok_or_else(refused)
}

/// As [`whole_number`], and distinguishes a field that is null from one that is absent.
pub(crate) fn present_number<'de, D, T>(deserializer: D) -> Result<Option<Option<T>>, D::Error>
where
    D: Deserializer<'de>,
    T: TryFrom<i64>,
{
    whole_number(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Deserialize)]
    struct Body {
        #[serde(default, deserialize_with = "whole_number")]
        minutes: Option<i32>,
    }

    #[test]
    fn a_number_without_a_fraction_is_whole_however_it_is_written() {
        for (json, minutes) in [
            ("25", Some(25)),
            ("25.0", Some(25)),
            ("2.5e1", Some(25)),
            ("-0.0", Some(0)),
            ("null", None),
        ] {
            let body = serde_json::from_str::<Body>(&format!("{{\"minutes\":{json}}}"));
            assert_eq!(body.ok().map(|body| body.minutes), Some(minutes), "{json}");
        }
        for json in [
            "25.5",
            "\"25\"",
            "1e300",
            "2147483648",
            "18446744073709551615",
            "true",
            "[25]",
        ] {
            let body = serde_json::from_str::<Body>(&format!("{{\"minutes\":{json}}}"));
            assert!(body.is_err(), "{json}");
        }
    }
}
