# A user's own projects.

projects-title = Projects
projects-intro = Personal projects for work outside your teams.
# A link.
projects-team = Team projects
projects-none = No projects yet.
projects-archived = Archived

projects-new = New project
projects-create = Create project
projects-name = Name
projects-description = Description

# One project.
projects-project = Project
projects-archive = Archive project
projects-archive-text = You cannot start new sessions on an archived project. Its past sessions are kept.
