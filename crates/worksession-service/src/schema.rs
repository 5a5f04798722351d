//! The tables of the work-session database, written by hand, for both PostgreSQL and SQLite.

diesel::table! {
    projects (id) {
        id -> BigInt,
        user_id -> BigInt,
        name -> Text,
        description -> Text,
        archived_at -> Nullable<Timestamp>,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        seq -> BigInt,
    }
}

diesel::table! {
    team_projects (id) {
        id -> BigInt,
        team_id -> BigInt,
        team_name -> Text,
        name -> Text,
        description -> Text,
        chat_channel -> Text,
        is_public -> Bool,
        archived_at -> Nullable<Timestamp>,
        created_at -> Timestamp,
        updated_at -> Timestamp,
    }
}

diesel::table! {
    chat_integrations (team_project_id) {
        team_project_id -> BigInt,
        provider -> Nullable<Text>,
        revision -> BigInt,
        status -> Text,
        reason -> Nullable<Text>,
        updated_at -> Timestamp,
        test_id -> Nullable<Text>,
        test_outcome -> Nullable<Text>,
        test_reason -> Nullable<Text>,
        test_at -> Nullable<Timestamp>,
        announce -> Text,
        created_by -> Nullable<BigInt>,
        client_id -> Nullable<Text>,
        session_id -> Nullable<Text>,
        sealed -> Nullable<Text>,
    }
}

diesel::table! {
    hook_contacts (hook) {
        hook -> Text,
        user_id -> BigInt,
        team_id -> Nullable<BigInt>,
        sealed -> Text,
    }
}

diesel::table! {
    webhooks (id) {
        id -> BigInt,
        user_id -> Nullable<BigInt>,
        team_id -> Nullable<BigInt>,
        slot -> Nullable<Integer>,
        description -> Text,
        origin -> Text,
        sealed -> Nullable<Text>,
        events -> Text,
        revision -> BigInt,
        status -> Text,
        reason -> Nullable<Text>,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        secret_changed_at -> Timestamp,
        created_by -> Nullable<BigInt>,
        client_id -> Nullable<Text>,
        session_id -> Nullable<Text>,
    }
}

diesel::table! {
    webhook_deliveries (delivery_id) {
        delivery_id -> Text,
        webhook_id -> BigInt,
        user_id -> BigInt,
        event_id -> Text,
        event_type -> Text,
        session_id -> Nullable<Text>,
        state -> Text,
        step -> BigInt,
        attempts -> BigInt,
        status_code -> Nullable<Integer>,
        duration_ms -> Nullable<BigInt>,
        reason -> Nullable<Text>,
        created_at -> Timestamp,
        last_attempt_at -> Nullable<Timestamp>,
        next_attempt_at -> Nullable<Timestamp>,
    }
}

diesel::table! {
    notifications (session_id, event_id) {
        event_id -> Text,
        session_id -> Text,
        team_project_id -> Nullable<BigInt>,
        outcome -> Text,
        reason -> Nullable<Text>,
        settled_at -> Timestamp,
    }
}

diesel::table! {
    user_settings (user_id) {
        user_id -> BigInt,
        timezone -> Text,
        timezone_changed_at -> Nullable<Timestamp>,
        daily_goal -> Integer,
        default_duration -> Integer,
        short_break_duration -> Integer,
        long_break_duration -> Integer,
        notification_sound -> Text,
        theme_preference -> Text,
        leaderboard_opt_in -> Bool,
        updated_at -> Timestamp,
        seq -> BigInt,
    }
}

diesel::table! {
    /// Lists only the columns that Diesel's query builder needs, because it supports at most 32. SQL texts use the others.
    sessions (session_id) {
        session_id -> Text,
        user_id -> BigInt,
        status -> Text,
        started_at -> Timestamp,
        ended_at -> Nullable<Timestamp>,
        submitted_at -> Nullable<Timestamp>,
        start_time -> Nullable<Timestamp>,
        end_time -> Nullable<Timestamp>,
        credited_minutes -> Integer,
        note -> Text,
        quality_rating -> Nullable<Integer>,
        tags -> Text,
        submit_digest -> Nullable<Text>,
        submit_result -> Nullable<Text>,
        locked_mismatches -> Integer,
        changed_at -> Timestamp,
        seq -> BigInt,
    }
}

diesel::table! {
    session_flags (id) {
        id -> BigInt,
        session_id -> Text,
        user_id -> BigInt,
        kind -> Text,
        severity -> Text,
        amount -> BigInt,
        created_at -> Timestamp,
    }
}

diesel::table! {
    user_totals (user_id) {
        user_id -> BigInt,
        version -> BigInt,
        points_centi -> BigInt,
        sessions -> BigInt,
        completed_sessions -> BigInt,
        minutes -> BigInt,
        streak_run -> Integer,
        streak_longest -> Integer,
        streak_last_day -> Nullable<Date>,
        streak_last_start -> Nullable<Timestamp>,
        streak_last_offset -> Nullable<Integer>,
        best_hour -> Integer,
        best_hour_minutes -> BigInt,
        favorite_category -> Text,
        favorite_category_minutes -> BigInt,
    }
}

diesel::table! {
    user_day (user_id, day) {
        user_id -> BigInt,
        day -> Date,
        sessions -> Integer,
        minutes -> Integer,
        points_centi -> BigInt,
        first_start -> Timestamp,
        first_offset -> Integer,
        last_start -> Timestamp,
        last_offset -> Integer,
        by_hour -> Text,
        by_category -> Text,
        by_project -> Text,
    }
}

diesel::table! {
    user_month (user_id, month) {
        user_id -> BigInt,
        month -> Date,
        by_day -> Text,
        by_hour -> Text,
        by_category -> Text,
        by_project -> Text,
    }
}

diesel::table! {
    user_hour (user_id, hour) {
        user_id -> BigInt,
        hour -> Integer,
        minutes -> BigInt,
    }
}

diesel::table! {
    user_category (user_id, category) {
        user_id -> BigInt,
        category -> Text,
        minutes -> BigInt,
    }
}

diesel::table! {
    user_badges (user_id, badge) {
        user_id -> BigInt,
        badge -> Text,
        earned_at -> Timestamp,
    }
}

diesel::table! {
    board (scope, period, start, user_id) {
        scope -> BigInt,
        period -> Text,
        start -> Date,
        user_id -> BigInt,
        username -> Text,
        points_centi -> BigInt,
        minutes -> BigInt,
        sessions -> BigInt,
        reached_at -> Timestamp,
    }
}

diesel::table! {
    teams (team_id) {
        team_id -> BigInt,
        told_at -> Timestamp,
        deleted -> Bool,
    }
}

diesel::table! {
    departures (kind, id) {
        kind -> Text,
        id -> BigInt,
        noted_at -> Timestamp,
        due_at -> Timestamp,
    }
}

diesel::joinable!(chat_integrations -> team_projects (team_project_id));
diesel::allow_tables_to_appear_in_same_query!(team_projects, chat_integrations);
