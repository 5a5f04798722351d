# Statistics and the list of sessions. Durations such as 3 h 20 min, dates and points are formatted before.

# The first is the name of the tabs, too.
look-back-title = History
look-back-statistics = Statistics
look-back-sessions = Sessions

# Totals.
look-back-total = Total
# After the total time, which is larger.
look-back-in-sessions = { $count ->
    [one] in 1 session
   *[other] in { $count } sessions
}
look-back-average = Average session
look-back-average-minutes = { $minutes } min
look-back-best-hour = Most productive hour
look-back-top-category = Top category
look-back-streak = Streak
look-back-longest = Longest
look-back-today = Today
look-back-this-week = This week
look-back-this-month = This month
look-back-all-time = All time
# A day is active from ten minutes on.
look-back-active-days = { $count ->
    [one] 1 active day
   *[other] { $count } active days
}
look-back-points = Points

# The calendar. The second and third are for screen readers.
look-back-year = Past year
look-back-calendar = Calendar of the past year
look-back-calendar-chart = Minutes per day in the past year, compared with your daily goal of { $goal }
# Labels beside every other row.
look-back-monday = Mon
look-back-wednesday = Wed
look-back-friday = Fri
# $sessions of $duration make the $goal.
look-back-shading = { $sessions ->
    [one] Shading shows progress toward your daily goal of 1 session ({ $goal }).
   *[other] Shading shows progress toward your daily goal of { $sessions } sessions of { $duration } ({ $goal }).
}
# The caption of a table.
look-back-days-with-sessions = Days with sessions
look-back-no-days = No sessions in the past year.

# Charts, and the tables with the same numbers.
look-back-view-table = View as a table
look-back-minutes = Minutes
look-back-by-day = Minutes by day
look-back-by-day-note = Last 30 days. The line marks your daily goal of { $goal }.
look-back-by-day-chart = Minutes per day, last 30 days
look-back-day = Day
look-back-by-week = Minutes by week
look-back-by-week-note = Last 26 weeks. The line marks seven times your daily goal.
look-back-by-week-chart = Minutes per week, last 26 weeks
look-back-week = Week
look-back-week-of-year = Week { $week }, { $year }
look-back-week-short = W{ $week }
look-back-hour = Hour
# From the first to the last minute of an hour.
look-back-hour-range = { $hour }:00–{ $hour }:59
# Over a part of a chart. $name is a day, a week or an hour.
look-back-bar = { $count ->
    [one] { $name }: { $time }, 1 session
   *[other] { $name }: { $time }, { $count } sessions
}

# How the last days divide. The name of the links is for screen readers.
look-back-last-days = Last { $days } days
look-back-range = Date range
look-back-range-days = { $days } days
look-back-by-category = By category
look-back-by-category-chart = Time by category
look-back-by-project = By project
look-back-by-project-chart = Time by project
look-back-by-hour = By hour of day
look-back-by-hour-chart = Minutes by hour of day
look-back-time = Time
look-back-share = { $count ->
    [one] { $percent }%, 1 session
   *[other] { $percent }%, { $count } sessions
}
look-back-no-shares = No sessions in this period.
look-back-other-projects = Other
# A project of a team that the user left, or that was deleted.
look-back-unavailable-project = Unavailable project

look-back-badges = Badges
look-back-no-badges = No badges yet. Complete a session to earn your first.

# The list of sessions. The filters and the columns share labels.
look-back-status = Status
look-back-project = Project
look-back-category = Category
look-back-tag = Tag
look-back-from = From
look-back-to = To
look-back-all = All
look-back-no-project = No project
look-back-filter = Filter
look-back-clear = Clear filters
look-back-none = No sessions yet.
look-back-no-matches = No matching sessions.
look-back-no-recent-matches = No matches among the last 10,000 sessions. Older sessions may match.
look-back-started = Started
look-back-session = Session
look-back-credited = Credited
