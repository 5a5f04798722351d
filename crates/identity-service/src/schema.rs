//! The tables of `migrations/identity`, the same for both databases.

diesel::table! {
    users (id) {
        id -> BigInt,
        username -> Text,
        username_lower -> Text,
        email -> Text,
        email_verified -> Bool,
        password_hash -> Text,
        bio -> Nullable<Text>,
        website_url -> Nullable<Text>,
        is_active -> Bool,
        role -> Text,
        premium_tier -> Text,
        premium_expires_at -> Nullable<Timestamp>,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        photo_version -> Nullable<Text>,
        display_name -> Nullable<Text>,
        locale -> Nullable<Text>,
        zoneinfo -> Nullable<Text>,
    }
}

diesel::table! {
    email_claims (email_lower) {
        email_lower -> Text,
        user_id -> BigInt,
        expires_at -> Nullable<Timestamp>,
        confirmed -> Bool,
    }
}

diesel::table! {
    sessions (id) {
        id -> Text,
        user_id -> BigInt,
        created_at -> Timestamp,
        expires_at -> Timestamp,
        revoked_at -> Nullable<Timestamp>,
        refresh_lineage -> Text,
        refresh_hash -> Text,
        refresh_previous_hash -> Nullable<Text>,
        refresh_rotated_at -> Timestamp,
        refresh_expires_at -> Timestamp,
        address -> Nullable<Text>,
        user_agent -> Nullable<Text>,
        kind -> Text,
        service -> Nullable<Text>,
        client_id -> Nullable<Text>,
        scope -> Nullable<Text>,
        authenticated_at -> Timestamp,
        has_second_factor -> Bool,
        is_derived -> Bool,
        sso_origin -> Nullable<Text>,
        parent_sid -> Nullable<Text>,
        authorized_by -> Nullable<Text>,
    }
}

diesel::table! {
    oauth_clients (id) {
        id -> Text,
        name -> Text,
        secret_hash -> Nullable<Text>,
        redirect_uris -> Text,
        scope -> Text,
        is_first_party -> Bool,
        may_introspect_any -> Bool,
        id_token_alg -> Text,
        is_configured -> Bool,
        created_at -> Timestamp,
        updated_at -> Timestamp,
        requires_pkce_s256 -> Bool,
        pkce_seen -> Nullable<Text>,
        grant_types -> Text,
        metadata -> Text,
    }
}

diesel::table! {
    oauth_codes (code_hash) {
        code_hash -> Text,
        client_id -> Text,
        user_id -> BigInt,
        authorized_by -> Text,
        redirect_uri -> Text,
        scope -> Text,
        nonce -> Nullable<Text>,
        challenge -> Nullable<Text>,
        challenge_method -> Nullable<Text>,
        auth_time -> Timestamp,
        created_at -> Timestamp,
        expires_at -> Timestamp,
        used_at -> Nullable<Timestamp>,
        session_id -> Nullable<Text>,
    }
}

diesel::table! {
    oauth_consents (user_id, client_id) {
        user_id -> BigInt,
        client_id -> Text,
        scope -> Text,
        created_at -> Timestamp,
        updated_at -> Timestamp,
    }
}

diesel::table! {
    oauth_devices (device_code_hash) {
        device_code_hash -> Text,
        user_code -> Text,
        client_id -> Text,
        scope -> Text,
        status -> Text,
        user_id -> Nullable<BigInt>,
        authorized_by -> Nullable<Text>,
        auth_time -> Nullable<Timestamp>,
        session_id -> Nullable<Text>,
        poll_seconds -> BigInt,
        polled_at -> Nullable<Timestamp>,
        created_at -> Timestamp,
        expires_at -> Timestamp,
    }
}

diesel::table! {
    signing_keys (kid) {
        kid -> Text,
        algorithm -> Text,
        generation -> BigInt,
        private_key_sealed -> Text,
        public_jwk -> Text,
        created_at -> Timestamp,
        retired_at -> Nullable<Timestamp>,
        longest_ttl_seconds -> BigInt,
        signs_from -> Timestamp,
    }
}

diesel::table! {
    audit_log (id) {
        id -> BigInt,
        at -> Timestamp,
        action -> Text,
        user_id -> Nullable<BigInt>,
        session_id -> Nullable<Text>,
        address -> Nullable<Text>,
        actor_id -> Nullable<BigInt>,
        via -> Text,
        details -> Nullable<Text>,
    }
}

diesel::table! {
    teams (id) {
        id -> BigInt,
        name -> Text,
        slug -> Text,
        slug_lower -> Text,
        description -> Nullable<Text>,
        owner_id -> BigInt,
        created_at -> Timestamp,
        updated_at -> Timestamp,
    }
}

diesel::table! {
    team_members (team_id, user_id) {
        team_id -> BigInt,
        user_id -> BigInt,
        role -> Text,
        joined_at -> Timestamp,
    }
}

diesel::table! {
    team_departures (team_id, user_id) {
        team_id -> BigInt,
        user_id -> BigInt,
        left_at -> Timestamp,
    }
}

diesel::table! {
    changes (id) {
        id -> BigInt,
        at -> Timestamp,
        kind -> Text,
        subject -> Text,
        transaction_id -> BigInt,
    }
}

diesel::table! {
    profile_photos (user_id) {
        user_id -> BigInt,
        content_type -> Text,
        bytes -> Binary,
    }
}

diesel::table! {
    mail_tokens (token_hash) {
        token_hash -> Text,
        purpose -> Text,
        user_id -> BigInt,
        email -> Text,
        created_at -> Timestamp,
        expires_at -> Timestamp,
    }
}

diesel::table! {
    totp_factors (user_id) {
        user_id -> BigInt,
        secret_sealed -> Text,
        created_at -> Timestamp,
        confirmed_at -> Nullable<Timestamp>,
        last_step -> BigInt,
        failed_codes -> BigInt,
        next_code_at_ms -> BigInt,
    }
}

diesel::table! {
    recovery_codes (user_id, code_hash) {
        user_id -> BigInt,
        code_hash -> Text,
    }
}

diesel::table! {
    invitations (id) {
        id -> Text,
        team_id -> BigInt,
        email -> Text,
        email_lower -> Text,
        role -> Text,
        status -> Text,
        token_hash -> Text,
        invited_by -> Nullable<BigInt>,
        accepted_by -> Nullable<BigInt>,
        created_at -> Timestamp,
        expires_at -> Timestamp,
        settled_at -> Nullable<Timestamp>,
    }
}

diesel::joinable!(sessions -> users (user_id));
diesel::joinable!(team_departures -> teams (team_id));
diesel::joinable!(team_members -> teams (team_id));
diesel::joinable!(team_members -> users (user_id));
diesel::joinable!(profile_photos -> users (user_id));
diesel::joinable!(mail_tokens -> users (user_id));
diesel::joinable!(totp_factors -> users (user_id));
diesel::joinable!(invitations -> teams (team_id));
diesel::joinable!(invitations -> users (invited_by));
diesel::joinable!(oauth_codes -> oauth_clients (client_id));
diesel::joinable!(oauth_consents -> oauth_clients (client_id));
diesel::joinable!(oauth_devices -> oauth_clients (client_id));
diesel::allow_tables_to_appear_in_same_query!(
    users,
    sessions,
    teams,
    team_departures,
    team_members,
    profile_photos,
    mail_tokens,
    totp_factors,
    invitations,
    oauth_clients,
    oauth_codes,
    oauth_consents,
    oauth_devices,
);
