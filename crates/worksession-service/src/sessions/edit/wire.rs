use serde::Deserialize;
use utoipa::ToSchema;

use crate::error::Error;
use crate::projects::ProjectRef;
use crate::rules::locked::Given;
use crate::sessions::wire::{check_rating, note, present, tags};

/// Changes to a submitted session; absent fields stay as they are. The plan may be sent along as it is, as
/// clients do that send a whole session back.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct EditRequest {
    /// The execution note, up to 2,000 characters; null empties it.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 2000)]
    note: Option<Option<String>>,
    /// 1 to 5; null takes it away.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<i32>, minimum = 1, maximum = 5)]
    quality_rating: Option<Option<i32>>,
    /// Up to 10, each up to 32 characters; null takes them away.
    #[serde(default, deserialize_with = "present")]
    #[schema(value_type = Option<Vec<String>>, max_items = 10)]
    tags: Option<Option<Vec<String>>>,
    /// Locked: as planned.
    category: Option<String>,
    /// Locked: minutes, as planned. `planned_duration` and `plannedDuration` are other names.
    #[serde(alias = "planned_duration", alias = "plannedDuration")]
    duration: Option<i64>,
    /// Locked: as planned. `projectId` is another name.
    #[serde(default, alias = "projectId", deserialize_with = "present")]
    #[schema(value_type = Option<String>)]
    project_id: Option<Option<String>>,
    /// Locked: as planned.
    project: Option<EditedProject>,
    /// Locked: as planned. `planningNote` is another name.
    #[serde(alias = "planningNote")]
    planning_note: Option<String>,
}

/// The project as a session shows it.
#[derive(Debug, Deserialize, ToSchema)]
pub(crate) struct EditedProject {
    /// Locked: as planned.
    id: Option<String>,
}

/// Changes that fit their limits, and what was sent of the plan; none stays as it is.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(super) note: Option<String>,
    /// Some of none takes it away.
    pub(super) quality_rating: Option<Option<i32>>,
    /// JSON.
    pub(super) tags: Option<String>,
    category: Option<String>,
    duration: Option<i64>,
    project_id: Option<String>,
    planning_note: Option<String>,
}

impl TryFrom<EditRequest> for Edit {
    type Error = Error;

    fn try_from(request: EditRequest) -> Result<Self, Error> {
        check_rating(request.quality_rating.flatten())?;
        let project_id = request
            .project_id
            .or(request.project.and_then(|project| project.id).map(Some));
        Ok(Self {
            note: request.note.map(note).transpose()?,
            quality_rating: request.quality_rating,
            tags: request.tags.map(json_of_tags).transpose()?,
            category: request.category.map(|category| category.trim().to_owned()),
            duration: request.duration,
            project_id: project_id.map(one_spelling),
            planning_note: request.planning_note,
        })
    }
}

impl Edit {
    pub(super) fn changes_nothing(&self) -> bool {
        self.note.is_none() && self.quality_rating.is_none() && self.tags.is_none()
    }

    pub(super) fn locked(&self) -> Given<'_> {
        Given {
            category: self.category.as_deref(),
            duration: self.duration,
            project_id: self.project_id.as_deref(),
            planning_note: self.planning_note.as_deref(),
        }
    }
}

fn json_of_tags(given: Option<Vec<String>>) -> Result<String, Error> {
    let tags = tags(given.unwrap_or_default())?;
    serde_json::to_string(&tags).map_err(Error::internal)
}

/// Nothing has four spellings; what names no project differs from every plan.
fn one_spelling(text: Option<String>) -> String {
    ProjectRef::parse(text.as_deref())
        .map_or_else(|_| text.unwrap_or_default(), |project| project.to_string())
}
