//! `GET /api/health` with everything up. The crate of the service tests what may be down.

use serde_json::json;

use crate::harness::System;

#[tokio::test(flavor = "multi_thread")]
async fn with_everything_up_the_health_report_is_as_the_contract_says() {
    let system = System::start().await;
    let reply = system.work.get("/api/health").send().await.expect(200);
    let report = reply.json();
    let up = "operational";
    let services = json!({
        "authentication": up, "session_tracking": up, "chat_integration": up, "analytics": up,
    });
    assert_eq!(report["status"], "healthy");
    assert_eq!(report["database"], "connected");
    assert_eq!(report["services"], services);
    assert_eq!(report["timestamp"], "2026-11-23T09:00:00Z");
    let version = report["version"].as_str().unwrap();
    assert!(
        version.split('.').count() >= 2 && version.starts_with(|c: char| c.is_ascii_digit()),
        "{version}"
    );
    let tzdata = report["tzdata_version"].as_str().unwrap();
    assert!(tzdata >= "2026f", "{tzdata}");
    for field in ["message", "uptime"] {
        assert!(
            report[field].as_str().is_some_and(|text| !text.is_empty()),
            "{report}"
        );
    }
    assert_eq!(report.as_object().unwrap().len(), 8, "{report}");
    let head = system
        .work
        .call("HEAD".parse().unwrap(), "/api/health")
        .send()
        .await
        .expect(200);
    assert!(head.body.is_empty());
}
