//! Badges, which are given once and never taken back.

use super::credit::Completion;

/// Credited minutes for the badge `hours_100`.
const HUNDRED_HOURS: i64 = 100 * 60;

/// What the badges depend on, including the session just submitted.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BadgeFacts {
    /// The completion of this session.
    pub(crate) completion: Completion,
    /// The local hour in which this session started.
    pub(crate) hour: i32,
    pub(crate) completed_sessions: i64,
    /// Credited minutes of all the user's sessions.
    pub(crate) minutes: i64,
    /// The user's longest streak of all time.
    pub(crate) longest_streak: i32,
    /// Counted days in the ISO week of this session.
    pub(crate) days_in_week: i32,
}

/// Returns the names of the badges that `facts` earn, in a fixed order. Those that the user already has are included.
pub(crate) fn list_earned(facts: &BadgeFacts) -> impl Iterator<Item = &'static str> {
    let is_completed = facts.completion == Completion::Completed;
    [
        ("first_session", facts.completed_sessions >= 1),
        ("streak_7", facts.longest_streak >= 7),
        ("streak_30", facts.longest_streak >= 30),
        ("streak_100", facts.longest_streak >= 100),
        ("sessions_100", facts.completed_sessions >= 100),
        ("sessions_1000", facts.completed_sessions >= 1000),
        ("hours_100", facts.minutes >= HUNDRED_HOURS),
        ("early_bird", is_completed && (4..7).contains(&facts.hour)),
        ("night_owl", is_completed && facts.hour >= 22),
        ("perfect_week", facts.days_in_week >= 7),
    ]
    .into_iter()
    .filter_map(|(name, earned)| earned.then_some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: BadgeFacts = BadgeFacts {
        completion: Completion::Partial,
        hour: 12,
        completed_sessions: 0,
        minutes: 0,
        longest_streak: 0,
        days_in_week: 0,
    };

    fn names(facts: BadgeFacts) -> Vec<&'static str> {
        list_earned(&facts).collect()
    }

    #[test]
    fn each_badge_has_its_own_threshold() {
        assert!(names(NOTHING).is_empty());
        let sessions = |completed_sessions| {
            names(BadgeFacts {
                completed_sessions,
                ..NOTHING
            })
        };
        assert_eq!(sessions(1), ["first_session"]);
        assert_eq!(sessions(100), ["first_session", "sessions_100"]);
        assert_eq!(
            sessions(1000),
            ["first_session", "sessions_100", "sessions_1000"]
        );
        let streak = |longest_streak| {
            names(BadgeFacts {
                longest_streak,
                ..NOTHING
            })
        };
        assert!(streak(6).is_empty());
        assert_eq!(streak(30), ["streak_7", "streak_30"]);
        assert_eq!(streak(100), ["streak_7", "streak_30", "streak_100"]);
        assert_eq!(
            names(BadgeFacts {
                minutes: 6000,
                ..NOTHING
            }),
            ["hours_100"]
        );
        assert_eq!(
            names(BadgeFacts {
                days_in_week: 7,
                ..NOTHING
            }),
            ["perfect_week"]
        );
    }

    #[test]
    fn only_a_completed_session_earns_early_bird_or_night_owl() {
        let at = |hour, completion| {
            names(BadgeFacts {
                hour,
                completion,
                ..NOTHING
            })
        };
        assert!(at(3, Completion::Completed).is_empty());
        assert_eq!(at(4, Completion::Completed), ["early_bird"]);
        assert_eq!(at(6, Completion::Completed), ["early_bird"]);
        assert!(at(7, Completion::Completed).is_empty());
        assert!(at(21, Completion::Completed).is_empty());
        assert_eq!(at(22, Completion::Completed), ["night_owl"]);
        assert!(at(23, Completion::Partial).is_empty());
        assert!(at(3, Completion::Brief).is_empty());
    }
}
