#[tokio::test(flavor = "multi_thread")]
async fn both_databases_have_the_same_tables_columns_and_indexes() {
    test_kit::assert_same_schema(identity_service::MIGRATIONS).await;
}
