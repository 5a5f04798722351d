use db_kit::migrations;
use test_kit::TestDb;

#[tokio::test(flavor = "multi_thread")]
async fn a_service_does_not_migrate_the_database_of_another_one() {
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
