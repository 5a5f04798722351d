# E-mails. Names that people chose are in quotation marks, except in facts.

mail-greeting = Hello { $name },
mail-open-link = Or open this address in your browser:
# { $time } is a date with its time, such as 21 Nov 2026, 08:00 UTC.
mail-link-expires = This link works once and expires on { $time }.
mail-unexpected = If you did not expect this e-mail, you can ignore it. Nothing happens unless you use the link.
mail-not-you = If this was not you, someone else may know your password. Change it now on your account page. That also signs out all other devices and applications.
mail-footer = This is an automated e-mail. Replies are not read.

# Labels of facts.
mail-time = Time
mail-address = IP address
mail-program = Browser or app
mail-new-address = New address
mail-changed = Changed
mail-project = Project
mail-project-of-team = { $project } ({ $team })
mail-chat = Chat
mail-receiver = Receiver
mail-reason = Reason
# Its value is a request to the API, as are those of the delivery log.
mail-enable = Re-enable with
mail-deliveries = Delivery log
mail-paused = Paused
# The last of the paused webhooks and chats.
mail-paused-more = and { $count } more

# Somebody is invited to a team. They may have no account yet.
mail-invitation-subject = Invitation to the team “{ $team }” on Holdfast
mail-invitation-title = Join the team “{ $team }”
mail-invitation-opening = “{ $inviter }” invited you to the team “{ $team }” on Holdfast, where teams plan focus sessions and track their progress. To join, sign in or create an account.
mail-invitation-action = Join the team

# A new e-mail address.
mail-verify-subject = Verify your e-mail address for Holdfast
mail-verify-title = Verify your e-mail address
mail-verify-opening = This address was entered for your Holdfast account. Verify that it is yours, so that you can be invited to teams and reset your password if you forget it.
mail-verify-action = Verify e-mail address
mail-verify-closing = If you did not request this, you can ignore this e-mail. The address will not be verified.

# A forgotten password.
mail-reset-subject = Reset your Holdfast password
mail-reset-title = Reset your password
mail-reset-opening = We received a request to reset the password of your Holdfast account.
mail-reset-action = Reset password
mail-reset-closing = If you did not request this, ignore this e-mail. Your password stays the same. Do not share the link with anyone.

# A sign-in from an address or with a browser that the account has not used before.
mail-sign-in-subject = New sign-in to your Holdfast account
mail-sign-in-title = New sign-in to your account
mail-sign-in-opening = Someone signed in to your Holdfast account from a browser, app or network that you have not used recently. If this was you, you can ignore this e-mail.

# Wrong codes of the second factor, after the right password.
mail-codes-subject = Incorrect second-factor codes for your Holdfast account
mail-codes-title = Incorrect second-factor codes for your account
mail-codes-opening = Someone who knows your password entered several incorrect codes for your second factor and was denied access. If this was you, wait a moment before you enter the next code.

# Goes to the old address.
mail-email-changed-subject = Your Holdfast e-mail address was changed
mail-email-changed-title = Your e-mail address was changed
mail-email-changed-opening = Your Holdfast account now uses a different e-mail address. This is the last e-mail to the old address.

# The password, the second factor or the recovery codes.
mail-security-subject = Your Holdfast security settings were changed
mail-security-title = Your security settings were changed
mail-security-opening = A setting that protects your Holdfast account was changed. If this was you, you can ignore this e-mail.

# A project's chat that refuses messages.
mail-chat-disabled-title = The chat for “{ $project }” was disabled
mail-chat-disabled-opening = The chat that you set up for this project has stopped accepting our messages, so we stopped sending them. Sessions and points are not affected.
mail-chat-disabled-action = See how to set up the chat again
mail-chat-disabled-closing = In the chat, check that the incoming webhook or access token is still valid. Then set up the chat for the project again to re-enable it. You are receiving this e-mail because you made the last change to this chat.

# A webhook without a usable receiver. Its owner may have described it.
mail-webhook-disabled-title = Your webhook “{ $webhook }” was disabled
mail-webhook-disabled-title-number = Your webhook with ID { $id } was disabled
mail-webhook-disabled-opening = The receiver of this webhook has stopped accepting our requests, so we stopped sending them. Events that happen in the meantime are not sent later.
mail-webhook-disabled-action = See how to re-enable the webhook
mail-webhook-disabled-closing = When the receiver works again, save the webhook, even without changes, to re-enable it. You are receiving this e-mail because you made the last change to this webhook.

# Webhooks and chats whose creator lost access.
mail-paused-subject = Webhooks or chats on Holdfast are paused
mail-paused-title = Webhooks or chats are paused
mail-paused-opening = Holdfast no longer sends events to the webhooks and chats below, because the account or application that set them up has lost access. Events that happen in the meantime are not sent later.
mail-paused-action = Open Holdfast
mail-paused-closing = You can resume a webhook on its page, and a chat in the settings of its project. If you no longer need one, delete it or leave it paused.
