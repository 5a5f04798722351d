auth_types::id_type! {
    /// The id of a personal project.
    pub(crate) struct ProjectId;
}

auth_types::id_type! {
    /// The id of a team project.
    pub(crate) struct TeamProjectId;
}
