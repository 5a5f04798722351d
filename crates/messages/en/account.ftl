# The account's own pages: profile, photo, e-mail address, password, second factor, sign-ins, applications, deletion.

# The account page. The first groups links under headings; a link is followed by a short status or description.
account-no-email = No e-mail address
account-verified = Verified
account-not-verified = Not verified
account-joined = Joined { $date }
# $tier is the name of the paid plan.
account-premium-until = { $tier } until { $date }
account-public = Public profile
account-profile-summary = Name, bio and website
account-photo-change = Change or remove
account-photo-none = No photo
account-security = Sign-in and security
account-email-none = Not set
account-password-change = Change
account-on = On
account-off = Off
account-sessions-summary = { $count } active
account-applications-summary = Access to your account
account-data = Your data
account-export = Export
account-export-summary = Your account data, as a JSON file
account-delete-summary = Cannot be undone

# Fields that confirm a change.
account-current-password = Current password
account-totp-code = Second-factor code
account-totp-code-hint = From your authenticator app, or a recovery code

account-profile = Profile
account-photo-edit = Change or remove photo
account-photo-add = Add photo
account-display-name = Name
account-display-name-hint = Up to 100 characters, visible to everyone. Without it, others see your username.
account-bio = Bio
account-bio-hint = Up to 2,000 characters, visible to everyone
account-website = Website
account-website-hint = An http or https address, visible to everyone
account-locale = Language
account-locale-hint = A language tag such as en or de-AT, for applications that see your profile
account-locale-example = en-GB
account-zoneinfo = Time zone
account-zoneinfo-hint = A name such as Europe/London, for applications that see your profile
account-zoneinfo-example = Europe/London
account-profile-submit = Save

account-photo = Photo
# The text in place of the picture.
account-photo-alt = Your photo
account-photo-shown = This is what others see.
account-photo-not-shown = You have no photo. Others see your initial.
account-photo-new = New photo
account-photo-hint = JPEG, PNG, GIF or WebP, up to { $mebibytes } MiB and 50 megapixels. We shrink it and remove metadata such as the location and the camera. Everyone can see it.
account-photo-missing = Choose a photo
account-photo-submit = Upload
account-photo-remove = Remove photo

account-email = E-mail address
account-email-new = New e-mail address
account-email-pending = To verify this address, open the link that we sent to it. To get a new link, enter the address below.
account-email-missing = You have no e-mail address. Without one, you cannot reset a forgotten password.
account-email-hint = We send a link to this address. Nothing changes until you open it.
# After account-email-hint, if there is a verified address.
account-email-notified = We will then notify your current address.
account-email-submit = Send link

account-password = Password
account-password-intro = Changing your password signs you out everywhere else, including applications.
account-password-new = New password
account-password-repeated = Confirm new password
account-password-mismatch = Passwords do not match
account-password-submit = Change password

# A second factor: the code of an authenticator app (TOTP), or a recovery code.
account-second-factor = Second factor
account-second-factor-on-text = Signing in requires your password and a code from your authenticator app.
account-second-factor-off-text = Signing in requires only your password.
account-second-factor-intro = With a second factor, signing in also requires a code from an authenticator app on your phone or computer. A stolen password alone is then not enough.
account-recovery-codes-left = { $count ->
    [0] You have no recovery codes left. Get new ones, or you will be locked out if you lose access to your app.
    [one] You have 1 recovery code left. Get new ones soon.
   *[other] You have { $count } recovery codes left, in case you lose access to your app.
}
account-second-factor-set-up = Set up
account-second-factor-turn-on = Turn on
account-second-factor-turn-off = Turn off

account-set-up-title = Set up second factor
account-set-up-secret-title = 1. Add the secret to your app
account-set-up-scan = Scan this QR code with your authenticator app:
account-set-up-qr = QR code with the secret
# Before the secret.
account-set-up-enter = Or enter this secret:
account-set-up-open = Open in an app on this device
account-set-up-once = The secret is shown only once. If you leave this page before step 2, you have to start over.
account-set-up-code-title = 2. Enter a code
account-set-up-code-again = Enter the code that your app shows now. A code is valid for about a minute, so make sure that the clock on your device is correct.
# A link, if no code works.
account-set-up-again = Set up again
account-set-up-code = 6-digit code

account-recovery-codes = Recovery codes
account-recovery-codes-on = Second factor turned on.
account-recovery-codes-replaced = These are your new recovery codes. The old ones no longer work.
account-recovery-codes-save = Save these codes now. They are not shown again.
account-recovery-codes-use = If you lose access to your authenticator app, sign in with one of these codes instead. Each works once.
account-recovery-codes-saved = I have saved them

account-turn-off-title = Turn off second factor
account-turn-off-intro = Anyone with your password will then be able to sign in. Your recovery codes will be deleted.
account-new-codes-title = New recovery codes
account-new-codes-intro = You get ten new codes. Your current ones stop working.
account-new-codes-submit = Get new codes

account-sessions = Sign-ins
account-sessions-intro = These devices and applications are signed in to your account. If you do not recognise one, sign it out and change your password.
# A site that did not give its name.
account-session-other-site = Another site
account-session-application = Application
account-session-sso = Single sign-on
account-session-browser = Browser
account-session-current = Current
# $address is an IP address.
account-session-address = From { $address }
account-session-since = Signed in { $date }
account-last-used = Last used { $at }
# For screen readers, in place of identity-sign-out. $name is an application, a site or a device.
account-session-sign-out-name = Sign out { $name }, last used { $at }
account-sessions-end-others = Sign out everywhere else

# A device, such as "Firefox on Linux".
account-device = { $browser } on { $system }
account-device-unknown = Unknown device

account-applications = Applications
account-applications-none = No applications have access to your account.
account-applications-intro = These applications can access your account. If you revoke access, they have to ask for it again.
account-application-since = Connected { $date }
account-application-revoke = Revoke access
# For screen readers, in place of account-application-revoke.
account-application-revoke-name = Revoke access for { $application }

account-delete = Delete your account
account-delete-intro = This cannot be undone. The following will be deleted:
account-delete-profile = Your profile, photo and e-mail address
account-delete-sessions = All your sign-ins, on every device and in every application
account-delete-focus-sessions = Your focus sessions, points, badges, personal projects and webhooks
account-delete-memberships = Your team memberships, and the invitations that you sent
# A team without other members.
account-delete-team = The team { $team }, because you are its only member
account-delete-second-factor = Your second factor and recovery codes
account-delete-username = Your username becomes available to others.
account-delete-export = Download your account data first
account-delete-submit = Delete account
# Before a list of teams, each with its number of members.
account-delete-owner = You own teams that have other members. Transfer or delete these teams first:
account-delete-team-members = { $count ->
    [one] ({ $count } member)
   *[other] ({ $count } members)
}
account-deleted = Account deleted
account-deleted-text = You are signed out everywhere, and your focus sessions are being deleted. Thank you for using Holdfast.
