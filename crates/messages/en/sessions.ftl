# Finishing a focus session, and the session afterwards.

# Labels of the plan and its result, here and on the page of today.
sessions-category = Category
sessions-project = Project
sessions-no-project = No project
sessions-duration = Duration (minutes)
sessions-planned = Planned
sessions-planning-note = Planning note
sessions-credited = Credited
sessions-status = { $status ->
    [running] Running
    [awaiting_submit] Not finished
    [completed] Completed
    [partial] Partial
    [abandoned] Abandoned
   *[other] { $status }
}

# The form at the end of a session.
sessions-finish = Finish session
sessions-abandoned = This session was not finished within 12 hours of its planned end. Your note will be saved, but no time will be credited.
sessions-locked-plan = Plan (locked)
sessions-time = { $from } to { $to }
# $worked and $planned are numbers of minutes.
sessions-time-partial = { $from } to { $to }: { $worked } of { $planned } minutes. Finishing early earns half the points, or none if you worked less than 5 minutes or less than half of the plan.
sessions-not-now = Not now
# Errors, without a full stop, because the page adds it. $message is a sentence of the API without one.
sessions-already-finished = This session was already finished in another tab or client, so this form was not saved. Your input is below. To replace the saved version with it, save again
sessions-plan-differs = Your plan was locked when the timer started and cannot be changed. { $message }. Nothing was saved, and the session is still open. Below is the original plan with your input

# The fields about the work.
sessions-note = Note
sessions-rating = Rating
sessions-rating-none = No rating
sessions-rating-value = { $rating ->
    [5] 5 – Excellent
    [4] 4 – Good
    [3] 3 – Okay
    [2] 2 – Poor
   *[1] 1 – Very poor
}
sessions-rating-malformed = Choose a rating from 1 to 5
sessions-tags = Tags
sessions-tags-hint = Up to ten, separated by commas

# The page right after a session. The heading is that of a complete session, of a shorter one, or of an abandoned one.
sessions-well-done = Well done
sessions-saved = Session saved
sessions-note-saved = Note saved
# After the number of points.
sessions-points-earned = { $count ->
    [one] point
   *[other] points
}
sessions-credited-minutes = { $credited } of { $planned } minutes
sessions-points-today = Points today
sessions-points-total = Total points
sessions-streak = Streak
sessions-flagged = The times of this session look unusual. It stays off the leaderboards until it is reviewed.
# A link.
sessions-flagged-details = View details
sessions-new-badges = { $count ->
    [one] New badge
   *[other] New badges
}

# The page of a session.
sessions-session = Session
sessions-sessions = Sessions
sessions-plan = Plan
sessions-result = Result
sessions-started = Started
sessions-ended = Ended
# A duration, and points.
sessions-credit = { $duration }, { $points ->
    [one] 1 point
   *[other] { $points } points
}
sessions-submitted = Finished
# After the reason of an integrity flag.
sessions-flag-cleared = (reviewed and cleared)
sessions-flag-open = (off the leaderboards until it is reviewed)
sessions-flag-upheld = (off the leaderboards)
sessions-edit = Edit session
sessions-edit-text = The plan cannot be changed. Your edits do not affect the credit.
sessions-not-submitted = This session is not finished yet.

# Badges, by their ids in the API, and what each is for.
sessions-badge = { $badge ->
    [first_session] First session
    [streak_7] 7-day streak
    [streak_30] 30-day streak
    [streak_100] 100-day streak
    [sessions_100] 100 sessions
    [sessions_1000] 1,000 sessions
    [hours_100] 100 hours
    [early_bird] Early bird
    [night_owl] Night owl
    [perfect_week] Perfect week
   *[other] { $badge }
}
sessions-badge-reason = { $badge ->
    [first_session] Completed your first session
    [streak_7] Focused 7 days in a row
    [streak_30] Focused 30 days in a row
    [streak_100] Focused 100 days in a row
    [sessions_100] Completed 100 sessions
    [sessions_1000] Completed 1,000 sessions
    [hours_100] 100 credited hours
    [early_bird] Completed a session that started between 04:00 and 07:00
    [night_owl] Completed a session that started at 22:00 or later
    [perfect_week] Focused every day from Monday to Sunday
   *[other] { "" }
}
