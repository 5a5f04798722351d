use std::fmt;
use std::str::FromStr;

use super::{ProjectId, TeamProjectId};
use crate::error::Error;

/// The project of a session, as clients write it: `team_N`, `personal_N`, or no project (`none`, the empty text, null and
/// absent are equal).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum ProjectRef {
    None,
    /// `team_N`
    Team(TeamProjectId),
    /// `personal_N`
    Personal(ProjectId),
}

impl ProjectRef {
    /// Parses an optional text of a body.
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Error> {
        text.map_or(Ok(Self::None), str::parse)
    }
}

impl FromStr for ProjectRef {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text.is_empty() || text == "none" {
            return Ok(Self::None);
        }
        let reference = match text.split_once('_') {
            Some(("team", id)) => id.parse().ok().map(Self::Team),
            Some(("personal", id)) => id.parse().ok().map(Self::Personal),
            _ => None,
        };
        reference.ok_or(Error::ProjectNotFound)
    }
}

impl fmt::Display for ProjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Team(id) => write!(f, "team_{id}"),
            Self::Personal(id) => write!(f, "personal_{id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_missing_empty_or_none_reference_means_no_project() {
        for text in [None, Some(""), Some("none")] {
            assert_eq!(
                ProjectRef::parse(text).ok(),
                Some(ProjectRef::None),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_project_reference_parses_back_as_written() {
        for text in ["team_1", "team_9223372036854775807", "personal_42", "none"] {
            let read = text
                .parse::<ProjectRef>()
                .ok()
                .map(|reference| reference.to_string());
            assert_eq!(read.as_deref(), Some(text));
        }
    }

    #[test]
    fn a_malformed_project_reference_is_not_found() {
        for text in [
            "team",
            "team_",
            "team_0",
            "team_-1",
            "team_+1",
            "team_01",
            "team_1e3",
            "team_1 ",
            " team_1",
            "Team_1",
            "TEAM_1",
            "team_9223372036854775808",
            "team_1_2",
            "personal_",
            "personal_x",
            "none_1",
            "NONE",
            "null",
            "7",
            "team-1",
            "team_١",
        ] {
            assert!(
                matches!(text.parse::<ProjectRef>(), Err(Error::ProjectNotFound)),
                "{text:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_canonical_reference_or_is_refused(text in ".{0,40}") {
            if let Ok(reference) = text.parse::<ProjectRef>() {
                let written = reference.to_string();
                prop_assert!(written == text || (text.is_empty() && written == "none"));
            }
        }

        #[test]
        fn every_positive_id_parses_back(n in 1..=i64::MAX, team: bool) {
            let text = if team { format!("team_{n}") } else { format!("personal_{n}") };
            let read = text.parse::<ProjectRef>().ok().map(|reference| reference.to_string());
            prop_assert_eq!(read, Some(text));
        }
    }
}
