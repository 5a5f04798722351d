# The running session, starting one, and breaks.

today-title = Today

# The running session. today-time-up also appears in the title of the page, before the category.
today-current = Current session
today-time-up = Time is up
# Under the remaining time. $time is a time of day.
today-until = until { $time }
today-since = ended at { $time }
# A planned duration, and the times of day at which it starts and ends.
today-planned = { $duration }, { $from } to { $to }
today-locked = Your plan is locked while the timer is running.
# The button while the timer is running, and after its end.
today-finish-now = Finish now
today-finish-session = Finish session

# Sessions that the start of another one has ended.
today-awaiting = Unfinished sessions
today-awaiting-text = These sessions ended when you started another one. To get credit for the time until then, finish each one within 12 hours of its planned end.
today-awaiting-plan = { $duration } planned, started { $time }
today-finish = Finish
# For screen readers, in place of today-finish.
today-finish-of = Finish the session started at { $time }

# A new session.
today-start = Start a session
today-start-another = Start another session
today-start-another-text = This ends your current session. You can still finish it later to get credit for the time until now.
today-note-hint = On a team project, your team can see this note, and it may be posted in the team’s chat. You cannot change it later.
today-start-submit = Start timer
# The group of the projects that belong to no team.
today-personal-projects = Personal
today-duration-malformed = Enter a whole number of minutes
# Without a full stop, because the page adds it.
today-other-plan = This form was already sent with a different plan. If the current session is not the one you want, send the form again

# The progress of the day. today-of-goal follows the number of sessions.
today-progress = Today’s progress
today-of-goal = of { $goal ->
    [one] 1 session
   *[other] { $goal } sessions
}
# For screen readers.
today-goal = Progress towards your daily goal
today-goal-value = { $sessions } of { $goal }
today-focus-time = Focus time
today-points = Points
today-points-value = { $today } today, { $total } in total
today-streak = Streak
today-no-streak = None yet. Focus for 10 minutes to start one.

today-recent = Recent sessions
# A change that the page does not show yet, and a link.
today-stale = Something changed in another tab or on another device.
today-reload = Reload

# Breaks. The buttons are also on the page after a session.
today-take-break = Take a break
today-short = Short ({ $minutes } min)
today-long = Long ({ $minutes } min)
today-back = Back to Today
today-short-break = Short break
today-long-break = Long break
today-break-over = Your break is over
today-break-tip = Stand up, look out of the window, drink some water.
today-plan-next = Plan the next session

# The first page of a visitor.
today-welcome = Plan, focus, finish, review
today-welcome-text = Decide what to work on and for how long, then start the timer. Your plan is locked and, for team projects, announced in your team’s chat. When you finish, write down what you got done.
today-sign-in = Sign in
today-register = Create an account
today-shared-computer = Signing out of the dashboard does not sign you out of your account. On a shared computer, sign out there too.
# A link.
today-account = Go to your account

# A dashboard that is not registered at the identity service. Text that ends with a colon introduces settings or commands.
today-setup = Setup required
today-setup-title = The dashboard is not set up yet
today-setup-text = The dashboard signs people in through the identity service, so it must be registered there. The operator does this once. The APIs work in the meantime.
today-setup-https = The dashboard’s address is { $address }. Browsers can sign in only over HTTPS, or on this machine. Change this setting to an https address:
today-setup-register = 1. Register the dashboard
today-setup-register-text = Run this command where the identity service runs:
today-setup-configure = 2. Configure the work-session service
today-setup-configure-text = Set these to the printed values, and restart the service:
today-setup-automatic = These commands do both steps automatically:
