use super::model::Kind;
use crate::delivery::DeliveryRow;

/// Selects the due deliveries for a new message. A test is a message of its own, and nothing is sent before what was
/// due earlier. Within the message they are sorted by id, as they will be when it is sent again.
pub(super) fn compose(ready: Vec<DeliveryRow>) -> Vec<DeliveryRow> {
    let is_test = |row: &DeliveryRow| Kind::from_name(&row.kind) == Kind::Test;
    let alone = ready.first().is_some_and(is_test);
    let mut rows: Vec<DeliveryRow> = ready
        .into_iter()
        .enumerate()
        .take_while(|(n, row)| *n == 0 || !(alone || is_test(row) || row.message_id.is_some()))
        .map(|(_, row)| row)
        .collect();
    rows.sort_by(|a, b| a.id.cmp(&b.id));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::delivery_row;

    fn row(id: &str, kind: Kind, message_id: Option<&str>) -> DeliveryRow {
        DeliveryRow {
            message_id: message_id.map(str::to_owned),
            ..delivery_row(id, kind.name())
        }
    }

    #[test]
    fn a_digest_joins_what_is_due_up_to_a_test_or_an_attempted_message() {
        let (plan, end) = (
            |id| row(id, Kind::Plan, None),
            |id| row(id, Kind::Finished, None),
        );
        let composed = |ready| {
            let rows = compose(ready);
            let ids: Vec<String> = rows.into_iter().map(|row| row.id).collect();
            ids.concat()
        };
        assert_eq!(composed(vec![plan("a")]), "a");
        assert_eq!(composed(vec![plan("b"), end("a")]), "ab");
        assert_eq!(composed(vec![plan("a"), end("b"), plan("c")]), "abc");
        let test = || row("t", Kind::Test, None);
        let before = vec![plan("a"), end("b"), test(), plan("c")];
        assert_eq!(composed(before), "ab");
        assert_eq!(composed(vec![test(), plan("a")]), "t");
        let tried = row("b", Kind::Plan, Some("b"));
        assert_eq!(composed(vec![plan("a"), tried, plan("c")]), "a");
    }
}
