use crate::api::Bucket;
use crate::text;

/// A part of the whole, drawn as a bar beside its numbers.
pub(crate) struct Share {
    pub(crate) name: String,
    pub(crate) minutes: String,
    pub(crate) sessions: i64,
    /// Percent of all minutes.
    pub(crate) percent: i64,
    /// Percent of the largest share.
    pub(crate) length: i64,
}

/// Returns the shares of the whole in the order of the buckets, which is by size.
pub(crate) fn shares(buckets: &[Bucket], name: impl Fn(&str) -> String) -> Vec<Share> {
    let all: i64 = buckets.iter().map(|bucket| bucket.worked.minutes).sum();
    let most = buckets.iter().map(|bucket| bucket.worked.minutes).max();
    let of = |minutes: i64, whole: i64| (100 * minutes + whole / 2) / whole.max(1);
    let share = |bucket: &Bucket| Share {
        name: name(&bucket.key),
        minutes: text::minutes(bucket.worked.minutes),
        sessions: bucket.worked.sessions,
        percent: of(bucket.worked.minutes, all),
        length: of(bucket.worked.minutes, most.unwrap_or(0)),
    };
    buckets.iter().map(share).collect()
}
