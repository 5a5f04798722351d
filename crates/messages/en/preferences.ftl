# The user's settings in the dashboard.

# The first is the name of the tabs, too.
preferences-title = Settings
preferences-tab = Preferences
preferences-tab-projects = Projects
preferences-tab-webhooks = Webhooks
preferences-tab-account = Account

preferences-general = General
preferences-daily-goal = Daily goal (sessions)
preferences-session-length = Session length (minutes)
preferences-short-break = Short break (minutes)
preferences-long-break = Long break (minutes)
preferences-number = Must be a whole number from 1 to { $most }
preferences-sound = Notification sound
preferences-sound-bell = Bell
preferences-sound-chime = Chime
preferences-sound-digital = Digital
preferences-sound-none = None
preferences-theme = Theme
preferences-theme-system = System
preferences-theme-light = Light
preferences-theme-dark = Dark
preferences-leaderboard = Show me on the global leaderboard. Team leaderboards always show all members.

preferences-timezone = Time zone
preferences-timezone-text = Your days, weeks and streaks follow this time zone. You can change it once a day. Past sessions keep their dates.
preferences-timezone-submit = Change time zone
# $reason is a sentence of the API, $wait a time such as 24 hours.
preferences-timezone-wait = { $reason }, so try again in { $wait }

# Links that download files.
preferences-export = Export
preferences-export-text = Download all your sessions, with notes, ratings and tags.
preferences-export-csv = CSV
preferences-export-json = JSON
preferences-export-calendar = Calendar
