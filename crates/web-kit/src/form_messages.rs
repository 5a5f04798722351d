//! The messages of a page about a submitted form: that it succeeded, or what is wrong with which field.

use actix_web::http::StatusCode;
use messages::t;

/// The message at the top of a page, or the one beside a field.
#[derive(Debug, Default)]
pub struct FormMessages {
    success: Option<String>,
    error: Option<FormError>,
}

#[derive(Debug)]
struct FormError {
    status: StatusCode,
    /// The field beside which it is shown; none for the top of the page.
    field: Option<&'static str>,
    message: String,
}

impl FormMessages {
    /// Creates a success message from its name in the address of the page. `messages` maps these names to ids of messages; others
    /// cannot be shown, so that an address cannot put words into our mouth.
    #[must_use]
    pub fn for_success(name: Option<&str>, messages: &[(&str, &'static str)]) -> Self {
        let found = name.and_then(|name| messages.iter().find(|(known, _)| *known == name));
        Self {
            success: found.map(|(_, id)| t(id).into()),
            error: None,
        }
    }

    /// Creates the error of a field, or of the form as a whole.
    #[must_use]
    pub fn for_error(
        field: Option<&'static str>,
        status: StatusCode,
        message: impl Into<String>,
    ) -> Self {
        Self {
            success: None,
            error: Some(FormError {
                status,
                field,
                message: message.into(),
            }),
        }
    }

    /// Creates the error of one field (400).
    #[must_use]
    pub fn for_field(field: &'static str, message: impl Into<String>) -> Self {
        Self::for_error(Some(field), StatusCode::BAD_REQUEST, message)
    }

    /// Whether there is an error.
    #[must_use]
    pub fn has_error(&self) -> bool {
        self.error.is_some()
    }

    /// Returns the status of the page.
    #[must_use]
    pub fn status(&self) -> StatusCode {
        let error = self.error.as_ref();
        error.map_or(StatusCode::OK, |error| error.status)
    }

    /// Returns the success message, for the top of the page.
    #[must_use]
    pub fn success(&self) -> Option<&str> {
        self.success.as_deref()
    }

    /// Returns the error that belongs to no field, for the top of the page, without its full stop.
    #[must_use]
    pub fn error(&self) -> Option<&str> {
        let error = self.error.as_ref().filter(|error| error.field.is_none())?;
        Some(error.message.trim_end_matches('.'))
    }

    /// Returns the error beside this field.
    #[must_use]
    pub fn error_at(&self, field: &str) -> Option<&str> {
        let error = self.error.as_ref()?;
        (error.field == Some(field)).then_some(&error.message)
    }

    /// Returns the attributes that link a field to its error and, if it has one, to its `hint`. The field's name is ours, so
    /// nothing needs escaping.
    #[must_use]
    pub fn aria_attributes(&self, field: &'static str, hint: bool) -> String {
        match (self.error_at(field).is_some(), hint) {
            (true, true) => {
                format!(" aria-invalid=\"true\" aria-describedby=\"{field}-error {field}-hint\"")
            }
            (true, false) => format!(" aria-invalid=\"true\" aria-describedby=\"{field}-error\""),
            (false, true) => format!(" aria-describedby=\"{field}-hint\""),
            (false, false) => String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_stands_beside_its_field_and_what_belongs_to_none_at_the_top() {
        let beside = FormMessages::for_field("bio", "Must be shorter");
        assert_eq!(beside.error_at("bio"), Some("Must be shorter"));
        assert_eq!((beside.error_at("name"), beside.error()), (None, None));
        assert_eq!(
            beside.aria_attributes("bio", true),
            " aria-invalid=\"true\" aria-describedby=\"bio-error bio-hint\""
        );
        assert_eq!(beside.aria_attributes("name", false), "");
        let above = FormMessages::for_error(None, StatusCode::CONFLICT, "It is gone.");
        assert_eq!(
            (above.error(), above.status()),
            (Some("It is gone"), StatusCode::CONFLICT)
        );
    }

    #[test]
    fn an_address_says_only_what_we_would_say() {
        let messages = [("next", "common-next")];
        assert_eq!(
            FormMessages::for_success(Some("evil words"), &messages).success(),
            None
        );
        assert_eq!(
            FormMessages::for_success(Some("next"), &messages).success(),
            Some("Next")
        );
    }
}
