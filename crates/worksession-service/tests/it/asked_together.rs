//! Those who ask together whose tokens they have.

use std::time::{Duration, Instant};

use futures_util::future::join_all;
use test_kit::{Reply, wait_until};

use crate::identity::{Service, Stub};
use crate::identity_down::assert_unavailable;
use crate::several::Way;

const CROWD: i64 = 100;

/// A crowd asks at once; of every ten one has a bad token.
async fn crowd(service: &Service) -> Vec<Reply> {
    let token = |id: i64| match id % 10 {
        0 => "bad".to_owned(),
        _ => format!("member-{id}"),
    };
    let ask = async |id| {
        let call = service.api.get("/api/user/data").bearer(&token(id));
        call.send().await
    };
    join_all((0..CROWD).map(ask)).await
}

/// Everybody gets the answer that is his.
fn assert_own(replies: &[Reply]) {
    for (id, reply) in (0..CROWD).zip(replies) {
        match id % 10 {
            0 => assert_eq!(reply.status, 401, "{}", reply.text()),
            _ => {
                assert_eq!(reply.status, 200, "{}", reply.text());
                assert_eq!(reply.json()["userId"], id.to_string());
            }
        }
    }
}

/// A service that knows, by an answer, whether several tokens are taken.
async fn service(way: Way) -> (Service, Stub) {
    let (service, stub) = Service::with_stub(0).await;
    stub.several.set(way);
    let call = service.api.get("/api/user/data").bearer("member-1");
    call.send().await.expect(200);
    (service, stub)
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_together_with_others_gets_the_answer_that_is_his() {
    let (service, stub) = service(Way::Answers).await;
    let before = stub.asked();
    for _ in 0..5 {
        assert_own(&crowd(&service).await);
    }
    let asked = stub.several.asked();
    assert!(
        asked.iter().all(|count| (2..=64).contains(count)),
        "{asked:?}"
    );
    // Whoever finds nobody on the way asks by himself.
    let alone = stub.asked() - before;
    let together: usize = asked.iter().sum();
    assert_eq!(alone + together, 500);
    assert!(asked.len() + alone < 250, "{asked:?} and {alone}");
    // A scope that is missing is missing here too.
    let call = service.api.get("/api/projects").bearer("user-openid");
    call.send().await.expect(403);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_identity_service_that_never_said_so_is_asked_one_by_one() {
    let (service, stub) = service(Way::Unheard).await;
    assert_own(&crowd(&service).await);
    assert!(stub.several.asked().is_empty());
    assert_eq!(stub.asked(), 101);
    // One that said so, and is replaced by one that takes no several.
    stub.several.set(Way::SaysSo);
    let call = service.api.get("/api/user/data").bearer("member-1");
    call.send().await.expect(200);
    assert_own(&crowd(&service).await);
    stub.several.set(Way::Unheard);
    let call = service.api.get("/api/user/data").bearer("member-1");
    call.send().await.expect(200);
    assert_own(&crowd(&service).await);
    assert_own(&crowd(&service).await);
    service.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_used_of_an_answer_is_asked_one_by_one() {
    for way in [
        Way::LeavesOneOut,
        Way::Rubbish,
        Way::Fails,
        Way::SaysNothingOfSome,
    ] {
        let (service, stub) = service(way).await;
        for _ in 0..3 {
            assert_own(&crowd(&service).await);
        }
        assert!(!stub.several.asked().is_empty(), "{way:?}");
        service.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_falls_silent_refuses_those_who_asked_and_holds_nobody_up() {
    let (service, stub) = service(Way::IsSilent).await;
    let began = Instant::now();
    let replies = crowd(&service).await;
    assert!(began.elapsed() < Duration::from_secs(4));
    assert!(!stub.several.asked().is_empty());
    let refused: Vec<&Reply> = replies.iter().filter(|reply| reply.status == 503).collect();
    assert!(refused.len() > 20, "{}", refused.len());
    for reply in refused {
        assert_unavailable(reply);
    }
    // Whoever was let in is who he says.
    for (id, reply) in (0..CROWD).zip(&replies) {
        if reply.status == 200 {
            assert_eq!(reply.json()["userId"], id.to_string());
        }
    }
    // It is back: nothing that hung before holds anybody up.
    stub.several.set(Way::Answers);
    wait_until(
        "everybody is answered",
        Duration::from_secs(5),
        async || {
            let replies = crowd(&service).await;
            let is_back = replies.iter().all(|reply| reply.status != 503);
            is_back.then(|| assert_own(&replies))
        },
    )
    .await;
    service.stop().await;
}
