# Formats that several pages of the dashboard share.

# A duration: 45 min, 2 h, or 3 h 20 min.
dashboard-minutes = { $minutes } min
dashboard-hours = { $hours } h
dashboard-hours-minutes = { $hours } h { $minutes } min
dashboard-days = { $count ->
    [one] 1 day
   *[other] { $count } days
}
# $credited is a number of minutes, $planned a duration.
dashboard-credited-of-planned = { $credited } of { $planned }

# Dates and times. { $date } is common-date, beside a heading common-short-date.
dashboard-day = { $weekday }, { $date }
dashboard-date-time = { $date }, { $time }
# The number of a day of the week, counted from Monday.
dashboard-weekday = { $weekday ->
    [1] Monday
    [2] Tuesday
    [3] Wednesday
    [4] Thursday
    [5] Friday
    [6] Saturday
   *[7] Sunday
}

# The frame of the dashboard, its success messages, signing in and out, and errors.

# The frame: the menu, and what is beside it.
dashboard-skip = Skip to content
# The name of the menu, for screen readers.
dashboard-menu = Main
dashboard-today = Today
dashboard-history = History
dashboard-teams = Teams
dashboard-settings = Settings
dashboard-account = Your account
dashboard-sign-out = Sign out

# A button of several forms.
dashboard-save = Save

# Success messages, after a form was sent.
dashboard-done-signed-out = You are signed out of the dashboard.
# The identity service was down, so the sign-in could not be ended.
dashboard-done-signed-out-here = You are signed out in this browser, but the sign-in is still active, because the identity service did not respond. To sign it out, go to Sign-ins on your account page.
dashboard-done-started = Timer started. Your plan is locked.
dashboard-done-saved = Session saved.
dashboard-done-preferences = Preferences saved.
dashboard-done-timezone = Time zone changed.
dashboard-done-webhook = Webhook saved.
dashboard-done-webhook-deleted = Webhook deleted.
dashboard-done-project = Project saved.
dashboard-done-archived = Project archived.
dashboard-done-chat = Chat saved. Send a test message to check that it works.
dashboard-done-chat-test = Sending a test message. Reload the page to see the result.
dashboard-done-chat-off = Chat removed. Sessions on this project are no longer announced.
dashboard-done-called = Sending the event. Reload the page to see the result.
# A paused chat or webhook was taken over.
dashboard-done-adopted = Resumed. It now belongs to you.

# The status of a chat or webhook, and the button that takes over a paused one.
dashboard-status = { $status ->
    [active] Active
    [paused] Paused
   *[off] Disabled
}
dashboard-resume = Resume
# Who set up a chat or webhook, after "by". $client is the id of an OAuth client.
dashboard-creator-unknown = a deleted or unavailable account
dashboard-creator-application = { $creator } (application { $client })
dashboard-former-team = A team that you left

# A form that was sent after its sender was signed out. dashboard-unsent-form shows it again after signing in; the others ask to copy what
# a cookie cannot hold.
dashboard-unsent-form = Your unsent form
dashboard-signed-out = You are signed out
dashboard-unsent-lost = You were signed out before you sent this form, so nothing has changed.
dashboard-unsent-copy = Copy your text, sign in, and send it again.
dashboard-sign-in = Sign in
# Labels of input that is shown again, one or several.
dashboard-input = Your text
dashboard-input-number = Your text ({ $number })

# An error beside a field. $rule and $rest are parts of sentences of the API.
dashboard-field-must = Must { $rule }
dashboard-field-this = This { $rest }

# Errors, without a full stop, because the page adds it. Names of settings stay as they are.
dashboard-unavailable = A service is not responding
dashboard-event-stream = To read this event stream, accept text/event-stream
dashboard-identity-failing = The identity service is not responding correctly
dashboard-identity-unavailable = The identity service is not responding
dashboard-token-rejected = You are signed in, but the work-session service rejected your sign-in. The operator may need to set WORKSESSION__IDENTITY_URL
dashboard-https-required = Signing in from another machine requires HTTPS. The operator can put a TLS proxy in front of the services, and set WORKSESSION__BASE_URL and IDENTITY__BASE_URL to its addresses
dashboard-wrong-issuer = This response is not from { $issuer }, where you were sent to sign in. The operator may need to set WORKSESSION__IDENTITY_PUBLIC_URL
dashboard-unknown-client = The identity service does not recognise this dashboard. The operator needs to set WORKSESSION__DASHBOARD__CLIENT_ID and WORKSESSION__DASHBOARD__CLIENT_SECRET to those of a registered client
dashboard-already-signed-in = You are already signed in. This sign-in attempt was already completed or has expired
dashboard-other-browser = This sign-in attempt was started in another browser or has expired. Sign in again
dashboard-sign-in-expired = This sign-in attempt was already completed or has expired. Sign in again
dashboard-sign-in-denied = You were not signed in
