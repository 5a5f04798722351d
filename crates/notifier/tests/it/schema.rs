#[tokio::test(flavor = "multi_thread")]
async fn both_databases_have_the_same_tables() {
    test_kit::assert_same_schema(notifier::MIGRATIONS).await;
}
