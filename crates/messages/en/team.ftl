# A team's projects, leaderboard and chat, in the dashboard.

# The list of teams.
team-teams = Teams
team-none = You are not in a team yet. Create one, or ask a team’s owner or admin to invite you.
team-create = Create a team
team-invitations = View invitations

# Leaderboards, of one team and of all users who allow it.
team-leaderboard = Leaderboard
team-global-leaderboard = Global leaderboard
team-not-listed = You are not on this leaderboard.
# A link.
team-join-leaderboard = Join it in your settings
# The name of the tabs, for screen readers, and the tabs.
team-period = Period
team-period-tab = { $period ->
    [day] Today
    [week] Week
    [month] Month
   *[all] All time
}
team-no-entries = No entries yet.
# Columns.
team-rank = Rank
team-user = User
team-points = Points
team-time = Time
team-leaderboard-age = Periods are in UTC. Data is at most ten seconds old.

# The page of a team.
team-members = Members
team-new-project = New project
team-active = Active sessions
team-none-active = No active sessions right now.
# $time is a time of day.
team-until = until { $time }
team-week = This week
# After the time that was credited, which is larger.
team-of-planned = of { $planned } planned
# Columns.
team-member = Member
team-planned = Planned
team-credited = Credited
team-sessions = Sessions
team-projects = Projects
team-no-projects = No projects yet.
team-create-first-project = Create a project

# The page of a project.
team-archived = Archived
team-public = Public
team-settings = Settings
# For screen readers, in place of team-settings.
team-settings-of = Settings for { $project }
# $chat is a product, such as Slack.
team-chat-none = No chat is connected.
team-chat-on = Sessions are announced in { $chat }.
team-chat-on-channel = Sessions are announced in { $chat }, channel { $channel }.
team-chat-off = Sessions are currently not announced in { $chat }.
team-activity = Activity
team-no-activity = No activity yet.
# Whether a session was announced in the chat. A reason of the API may follow.
team-announcement-pending = Not announced yet
team-announcement = { $outcome ->
    [delivered] Announced
    [skipped] Not announced
   *[failed] Announcement failed
}

# A new project, and the settings of one.
team-create-project = Create project
team-project-settings = Project settings
team-channel = Chat channel
team-channel-hint = For example #focus. It selects the channel in Mattermost and the topic in Zulip. Elsewhere it is only a label.
team-is-public = Visible to everyone who is signed in. Only members can see its sessions and start new ones.
# A heading and a button.
team-archive = Archive project
team-archive-text = You cannot start new sessions on an archived project. Its past sessions are kept.

# The chat of a project.
team-chat = Chat
team-chat-creator = This chat was connected by { $creator }. If you resume it, it will belong to you.
# The last test message. A reason of the API may follow. $at is a date with its time.
team-test = { $outcome ->
    [pending] Test message from { $at }: waiting for the result.
    [delivered] Test message from { $at }: delivered.
   *[failed] Test message from { $at }: not delivered.
}
team-test-send = Send test message
team-chat-remove = Remove chat
team-chat-change = Change chat
team-chat-provider = Provider
team-chat-webhook-url = Incoming webhook URL
team-chat-webhook-url-hint = For all providers except Matrix. It is stored encrypted and not shown again.
team-chat-matrix = Matrix settings
team-chat-homeserver = Homeserver URL
team-chat-room = Room ID
team-chat-token = Access token of the posting account
# What is announced.
team-announcements = Announcements
team-announced = { $event ->
    [planned] Session started, with its plan
    [finished] Session finished, with its result
   *[abandoned] Session abandoned
}
