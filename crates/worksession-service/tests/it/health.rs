use std::time::Duration;

use broker::{Acknowledgement, Broker, ConsumeOptions, Queue};
use chrono::TimeDelta;
use serde_json::{Value, json};

use crate::fake_identity::FakeIdentity;
use crate::service_fixture::Service;

async fn issues(service: &Service) -> Vec<String> {
    let report = service
        .api
        .get("/api/health")
        .send()
        .await
        .expect(503)
        .json();
    assert_eq!(report["status"], "unhealthy");
    assert_eq!(report["timestamp"], "2026-11-23T09:00:00Z");
    assert!(
        report["message"]
            .as_str()
            .is_some_and(|text| !text.is_empty())
    );
    assert_eq!(report.as_object().unwrap().len(), 4, "{report}");
    report["issues"]
        .as_array()
        .unwrap()
        .iter()
        .map(|issue| issue.as_str().unwrap().to_owned())
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_notifier_the_chat_integration_is_offline() {
    let (service, _identity) = Service::with_fake_identity(0).await;
    assert_eq!(
        issues(&service).await,
        ["Chat integration offline: no notifier is running"]
    );
    // The probes of orchestrators cover this service alone.
    service.api.get("/health/live").send().await.expect(200);
    service.api.get("/health/ready").send().await.expect(200);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_database_the_report_says_so_and_requests_are_503() {
    let identity = FakeIdentity::default();
    let identity_url = format!("http://{}", identity.start("127.0.0.1:0"));
    let nowhere = json!({"url": "postgres://nobody@127.0.0.1:1/none", "migrate": false});
    let service = Service::with(
        json!({"identity_url": identity_url, "database": nowhere}),
        Broker::memory(),
    )
    .await;
    assert!(
        issues(&service)
            .await
            .contains(&"Database connection failed".to_owned())
    );
    service.api.get("/health/live").send().await.expect(200);
    service.api.get("/health/ready").send().await.expect(503);
    let reply = service
        .api
        .get("/api/projects")
        .bearer("user-")
        .send()
        .await
        .expect(503);
    assert_eq!(reply.json(), json!({"error": "Database unavailable"}));
    assert!(reply.header("retry-after").parse::<u64>().is_ok());
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn events_that_wait_for_more_than_a_minute_degrade_the_chat_integration() {
    let identity = FakeIdentity::default();
    let identity_url = format!("http://{}", identity.start("127.0.0.1:0"));
    let broker = Broker::memory();
    // A notifier that requeues everything.
    let notifier = broker.consume(Queue::NotifyChat, ConsumeOptions::default(), |_| async {
        Acknowledgement::Retry
    });
    let service = Service::with(json!({"identity_url": identity_url}), broker).await;
    let project = service.team_project().await;
    let slack = json!({"provider": "slack", "webhook_url": "https://chat.example/hook"});
    let path = format!("/api/team-projects/{project}/chat");
    service
        .api
        .put(&path)
        .bearer("user-")
        .json(slack)
        .send()
        .await
        .expect(200);
    for (wait, state) in [(60, "operational"), (1, "degraded")] {
        service.clock.advance(TimeDelta::seconds(wait));
        // Within a moment, the previous report is reused.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let report: Value = service
            .api
            .get("/api/health")
            .send()
            .await
            .expect(200)
            .json();
        assert_eq!(report["status"], "healthy");
        assert_eq!(report["services"]["chat_integration"], state, "{report}");
    }
    service.stop().await;
    drop(notifier);
}
