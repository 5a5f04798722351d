auth_types::id_type! {
    /// A personal project.
    pub(crate) struct ProjectId;
}

auth_types::id_type! {
    /// A team project.
    pub(crate) struct TeamProjectId;
}
