use auth_types::TeamId;
use chrono::NaiveDateTime;
use diesel::prelude::*;

use crate::projects::TeamProjectId;
use crate::schema::team_projects;

#[derive(Debug, Clone, Queryable, Selectable)]
#[diesel(table_name = team_projects)]
pub(crate) struct TeamProjectRow {
    pub(crate) id: TeamProjectId,
    pub(crate) team_id: TeamId,
    /// The last known name, for readers of a public project who are not in the team.
    pub(crate) team_name: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) chat_channel: String,
    pub(crate) is_public: bool,
    pub(crate) archived_at: Option<NaiveDateTime>,
    pub(crate) created_at: NaiveDateTime,
}

#[derive(Debug, Insertable)]
#[diesel(table_name = team_projects)]
pub(crate) struct NewTeamProject {
    pub(crate) team_id: i64,
    pub(crate) team_name: String,
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) chat_channel: String,
    pub(crate) is_public: bool,
    pub(crate) created_at: NaiveDateTime,
    pub(crate) updated_at: NaiveDateTime,
}

/// The changes of a PUT; absent fields stay as they are.
#[derive(Debug, AsChangeset)]
#[diesel(table_name = team_projects)]
pub(crate) struct TeamProjectChanges {
    pub(crate) team_name: String,
    pub(crate) name: Option<String>,
    pub(crate) description: Option<String>,
    pub(crate) chat_channel: Option<String>,
    pub(crate) is_public: Option<bool>,
    pub(crate) updated_at: NaiveDateTime,
}
