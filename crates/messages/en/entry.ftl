# Pages before a sign-in: sign in, register, reset a password, verify an address, invitations.

# A heading, a button and a link.
entry-sign-in = Sign in
entry-username = Username
entry-password = Password
entry-forgot-password = Forgot your password?
# Before the link entry-register.
entry-new-here = New here?
entry-wrong-credentials = Incorrect username or password.
# Without a full stop, because programs may read it. The setting keeps its name.
entry-https-required = Signing in with a browser requires HTTPS. The operator can put a TLS proxy in front of the service, or allow plain HTTP with IDENTITY__ALLOW_INSECURE_COOKIES=true

# The second step of signing in.
entry-code-title = Enter your code
entry-code-intro = Your account is protected by a second factor.
entry-code = Code
entry-code-hint = 6 digits from your authenticator app, or a recovery code
entry-code-wrong = This code is incorrect or was already used
entry-code-expired = This sign-in has expired. Sign in again.
entry-start-over = Start over

# Registering. The first is a heading and a link, the second a button.
entry-register = Create an account
entry-register-submit = Create account
entry-username-hint = 3 to 64 letters, digits, _ or -. You sign in with it, and others can see it.
entry-email = E-mail address
entry-email-hint = Not public. You need it to reset a forgotten password.
entry-password-hint = At least 8 characters. Several random words are easy to remember and hard to guess.
# Before the link entry-sign-in.
entry-have-account = Already have an account?

# A forgotten password.
entry-forgot-title = Reset your password
entry-forgot-intro = We will send a reset link to the e-mail address of your account.
entry-forgot-who = Username or e-mail address
entry-forgot-who-missing = Enter your username or e-mail address
entry-forgot-submit = Send reset link
entry-back-to-sign-in = Back to sign-in

entry-reset-title = Choose a new password
# $username is the account whose password is reset.
entry-reset-intro = “{ $username }” will be signed out everywhere.
entry-new-password = New password
entry-reset-submit = Set new password

entry-verify-title = Verify your address
entry-verify-intro = “{ $email }” will become the e-mail address of the account “{ $username }”.
entry-verify-submit = Verify address
entry-verify-ignore = Not you? Ignore this page. The link expires after one day.

# An invitation to a team.
entry-invitation = Invitation
entry-invitation-title = Join { $team }?
entry-invitation-by = Invited by
entry-invitation-by-deleted = A deleted account
entry-invitation-role = Your role
# Before a time.
entry-invitation-expires = Expires
entry-signed-in-as = You are signed in as { $username }.
entry-invitation-accept = Join team
entry-invitation-decline = Decline
entry-invitation-sign-in = Sign in to respond
entry-invitation-ignore = Not interested? Ignore this invitation. It expires on its own.

# Pages with a single message: a heading, a text and a link.
entry-signed-out = You are signed out
entry-signed-out-text = You are no longer signed in to your account in this browser.
entry-password-changed = Password changed
entry-password-changed-text = You were signed out everywhere. Sign in with your new password.
entry-email-verified = Address verified
entry-email-verified-text = It is now the e-mail address of your account.
entry-link-requested = Check your e-mail
entry-link-requested-text = If the account exists and has a verified e-mail address, we have sent a link to it. The link expires after one hour.
entry-declined = You declined the invitation
entry-declined-text = It can no longer be used.
entry-dead-link = This link is no longer valid
entry-dead-link-text = It may have been used already, have expired, or have been replaced by a newer one. Nothing has changed.
entry-dead-verification-text = It may have been used already, have expired (after one day), or have been replaced by a newer one. You can request a new one in your account.
entry-request-link = Request a new link

# Why an invitation cannot be answered.
entry-unknown = Invitation not found
entry-unknown-text = If you were invited again, only the link in the newest e-mail works.
entry-was-accepted = This invitation was already accepted
entry-was-accepted-text = Each invitation works for one person. If that was not you, ask the team for a new one.
entry-was-declined = This invitation was declined
entry-was-declined-text = If you want to join after all, ask the team for a new one.
entry-was-withdrawn = This invitation was withdrawn
entry-was-withdrawn-text = If you think this is a mistake, ask the team.
entry-has-expired = This invitation has expired
entry-has-expired-text = Invitations expire after seven days. Ask the team for a new one.

# A form that was sent after its sender was signed out. The title shows the form again after signing in; the text asks to copy what a
# cookie cannot hold.
entry-unsent-form = Your unsent form
entry-unsent-form-lost = You were signed out before you sent this form, so nothing has changed. Copy your text, sign in, and send it again.
