# Pages of administrators: users, clients, keys, audit log.

# The name of the tabs for screen readers, the tabs, and the headings of their pages.
admin-tabs = Administration
admin-users = Users
admin-clients = Clients
admin-keys = Keys
admin-audit = Audit log

admin-none = None

# Administration is not available yet.
admin-second-factor-required = Administration requires a second factor, and your account has none. Set one up, then come back.
admin-second-factor-set-up = Set up
admin-sign-in-required = You signed in more than 12 hours ago. Sign in again to use the administration pages.

# The search for users.
admin-search-text = Username or e-mail
admin-search = Search
admin-any = Any
admin-users-none = No users match your search.

# Columns of the users, and facts about one.
admin-username = Username
admin-email = E-mail address
admin-role = Role
admin-plan = Plan
admin-last-sign-in = Last sign-in
admin-id = ID
admin-status = Status
admin-second-factor = Second factor
admin-sessions = Sign-ins
admin-created = Created

# Values of these.
# Sign-ins are deleted 90 days after their last use.
admin-no-recent-sign-in = None in 90 days
admin-verified = Verified
admin-not-verified = Not verified
admin-active = Active
admin-deactivated = Deactivated
admin-role-user = User
admin-role-superadmin = Administrator
admin-plan-free = Free
admin-plan-premium = Premium
# $plan is the name of the paid plan.
admin-plan-until = { $plan } until { $date }
admin-plan-without-end = { $plan }, no end date
admin-on = On
admin-off = Off
# The number of sign-ins.
admin-sessions-active = { $count } active

# Links to the audit log, filtered.
admin-activity-on = Activity on this account
admin-activity-by = Activity by this account

# The plan of a user.
admin-plan-tier = Plan
admin-plan-end = End date
admin-plan-submit = Change plan
admin-plan-hint = The end date is the last day of Premium, in UTC. Leave the field empty for no end date.
admin-plan-unknown = Choose Free or Premium
admin-plan-end-malformed = Enter a date such as 2027-12-31

# Actions on a user: a link, which is also the title and the button of a page that explains the action.
admin-access = Access
admin-deactivate = Deactivate account
admin-deactivate-meaning = The account is signed out everywhere, nobody can sign in to it, and others can no longer see it. Nothing is deleted.
admin-activate = Activate account
admin-activate-meaning = The owner can sign in again, and others can see the account again.
admin-promote = Make administrator
admin-promote-meaning = An administrator can do everything on these pages: change all accounts, clients and keys.
admin-demote = Remove administrator role
admin-demote-meaning = The account loses access to administration.
admin-end-sessions = Sign out everywhere
admin-end-sessions-meaning = The owner is signed out on every device and in every application, and can sign in again.
admin-mail-reset = Send password reset link
admin-mail-reset-meaning = The link goes to the e-mail address of the account, if it is verified. The current password works until the link is used.
admin-new-password = Set new password
admin-new-password-hint = Shown once
admin-new-password-meaning = A new password is generated and shown to you once. Pass it on to the owner. The old password stops working, and the account is signed out everywhere.
admin-own-account = This is your own account. To change its role or status, ask another administrator or use the command line.

# The page with a new password. The first is its title.
admin-password = New password
admin-password-shown = New password for { $username }. It is shown only once.
admin-password-next = The account is signed out everywhere. Ask the owner to choose another password.
admin-password-back = Back to account

# The list of clients. The first is a link and the title of the page behind it.
admin-client-new = New client
admin-clients-none = No OAuth clients yet.
admin-client-first-party = First party
admin-client-public = Public
admin-client-configured = Configuration file

# Facts about a client.
admin-client-id = Client ID
admin-client-secret = Client secret
admin-client-type = Type
admin-client-type-public = Public, without a secret
admin-client-type-confidential = Confidential, with a secret
admin-client-redirect-uris = Redirect URIs
admin-client-scopes = Scopes
admin-client-grant-types = Grant types
admin-client-algorithm = ID token signature
admin-client-pkce = PKCE
admin-client-pkce-none = No challenge sent
# $method is plain or S256.
admin-client-pkce-method = Uses { $method }
admin-client-pkce-unknown = No code requested yet
admin-client-pkce-required = S256 required
admin-client-introspection = Introspection
admin-client-introspection-any = Tokens of all clients
admin-client-introspection-own = Its own tokens
admin-client-registered = Registered
admin-client-post-logout-redirect-uris = Post-logout redirect URIs
admin-client-backchannel-logout-uri = Back-channel logout URI
admin-client-groups = Claim groups
admin-client-response-types = Response types
admin-client-pages = Pages
admin-client-in-configuration = This client is defined in the configuration file. Change it there.

# Change, new secret and deletion. The first three are links and titles, the last two of them also buttons.
admin-client-edit = Edit client
admin-client-rotate = Rotate secret
admin-client-delete = Delete client
admin-client-rotate-meaning = The current secret of { $client } stops working immediately. Users stay signed in.
admin-client-delete-meaning = { $client } can no longer sign anyone in, and everyone is signed out of it immediately.
admin-client-secret-save = Save the secret now. It is not shown again.
admin-client-without-secret = A public client has no secret. It uses PKCE instead.
admin-client-view = View client

# The registration of a client. Each part of the client is a field, each grant type a checkbox.
admin-client-name = Name
admin-client-name-hint = Users see it when they are asked for consent.
admin-client-redirect-uris-hint = One per line, compared exactly. Loopback addresses match on any port. Leave empty for a client that uses only the device flow.
# Before a list of scopes.
admin-client-scopes-hint = Separated by spaces. Default: openid profile email (first-party clients: all scopes). Only first-party clients can have the account scope. Available:
admin-client-grant-code = Authorization code: users sign in with their browser
admin-client-grant-refresh = Refresh token: users stay signed in
admin-client-grant-device = Device flow: users enter a code in a browser on another device
admin-client-response-code = Code: the client gets a code, and exchanges it for tokens
admin-client-response-id-token = ID token: the client gets an ID token in a form post, and no access token
admin-client-sign-out = Sign-out
admin-client-post-logout-hint = Where users may return after they sign out. One per line, compared exactly.
admin-client-backchannel-logout-hint = Called when a session of the client ends.
# The content of the claim.
admin-client-groups-slug = The slug of each team
admin-client-groups-role = The slug of each team and the user’s role: slug:role
# The consent page shows the logo and links to the other pages.
admin-client-uri = Home page
admin-client-logo-uri = Logo
admin-client-policy-uri = Privacy policy
admin-client-tos-uri = Terms of service
admin-client-options = Options
admin-client-is-public = Public: runs on its user’s machine and cannot keep a secret
admin-client-is-first-party = First party: users are not asked for consent, unless the client is public and its redirect URI is not https
admin-client-may-introspect = Can introspect the tokens of all clients
admin-client-requires-pkce = Must send a PKCE challenge with S256
admin-client-submit = Register client
admin-client-save = Save client

# The signing keys.
admin-keys-intro = The key with the status Signing signs new tokens. A waiting key takes over at the time shown. Tokens that older keys signed stay valid until they expire.
admin-key = Key
admin-key-algorithm = Algorithm
admin-key-signs-from = Signs from
admin-key-retired = Retired
admin-key-kept-until = Kept until
admin-key-signing = Signing
admin-key-waiting = Waiting
admin-key-verifying = Verifying
# Before two commands.
admin-keys-leaked = If a key leaks, replace and remove it on the command line:

# The first is a button, the second the title and the button of the page behind it.
admin-keys-rotate = Rotate
admin-rotate = Rotate signing keys
admin-rotate-meaning = The new key is published a few minutes before it signs, so that all programs that verify tokens know it. The current key is then retired. Tokens that it signed stay valid until they expire, and all users stay signed in.

# The audit log: its filter, and its columns.
admin-audit-account = Account
admin-audit-actor = Actor
admin-audit-action = Action
admin-audit-since = From
admin-audit-until = To
admin-audit-time = Time
admin-audit-address = IP address
admin-audit-details = Details
# In empty fields of the filter.
admin-audit-account-example = Username or ID
admin-audit-action-example = session or session.refused
admin-audit-submit = Filter
# The name of the table, for screen readers.
admin-audit-entries = Entries
admin-audit-none = No entries match the filter.
admin-audit-account-unknown = No account has this username
admin-audit-days-malformed = Enter dates such as 2027-12-31
