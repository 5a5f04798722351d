# The frame of the account pages and their success messages.

identity-skip = Skip to content
# The name of the navigation, for screen readers.
identity-navigation = Main
identity-account = Account
identity-teams = Teams
identity-administration = Administration
identity-sign-out = Sign out

# The heading of the account page, and the link back to it.
identity-your-account = Your account
# A button on pages that lead nowhere else.
identity-go-to-account = Go to your account

# The heading for an administrator whose sign-in is too old.
identity-sign-in-again = Sign in again

# Beside a field.
identity-wrong-password = Incorrect password
identity-wrong-password-or-code = Incorrect password or code
identity-wrong-code = Incorrect code

# At the top of an account page, after a form.
identity-profile-saved = Profile saved.
identity-photo-saved = Photo saved.
identity-photo-removed = Photo removed.
identity-email-link-sent = We sent a link to the address you entered. Open it to verify the address.
identity-password-changed = Password changed. You are signed out everywhere else.
identity-second-factor-off = Second factor turned off.
identity-session-ended = Signed out.
identity-other-sessions-ended = Signed out everywhere else.
identity-application-revoked = Access revoked.

# At the top of a team page, after a form.
identity-team-created = Team created. You can now invite people.
identity-team-saved = Team saved.
identity-team-deleted = Team deleted.
identity-team-left = You left the team.
identity-team-joined = You joined the team.
identity-team-handed-over = Ownership transferred. You are now an admin of the team.
identity-invitation-sent = Invitation sent.
identity-invitation-declined = Invitation declined.
identity-invitation-withdrawn = Invitation withdrawn.
identity-member-added = Member added.
identity-member-removed = Member removed.
identity-role-changed = Role changed.

# At the top of a page of administration, after a form.
identity-user-activated = Account activated.
identity-user-deactivated = Account deactivated and signed out everywhere.
identity-user-promoted = The user is now an administrator.
identity-user-demoted = The user is no longer an administrator.
identity-user-sessions-ended = Account signed out everywhere.
identity-reset-mailed = If the account has a verified e-mail address, a link to choose a new password is on its way.
identity-plan-changed = Plan changed.
identity-key-rotated = New key published. It will start signing tokens in a few minutes. Tokens signed with older keys stay valid until they expire.
identity-key-pending = The next keys are already published. Nothing has changed.
identity-client-saved = Client saved.
identity-client-deleted = Client deleted. Everyone is signed out of it.
