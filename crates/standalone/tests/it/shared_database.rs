use db_kit::migrations;
use test_kit::TestDb;

#[tokio::test(flavor = "multi_thread")]
async fn services_that_are_given_one_database_by_mistake_do_not_take_it_for_theirs() {
    let services = [
        identity_service::MIGRATIONS,
        worksession_service::MIGRATIONS,
        notifier::MIGRATIONS,
    ];
    for (nth, first) in services.into_iter().enumerate() {
        for (_, second) in services.into_iter().enumerate().filter(|(n, _)| *n != nth) {
            let db = TestDb::fresh("shared", first).await;
            let refused = tokio::task::spawn_blocking(move || {
                let pool = db.pool(2);
                let pending = pool.read_blocking(|db| migrations::pending(db, second));
                (pending.unwrap(), migrations::run(&pool, second))
            });
            let (pending, applied) = refused.await.unwrap();
            assert_eq!(pending.len(), 1, "{pending:?}");
            let error = applied.unwrap_err().to_string();
            assert!(error.contains("already exists"), "{error}");
        }
    }
}
