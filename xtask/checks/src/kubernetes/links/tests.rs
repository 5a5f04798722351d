use super::super::folder::tests::folder;
use super::*;
use serde_json::json;

fn server() -> Value {
    let probe = json!({"httpGet": {"port": "http"}});
    json!({
        "kind": "Deployment", "metadata": {"name": "a"},
        "spec": {
            "selector": {"matchLabels": {"app": "a"}},
            "template": {"metadata": {"labels": {"app": "a"}}, "spec": {
                "topologySpreadConstraints": [{"labelSelector": {"matchLabels": {"app": "a"}}}],
                "containers": [{
                    "ports": [{"name": "http", "containerPort": 80}],
                    "startupProbe": probe, "livenessProbe": probe, "readinessProbe": probe,
                }],
            }},
        },
    })
}

fn service() -> Value {
    json!({
        "kind": "Service", "metadata": {"name": "a"},
        "spec": {"selector": {"app": "a"}, "ports": [{"name": "http", "port": 80, "targetPort": "http"}]},
    })
}

fn policy() -> Value {
    let peer = json!({"podSelector": {"matchLabels": {"app": "a"}}});
    let others =
        json!({"namespaceSelector": {}, "podSelector": {"matchLabels": {"k8s-app": "dns"}}});
    json!({
        "kind": "NetworkPolicy", "metadata": {"name": "a"},
        "spec": {
            "podSelector": {"matchLabels": {"app": "a"}},
            "ingress": [{"from": [peer], "ports": [{"port": "http"}]}],
            "egress": [{"to": [peer], "ports": [{"port": "http"}]}, {"to": [others], "ports": [{"port": 53}]}],
        },
    })
}

fn budget() -> Value {
    json!({
        "kind": "PodDisruptionBudget", "metadata": {"name": "a"},
        "spec": {"selector": {"matchLabels": {"app": "a"}}},
    })
}

fn entry() -> Value {
    let backend = json!({"service": {"name": "a", "port": {"name": "http"}}});
    json!({
        "kind": "Ingress", "metadata": {"name": "a"},
        "spec": {
            "tls": [{"hosts": ["a.example"]}],
            "rules": [{"host": "a.example", "http": {"paths": [{"path": "/", "backend": backend}]}}],
        },
    })
}

/// Returns the complaints after one value in one of the manifests is changed.
fn changed(which: usize, place: &str, value: Value) -> Vec<String> {
    let mut all = [json!({}), server(), service(), policy(), budget(), entry()];
    *all[which].pointer_mut(place).unwrap() = value;
    check(&folder(all, &[]))
}

#[test]
fn manifests_that_fit_together_pass() {
    let found = changed(0, "", json!({}));
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn a_selector_that_selects_nobody_is_found() {
    for (which, place) in [
        (1, "/spec/selector/matchLabels/app"),
        (
            1,
            "/spec/template/spec/topologySpreadConstraints/0/labelSelector/matchLabels/app",
        ),
        (2, "/spec/selector/app"),
        (3, "/spec/podSelector/matchLabels/app"),
        (3, "/spec/ingress/0/from/0/podSelector/matchLabels/app"),
        (3, "/spec/egress/0/to/0/podSelector/matchLabels/app"),
        (4, "/spec/selector/matchLabels/app"),
    ] {
        assert!(!changed(which, place, json!("b")).is_empty(), "{place}");
    }
}

#[test]
fn a_service_that_selects_the_pods_of_two_is_found() {
    let mut job = server();
    *job.pointer_mut("/kind").unwrap() = json!("Job");
    let found = check(&folder([json!({}), server(), job, service()], &[]));
    assert!(found.iter().any(|it| it.contains("Service a")), "{found:?}");
}

#[test]
fn a_port_that_nobody_has_is_found() {
    for (which, place) in [
        (1, "/spec/template/spec/containers/0/ports/0/name"),
        (
            1,
            "/spec/template/spec/containers/0/readinessProbe/httpGet/port",
        ),
        (2, "/spec/ports/0/targetPort"),
        (3, "/spec/ingress/0/ports/0/port"),
        (3, "/spec/egress/0/ports/0/port"),
        (5, "/spec/rules/0/http/paths/0/backend/service/port/name"),
        (5, "/spec/rules/0/http/paths/0/backend/service/name"),
    ] {
        assert!(!changed(which, place, json!("web")).is_empty(), "{place}");
    }
    let found = changed(
        1,
        "/spec/template/spec/containers/0/livenessProbe",
        json!({}),
    );
    assert_eq!(found, ["all.yaml: Deployment a: there is no livenessProbe"]);
}

#[test]
fn a_host_without_a_certificate_is_found() {
    assert_eq!(changed(5, "/spec/tls/0/hosts", json!([])).len(), 1);
}

#[test]
fn what_the_check_cannot_read_is_said() {
    let expressions = json!({"matchLabels": {"app": "a"}, "matchExpressions": []});
    assert_eq!(changed(4, "/spec/selector", expressions).len(), 1);
}
