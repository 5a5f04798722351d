use serde::Deserialize;
use utoipa::ToSchema;

use crate::error::Error;
use crate::projects::ProjectRef;
use crate::rules::locked_fields::SubmittedFields;
use crate::sessions::wire::{check_note, check_rating, check_tags, present};
use crate::whole_number::{present_number, whole_number};

/// Changes to a submitted session; absent fields stay as they are. The plan may be included unchanged, for clients
/// that send a whole session back.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct EditRequest {
    /// The execution note, up to 2,000 characters; null clears it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 2000)]
    note: Option<Option<String>>,
    /// 1 to 5; null removes the rating.
    #[serde(default, deserialize_with = "present_number")]
    #[schema(value_type = Option<i32>, minimum = 1, maximum = 5)]
    quality_rating: Option<Option<i32>>,
    /// Up to 10 tags of 1 to 32 characters each; null removes them.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<String>>, max_items = 10)]
    tags: Option<Option<Vec<String>>>,
    /// Locked: must match the plan.
    category: Option<String>,
    /// Locked: minutes, must match the plan. Also accepted as `planned_duration` or `plannedDuration`.
    #[serde(
        default,
        alias = "planned_duration",
        alias = "plannedDuration",
        deserialize_with = "whole_number"
    )]
    duration: Option<i64>,
    /// Locked: must match the plan. Also accepted as `projectId`.
    #[serde(default, alias = "projectId", deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    project_id: Option<Option<String>>,
    /// Locked: must match the plan.
    project: Option<EditedProject>,
    /// Locked: must match the plan. Also accepted as `planningNote`.
    #[serde(alias = "planningNote")]
    planning_note: Option<String>,
}

/// The project, in the form in which a session shows it.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct EditedProject {
    /// Locked: must match the plan.
    id: Option<String>,
}

/// Validated changes, and the fields of the plan that were sent. None leaves a field as it is.
#[derive(Debug)]
pub(crate) struct SessionEdit {
    pub(super) note: Option<String>,
    /// `Some(None)` removes the rating.
    pub(super) quality_rating: Option<Option<i32>>,
    /// A JSON array.
    pub(super) tags: Option<String>,
    category: Option<String>,
    duration: Option<i64>,
    project_id: Option<String>,
    planning_note: Option<String>,
}

impl TryFrom<EditRequest> for SessionEdit {
    type Error = Error;

    fn try_from(request: EditRequest) -> Result<Self, Error> {
        check_rating(request.quality_rating.flatten())?;
        let project_id = request
            .project_id
            .or(request.project.and_then(|project| project.id).map(Some));
        Ok(Self {
            note: request.note.map(check_note).transpose()?,
            quality_rating: request.quality_rating,
            tags: request.tags.map(encode_tags).transpose()?,
            category: request.category.map(|category| category.trim().to_owned()),
            duration: request.duration,
            project_id: project_id.map(canonical_project_id),
            planning_note: request.planning_note,
        })
    }
}

impl SessionEdit {
    pub(super) fn is_empty(&self) -> bool {
        self.note.is_none() && self.quality_rating.is_none() && self.tags.is_none()
    }

    pub(super) fn submitted_fields(&self) -> SubmittedFields<'_> {
        SubmittedFields {
            category: self.category.as_deref(),
            duration: self.duration,
            project_id: self.project_id.as_deref(),
            planning_note: self.planning_note.as_deref(),
        }
    }
}

fn encode_tags(tags: Option<Vec<String>>) -> Result<String, Error> {
    let tags = check_tags(tags.unwrap_or_default())?;
    serde_json::to_string(&tags).map_err(Error::internal)
}

/// Normalises the four spellings of "no project". A malformed id stays as it is, and so differs from every plan.
fn canonical_project_id(text: Option<String>) -> String {
    ProjectRef::parse(text.as_deref())
        .map_or_else(|_| text.unwrap_or_default(), |project| project.to_string())
}
