# A user's webhooks.

# The list of webhooks, and a new one.
webhooks-title = Webhooks
webhooks-intro = A webhook sends signed requests about focus sessions to your own program. You can create webhooks for your own sessions and for teams that you manage.
webhooks-new = New webhook
webhooks-url = URL
webhooks-url-hint = The URL is not shown again, because its path may be secret.
# Whose sessions: the user's own, or a team's.
webhooks-owner = Sessions
webhooks-own = Your own sessions
webhooks-team = Sessions on projects in { $team }
webhooks-create = Create webhook

# The events to which it subscribes.
webhooks-events = Events
webhooks-event = { $event ->
    [started] Session started
    [submitted] Session finished
   *[abandoned] Session abandoned
}
webhooks-events-missing = Select at least one event
webhooks-description = Description

# One webhook.
webhooks-webhook = Webhook
webhooks-paused = Paused: { $reason }.
webhooks-creator = This webhook was set up by { $creator }. If you resume it, it will belong to you.
webhooks-disabled = Disabled: { $reason }. To re-enable the webhook, save it.
# The scheme and host of its URL.
webhooks-origin = Origin
webhooks-secret = Secret
webhooks-secret-since = Created { $at }
webhooks-test = Send test event
webhooks-secret-replace = Replace secret
webhooks-delete = Delete
webhooks-edit = Edit webhook
webhooks-new-url = New URL
webhooks-new-url-empty = (leave empty to keep the current one)

# Its deliveries. $status is an HTTP status.
webhooks-deliveries = Deliveries
webhooks-no-deliveries = No deliveries yet.
webhooks-attempts = { $count ->
    [one] 1 attempt
   *[other] { $count } attempts
}
webhooks-response = Response { $status }
webhooks-delivery-state = { $state ->
    [pending] Pending
    [delivered] Delivered
    [skipped] Skipped
   *[failed] Failed
}
webhooks-resend = Resend
# For screen readers, in place of webhooks-resend. $event is a type such as session.started.v1.
webhooks-resend-name = Resend { $event } from { $at }

# A new secret. The replaced one also signs for a day, so that receivers can change it in between.
webhooks-secret-title = Webhook secret
webhooks-created = Webhook created.
webhooks-secret-replaced = Secret replaced. For 24 hours, requests are also signed with the old one.
webhooks-secret-save = Copy this secret now. It is not shown again.
webhooks-secret-use = Requests to { $origin } are signed with it, following the Standard Webhooks specification.
webhooks-secret-saved = I have saved it
