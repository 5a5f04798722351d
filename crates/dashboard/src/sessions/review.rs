use messages::t;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::form::normalize_line_ends;
use crate::form_messages::FormMessages;

/// What a user can write about a session afterwards. It contains nothing of the plan.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct SessionReview {
    #[serde(default)]
    pub(super) note: String,
    /// Empty, or 1 to 5.
    #[serde(default)]
    pub(super) quality_rating: String,
    /// Separated by commas.
    #[serde(default)]
    pub(super) tags: String,
}

/// The fields of the form, for the messages beside them.
pub(super) const FIELDS: [&str; 3] = ["note", "quality_rating", "tags"];

impl SessionReview {
    pub(super) const RATINGS: [i64; 5] = [5, 4, 3, 2, 1];

    pub(super) fn is_empty(&self) -> bool {
        let fields = [&self.note, &self.quality_rating, &self.tags];
        fields.iter().all(|field| field.trim().is_empty())
    }

    /// Returns the body for the service.
    ///
    /// # Errors
    /// What is wrong with a field.
    pub(super) fn body(&self) -> Result<Value, FormMessages> {
        let rating = match self.quality_rating.as_str() {
            "" => None,
            text => {
                let wrong =
                    |_| FormMessages::for_field("quality_rating", t("sessions-rating-malformed"));
                Some(text.parse::<i64>().map_err(wrong)?)
            }
        };
        let tags = self.tags.split(',').map(str::trim);
        let tags: Vec<&str> = tags.filter(|tag| !tag.is_empty()).collect();
        Ok(json!({
            "note": normalize_line_ends(&self.note),
            "quality_rating": rating,
            "tags": tags,
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_empty_is_left_out() {
        let review = SessionReview {
            note: "a\r\nb".to_owned(),
            quality_rating: String::new(),
            tags: " deep, ,work,".to_owned(),
        };
        let body = review.body().map_err(|_| ()).expect("fits");
        assert_eq!(
            body,
            json!({"note": "a\nb", "quality_rating": null, "tags": ["deep", "work"]})
        );
    }

    #[test]
    fn a_rating_is_a_number() {
        let review = SessionReview {
            quality_rating: "good".to_owned(),
            ..SessionReview::default()
        };
        assert!(
            review
                .body()
                .is_err_and(|it| it.error_at("quality_rating").is_some())
        );
    }
}
