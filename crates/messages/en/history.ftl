# Statistics and the list of sessions. Durations such as 3 h 20 min, dates and points are already formatted.

# The first is the name of the tabs, too.
history-title = History
history-statistics = Statistics
history-sessions = Sessions

# Totals.
history-total = Total
# After the total time, which is larger.
history-in-sessions = { $count ->
    [one] in 1 session
   *[other] in { $count } sessions
}
history-average = Average session
history-average-minutes = { $minutes } min
history-best-hour = Most productive hour
history-top-category = Top category
history-streak = Streak
history-longest = Longest
history-today = Today
history-this-week = This week
history-this-month = This month
history-all-time = All time
# A day is active once it has ten credited minutes.
history-active-days = { $count ->
    [one] 1 active day
   *[other] { $count } active days
}
history-points = Points

# The calendar. The second and third are for screen readers.
history-year = Past year
history-calendar = Calendar of the past year
history-calendar-chart = Minutes per day in the past year, compared with your daily goal of { $goal }
# Labels beside every other row.
history-monday = Mon
history-wednesday = Wed
history-friday = Fri
# $sessions of $duration make the $goal.
history-shading = { $sessions ->
    [one] Shading shows progress towards your daily goal of 1 session ({ $goal }).
   *[other] Shading shows progress towards your daily goal of { $sessions } sessions of { $duration } ({ $goal }).
}
# The caption of a table.
history-days-with-sessions = Days with sessions
history-no-days = No sessions in the past year.

# Charts, and the tables with the same numbers.
history-view-table = View as a table
history-minutes = Minutes
history-by-day = Minutes by day
history-by-day-note = Last 30 days. The line marks your daily goal of { $goal }.
history-by-day-chart = Minutes per day, last 30 days
history-day = Day
history-by-week = Minutes by week
history-by-week-note = Last 26 weeks. The line marks seven times your daily goal.
history-by-week-chart = Minutes per week, last 26 weeks
history-week = Week
history-week-of-year = Week { $week }, { $year }
history-week-short = W{ $week }
history-hour = Hour
# From the first to the last minute of an hour.
history-hour-range = { $hour }:00–{ $hour }:59
# Over a part of a chart. $name is a day, a week or an hour.
history-bar = { $count ->
    [one] { $name }: { $time }, 1 session
   *[other] { $name }: { $time }, { $count } sessions
}

# The last days by category, project and hour. The name of the links is for screen readers.
history-last-days = Last { $days } days
history-range = Date range
history-range-days = { $days } days
history-by-category = By category
history-by-category-chart = Time by category
history-by-project = By project
history-by-project-chart = Time by project
history-by-hour = By hour of day
history-by-hour-chart = Minutes by hour of day
history-time = Time
history-share = { $count ->
    [one] { $percent }%, 1 session
   *[other] { $percent }%, { $count } sessions
}
history-no-shares = No sessions in this period.
history-other-projects = Other
# A project of a team that the user left, or that was deleted.
history-unavailable-project = Unavailable project

history-badges = Badges
history-no-badges = No badges yet. Complete a session to earn your first.

# The list of sessions. The filters and the columns share labels.
history-status = Status
history-project = Project
history-category = Category
history-tag = Tag
history-from = From
history-to = To
history-all = All
history-no-project = No project
history-filter = Filter
history-clear = Clear filters
history-none = No sessions yet.
history-no-matches = No matching sessions.
history-no-recent-matches = No matches among the last 10,000 sessions. Older sessions may match.
history-started = Started
history-session = Session
history-credited = Credited
