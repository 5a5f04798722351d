//! Compares the fields that are locked when the timer starts with those that a submit or an edit sends.

/// The locked fields of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockedFields<'a> {
    pub(crate) category: &'a str,
    /// Planned minutes.
    pub(crate) duration: i64,
    /// `team_N`, `personal_N` or `none`.
    pub(crate) project_id: &'a str,
    pub(crate) planning_note: &'a str,
}

/// The locked fields of a request. A field that is left out is not compared.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SubmittedFields<'a> {
    pub(crate) category: Option<&'a str>,
    pub(crate) duration: Option<i64>,
    pub(crate) project_id: Option<&'a str>,
    /// None for a submit, which has no such field.
    pub(crate) planning_note: Option<&'a str>,
}

/// Returns the names of the fields that were sent and differ, in the order of the API's contract.
pub(crate) fn compare(plan: &LockedFields<'_>, sent: &SubmittedFields<'_>) -> Vec<&'static str> {
    let mut names = Vec::new();
    if sent.category.is_some_and(|value| value != plan.category) {
        names.push("category");
    }
    if sent.duration.is_some_and(|value| value != plan.duration) {
        names.push("duration");
    }
    if sent
        .project_id
        .is_some_and(|value| value != plan.project_id)
    {
        names.push("project_id");
    }
    if sent
        .planning_note
        .is_some_and(|value| value != plan.planning_note)
    {
        names.push("planning_note");
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: LockedFields<'static> = LockedFields {
        category: "coding",
        duration: 25,
        project_id: "team_3",
        planning_note: "the plan",
    };

    #[test]
    fn every_combination_of_changed_fields_is_named_in_order() {
        for mask in 0..16_u8 {
            let submitted = SubmittedFields {
                category: Some(if mask & 1 == 0 { "coding" } else { "Coding" }),
                duration: Some(if mask & 2 == 0 { 25 } else { -25 }),
                project_id: Some(if mask & 4 == 0 { "team_3" } else { "none" }),
                planning_note: Some(if mask & 8 == 0 { "the plan" } else { "" }),
            };
            let expected: Vec<_> = ["category", "duration", "project_id", "planning_note"]
                .into_iter()
                .enumerate()
                .filter(|(bit, _)| mask & (1 << bit) != 0)
                .map(|(_, name)| name)
                .collect();
            assert_eq!(compare(&PLAN, &submitted), expected);
        }
    }

    #[test]
    fn a_field_that_is_left_out_does_not_differ() {
        assert!(compare(&PLAN, &SubmittedFields::default()).is_empty());
    }
}
