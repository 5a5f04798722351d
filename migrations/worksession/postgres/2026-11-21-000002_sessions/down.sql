DROP TABLE user_badges;
DROP TABLE user_category;
DROP TABLE user_hour;
DROP TABLE user_day;
DROP TABLE user_totals;
DROP TABLE session_flags;
DROP TABLE sessions;
