# Chat messages. They are not escaped, so they contain no character with a meaning in a chat, such as * _ ~ ` # @ & ' < > [ ].
# Twenty of them fit into one message, so they are short.

# { $user } is highlighted.
chat-started = { $user } started a focus session
chat-finished = { $user } finished a focus session
chat-finished-part = { $user } finished part of a focus session
chat-abandoned = { $user } did not finish a focus session
chat-test = Test message from { $user }: focus sessions on { $project } will be posted here.

# The rest of the sentence. { $minutes } is chat-minutes or chat-credited-minutes, { $end } a time of day.
chat-summary = { $headline }: { $detail }
chat-started-detail = { $category }, { $minutes } on { $project }, until { $end }
chat-finished-detail = { $category }, { $minutes } on { $project }, { $points } points, { $streak }-day streak
chat-abandoned-detail = { $category }, { $minutes } on { $project }, planned until { $end }
chat-minutes = { $minutes } min
chat-credited-minutes = { $credited } of { $planned } min
chat-project-of-team = { $project } ({ $team })

# Labels, in chats that show a table.
chat-category = Category
chat-planned = Planned
chat-project = Project
chat-ends = Ends
chat-planned-end = Planned end
chat-credited = Credited
chat-points = Points
chat-streak = Streak
chat-streak-days = { $count ->
    [one] 1 day
   *[other] { $count } days
}

# Several notifications in one message.
chat-digest = { $count ->
    [one] 1 focus session
   *[other] { $count } focus sessions
}
# The last line, if there are too many.
chat-digest-more = … and { $count } more
