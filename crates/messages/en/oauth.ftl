# Consent and connecting a device. Names that others chose are in quotation marks, except in headings.

# The title of both pages that ask for consent.
oauth-allow = Allow access
oauth-allow-title = Allow { $client } to access your account?
oauth-request = “{ $client }” wants to access the account “{ $username }”.
# Before a list of scopes.
oauth-scopes = It will be able to:
# $host is where the browser returns to.
oauth-continue = You will continue to “{ $host }”. You can revoke this access in your account at any time.
# Links to pages of the application that requests access.
oauth-client-home = Home page
oauth-client-policy = Privacy policy
oauth-client-terms = Terms of service
oauth-submit-allow = Allow
oauth-submit-deny = Deny

# Choosing the account with which to continue.
oauth-select-account = Choose an account
oauth-select-account-text = “{ $client }” asks which account you want to use.
oauth-select-account-submit = Continue as { $username }
oauth-select-account-other = Use another account

# A page that leads back to a client, usually for less than a second.
oauth-form-post = One moment
oauth-form-post-text = You are being sent to “{ $host }”.
oauth-form-post-submit = Continue

# Beside a scope that changes data.
oauth-scope-is-change = makes changes
oauth-scope-openid = Sign you in with your account
oauth-scope-profile = See your name, username, photo, language and time zone
oauth-scope-email = See your e-mail address
oauth-scope-groups = See which teams you are in, and your role in each
oauth-scope-teams = See your teams and their members
oauth-scope-teams-write = Change your teams, their members, invitations and projects
oauth-scope-sessions-read = See your projects, focus sessions and points
oauth-scope-sessions-write = Plan, start and finish focus sessions, and change your projects and preferences
oauth-scope-integrations-write = Change your webhooks, and the chats and webhooks of your teams
oauth-scope-offline-access = Keep this access while you are away, until you revoke it
oauth-scope-account = Change your profile and photo, see where you are signed in and sign you out, and download your data
# Two scopes together allow this.
oauth-scope-team-activity = See what others in your teams plan and do: their focus sessions, notes and points
# Without any scope.
oauth-scope-none = See that you have an account

# The page that asks before an application signs the user out. Title, request of the application (if it is known), effect, effect
# in a browser in which nobody is signed in, buttons.
oauth-logout-title = Sign out?
oauth-logout-request = “{ $client }” asks to sign you out.
oauth-logout-effect = You are signed in as “{ $username }”. If you sign out, applications that follow this sign-in are signed out, too.
oauth-logout-effect-application = If you sign out, you are signed out of this application only. In this browser, you are not signed in to Holdfast.
oauth-logout-submit = Sign out
oauth-logout-stay = Stay signed in

oauth-device-title = Connect a device
oauth-device-intro = Enter the code that your device shows.
oauth-device-code = Code
oauth-device-code-hint = 8 letters, such as WDJB-MJHT
oauth-device-code-malformed = Enter all 8 letters. Codes contain no vowels.
oauth-device-code-unknown = This code is invalid or has expired. Start again on your device to get a new one.
oauth-device-submit = Continue
# Before the code.
oauth-device-request = “{ $client }” wants to access the account “{ $username }” on the device that shows this code:
oauth-device-warning = Allow this only if you started it yourself, just now, on a device in front of you. If someone sent you this code, they would get access to your account.
oauth-device-connected = Device connected
oauth-device-connected-text = “{ $client }” now has access. Return to your device. It continues in a few seconds.
oauth-device-denied = Access denied
oauth-device-denied-text = “{ $client }” did not get access.
