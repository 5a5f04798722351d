use super::model::{DeliveryRow, Kind};

/// A new message of what is due: a digest, unless only one is. A test is a message of its own, and nothing is
/// told before what was due earlier. In it they stand by their ids, however they came: as they will when it is sent again.
pub(super) fn compose_new(ready: Vec<DeliveryRow>) -> (String, Vec<DeliveryRow>) {
    let is_test = |row: &DeliveryRow| Kind::of(&row.kind) == Kind::Test;
    let alone = ready.first().is_some_and(is_test);
    let mut rows: Vec<DeliveryRow> = ready
        .into_iter()
        .enumerate()
        .take_while(|(n, row)| *n == 0 || !(alone || is_test(row) || row.batch_id.is_some()))
        .map(|(_, row)| row)
        .collect();
    rows.sort_by(|a, b| a.event_id.cmp(&b.event_id));
    let first = rows.first().map(|row| row.event_id.clone());
    let first = first.unwrap_or_default();
    let batch_id = match rows.len() {
        // Another id than that of the first by itself, which is told so when the digest is refused.
        several @ 2.. => format!("{first}.{several}"),
        _ => first,
    };
    (batch_id, rows)
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn row(id: &str, kind: Kind, batch_id: Option<&str>) -> DeliveryRow {
        DeliveryRow {
            event_id: id.to_owned(),
            session_id: String::new(),
            project_id: 1,
            request_id: None,
            payload: None,
            attempts: 0,
            give_up_at: DateTime::UNIX_EPOCH.naive_utc(),
            reason: None,
            kind: kind.name().to_owned(),
            batch_id: batch_id.map(str::to_owned),
        }
    }

    #[test]
    fn a_digest_joins_what_is_due_up_to_a_test_or_a_message_that_was_tried() {
        let (plan, end) = (
            |id| row(id, Kind::Plan, None),
            |id| row(id, Kind::Finished, None),
        );
        let composed = |ready| {
            let (batch_id, rows) = compose_new(ready);
            (batch_id, rows.len())
        };
        assert_eq!(composed(vec![plan("a")]), ("a".to_owned(), 1));
        let (id, rows) = compose_new(vec![plan("b"), end("a")]);
        assert_eq!((id.as_str(), rows[0].event_id.as_str()), ("a.2", "a"));
        assert_eq!(
            composed(vec![plan("a"), end("b"), plan("c")]),
            ("a.3".to_owned(), 3)
        );
        let test = || row("t", Kind::Test, None);
        assert_eq!(
            composed(vec![plan("a"), end("b"), test(), plan("c")]),
            ("a.2".to_owned(), 2)
        );
        assert_eq!(composed(vec![test(), plan("a")]), ("t".to_owned(), 1));
        let tried = row("b", Kind::Plan, Some("b"));
        assert_eq!(
            composed(vec![plan("a"), tried, plan("c")]),
            ("a".to_owned(), 1)
        );
    }
}
