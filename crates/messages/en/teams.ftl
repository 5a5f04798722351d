# Teams and members, on the account pages.

teams-role-owner = Owner
teams-role-admin = Admin
teams-role-member = Member

# The teams of a user. The first is a heading and the link back to it, the second a link and the title of the page behind it.
teams-title = Teams
teams-new = New team
teams-none = You are not in a team yet. Create one, or ask a team’s owner or admin to invite you.
teams-members = { $count ->
    [one] 1 member
   *[other] { $count } members
}

# Invitations to a user, and those of a team. An inviter may have deleted their account.
teams-invitations = Invitations
teams-invitation-by = Invited by { $inviter }, expires { $date }
teams-invitation-expires = Expires { $date }
teams-invitation-join = Join
teams-invitation-decline = Decline
teams-invitation-withdraw = Withdraw
# For screen readers, in place of these three.
teams-invitation-join-name = Join { $team }
teams-invitation-decline-name = Decline the invitation to { $team }
teams-invitation-withdraw-name = Withdraw the invitation for { $email }

# The fields of a team.
teams-name = Name
teams-slug = Short name
teams-slug-hint = Part of the team’s address: letters, digits, _ and -
teams-description = Description
teams-description-hint = Up to 2,000 characters, visible to members
teams-create = Create team

# Links on the page of a team.
teams-invite = Add members
teams-settings-link = Settings
teams-joined = Joined { $date }
teams-edit = Edit
# For screen readers, in place of teams-edit.
teams-edit-name = Edit { $username }

# The settings of a team.
teams-settings = Team settings
teams-slug-warning = If you change the short name, links to the team’s old address stop working.
teams-save = Save

# Deleting a team. The first is a heading, a link and a button.
teams-delete = Delete team
teams-delete-summary = Removes all members and archives the team’s projects.
teams-delete-meaning = This cannot be undone. All members are removed from { $team }. Its invitations, chats, webhooks and leaderboard are deleted, and its projects are archived.
# $slug is the team's short name.
teams-delete-confirm = Type { $slug } to confirm
teams-delete-mismatch = This is not the team’s short name

# Leaving a team. The first is a heading, a link and a button.
teams-leave = Leave team
teams-leave-owner = You own { $team }. To leave it, transfer ownership to another member or delete the team first.
teams-leave-meaning = You will no longer be a member of { $team }, and any invitations to it that you sent will be withdrawn. To return, you need a new invitation.

# A member. $role is teams-role-owner, teams-role-admin or teams-role-member.
teams-member-since = { $role } since { $date }
teams-member-owner = To change the owner’s role, transfer ownership.
teams-role = Role
teams-role-hint = Admins can manage the team’s details, members, invitations, projects, chats and webhooks.
teams-role-unknown = Choose member or admin
teams-change-role = Change role
teams-remove-link = Remove from team
# The title and the button of the page behind teams-remove-link.
teams-remove = Remove member
teams-remove-meaning = { $username } will no longer be a member of { $team }. Any invitations to it that they sent will be withdrawn.
# A link, and the title and the button of the page behind it.
teams-transfer = Transfer ownership
teams-transfer-hint = { $username } becomes the owner
teams-transfer-meaning = { $username } becomes the owner of { $team }, and you become an admin. Only the new owner can transfer it back.

# Adding members: by mail, or by username.
teams-invite-email = Invite by e-mail
teams-email = E-mail address
teams-email-hint = We send a link that works for seven days, even if the recipient has no account yet. To send a new one, invite them again.
teams-invite-submit = Send invitation
teams-add = Add an existing account
teams-username = Username
teams-add-submit = Add member
teams-pending = Pending invitations
teams-pending-none = No pending invitations.
