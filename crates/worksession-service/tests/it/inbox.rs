//! Old rows of the inbox are deleted while the service runs.

use test_kit::wait_until;

use crate::broker_fixture::TIMEOUT;
use crate::database;
use crate::service_fixture::Service;

#[tokio::test(flavor = "multi_thread")]
async fn inbox_rows_older_than_thirty_days_are_deleted_and_no_others() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    // The clock stands at 23 November 2026, 09:00. There are more rows than one transaction deletes.
    database::execute(
        &service,
        "INSERT INTO inbox (consumer, event_id, received_at) \
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2500) \
         SELECT 'somebody', 'old-' || i, '2026-10-24 08:59:59' FROM n; \
         INSERT INTO inbox (consumer, event_id, received_at) VALUES ('somebody', 'young', '2026-10-24 09:00:01')",
    );
    let left = |which: &str| {
        let sql = format!("SELECT count(*) AS number FROM inbox WHERE event_id LIKE '{which}%'");
        database::count(&service, &sql)
    };
    wait_until("the old ones to go", TIMEOUT, async || {
        (left("old") == 0).then_some(())
    })
    .await;
    assert_eq!(left("young"), 1);
    service.stop().await;
}
