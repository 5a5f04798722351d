# Texts that the pages of both services share.

common-previous = Previous
common-next = Next
common-pages = Pages
common-cancel = Cancel
# Beside the label of a field.
common-optional = (optional)
# After the reader's own name.
common-you = (you)

# A form whose sender had to sign in again.
common-saved-form = You were signed out before you sent this form, so nothing has changed. You are now signed in again. Send the form?
common-send-form = Send
common-discard-form = Discard

# Forms that cannot be read, and one that was shown in another browser or to another account.
common-form-expected = This page accepts only form submissions
common-form-nul = The form contains a NUL character, which cannot be saved
common-form-incomplete = A field is missing from the form
common-form-foreign = This form was opened in another browser or by another account. Go back, reload the page, and send the form again.

common-seconds = { $count ->
    [one] 1 second
   *[other] { $count } seconds
}
common-minutes = { $count ->
    [one] 1 minute
   *[other] { $count } minutes
}
common-hours = { $count ->
    [one] 1 hour
   *[other] { $count } hours
}

# Dates and times.
common-date = { $date } { $year }
common-short-date = { $day } { $month }
common-utc-time = { $date }, { $time } UTC
common-month = { $month ->
    [1] Jan
    [2] Feb
    [3] Mar
    [4] Apr
    [5] May
    [6] Jun
    [7] Jul
    [8] Aug
    [9] Sep
    [10] Oct
    [11] Nov
   *[12] Dec
}

# Error pages. The start is common-start-account or common-start-today.
common-not-found = Not found
common-not-found-next = Check the address, or go to { $start }.
common-start-account = your account
common-start-today = the Today page
common-rate-limited = Too many attempts
common-rate-limited-next = Try again in { $wait }.
common-failed = Something went wrong
common-server-error-next = Try again in a moment.
common-rejected-next = Go back and try again.

# Fields of a form whose sender had to sign in again. Each is the label of fields with this name, on different pages.
common-field = { $name ->
    [access_token] Access token
    [bio] Bio
    [category] Category
    [chat_channel] Chat channel
    [code] Code
    [daily_goal] Daily goal (sessions)
    [default_duration] Session length (minutes)
    [description] Description
    [display_name] Name
    [duration] Duration (minutes)
    [email] E-mail address
    [homeserver_url] Homeserver URL
    [locale] Language
    [long_break_duration] Long break (minutes)
    [name] Name
    [new_password] New password
    [note] Note
    [password] Password
    [redirect_uris] Redirect URIs
    [repeated] Confirm new password
    [room_id] Room ID
    [short_break_duration] Short break (minutes)
    [slug] Short name
    [tags] Tags
    [totp_code] Second-factor code
    [until] End date
    [url] URL
    [user_code] Code
    [username] Username
    [website_url] Website
    [webhook_url] Webhook URL
    [zoneinfo] Time zone
   *[other] { $name }
}
