use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
    sync::atomic::{AtomicUsize, Ordering},
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use url::Url;

use super::{
    GuardError, GuardOptions, GuardedClient, Method, address::is_public, resolver::Lookup,
};

mod responses;

/// Returns options that allow these networks and plain http.
fn options(networks: &[&str]) -> GuardOptions {
    GuardOptions {
        allowed_cidrs: networks.iter().map(|net| net.parse().unwrap()).collect(),
        allow_plain: true,
        ..GuardOptions::default()
    }
}

fn allowing(networks: &[&str]) -> GuardedClient {
    GuardedClient::new(options(networks)).unwrap()
}

#[test]
fn only_addresses_of_the_public_internet_pass() {
    let public = [
        "1.1.1.1",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.0.1",
        "172.15.255.255",
        "172.32.0.0",
        "192.0.1.1",
        "192.167.0.1",
        "198.17.0.1",
        "198.20.0.1",
        "223.255.255.255",
        "2606:4700:4700::1111",
        "2001:4860:4860::8888",
        "2a00:1450::1",
        "2003::1",
    ];
    let forbidden = [
        "0.0.0.0",
        "0.1.2.3",
        "10.0.0.1",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.9",
        "224.0.0.1",
        "239.255.255.255",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::7f00:1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::7f00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:0:53aa:64c:0:fffe:80ff:fffe",
        "2001:2::1",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "fec0::1",
        "ff02::1",
        "4000::1",
    ];
    let parse = |text: &str| text.parse::<IpAddr>().unwrap();
    for text in public {
        assert!(is_public(parse(text)), "{text} is public");
    }
    for text in forbidden {
        assert!(!is_public(parse(text)), "{text} is not public");
    }
}

#[tokio::test]
async fn a_private_address_is_refused_in_every_spelling_and_behind_a_name() {
    let client = allowing(&[]);
    for url in [
        "http://127.0.0.1/",
        // Decimal, hexadecimal, octal, mixed, short.
        "http://2130706433/",
        "http://0x7f000001/",
        "http://0X7F.0x0.0.0x1/",
        "http://0x7f.1/",
        "http://017700000001/",
        "http://0177.0.0.01/",
        "http://0xa.0.0.1/",
        "http://10.1/",
        "http://127.1/",
        "http://127.0.1/",
        "http://0/",
        // Addresses that look like names.
        "http://127.0.0.1./",
        "http://%31%32%37.0.0.1/",
        "http://1２7.0.0.1/",
        "http://①②⑦.⓪.⓪.①/",
        "http://127。0。0。1/",
        "http://127．0｡0.1/",
        // The text before the @ is not the host.
        "http://1.1.1.1@127.0.0.1/",
        "http://one.one.one.one:443@127.0.0.1/",
        // IPv6, and IPv4 inside of it.
        "http://[::1]/",
        "http://[::]/",
        "http://[::127.0.0.1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://[::ffff:0:127.0.0.1]/",
        "http://[64:ff9b::a00:1]/",
        "http://[64:ff9b:1::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[2001:0:a00:1::1]/",
        "http://[fe80::1]/",
        "http://[fd00::1]/",
        "http://169.254.169.254/",
        // Names of this machine.
        "http://LOCALHOST/",
        "http://localhost/",
    ] {
        let url = client.check_url(url).expect(url);
        let result = client
            .send_json(Method::POST, &url, &serde_json::Value::Null, None)
            .await;
        assert_eq!(result, Err(GuardError::ForbiddenAddress), "{url}");
    }
}

#[tokio::test]
async fn what_is_no_address_at_all_is_refused_before_anything_is_asked() {
    let client = allowing(&[]);
    for url in [
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://256.0.0.1/",
        "http://1.2.3.4.5/",
        "http://0x100000000/",
        "http://127.0.0.1:99999/",
        "http://[::1/",
        "http://a b/",
        "http://exa%00mple/",
    ] {
        assert_eq!(client.check_url(url), Err(GuardError::InvalidUrl), "{url}");
    }
}

/// Returns a name server that gives the next of these answers at each call, and the count of its calls.
fn answering(answers: Vec<Vec<IpAddr>>) -> (Lookup, Arc<AtomicUsize>) {
    let requests = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requests);
    let lookup: Lookup = Arc::new(move |_| {
        let now = count.fetch_add(1, Ordering::SeqCst).min(answers.len() - 1);
        let found = answers[now]
            .iter()
            .map(|ip| SocketAddr::new(*ip, 0))
            .collect();
        Box::pin(async move { Ok(found) })
    });
    (lookup, requests)
}

/// Starts a server that counts connections, answers 200 and closes them.
fn counting(listener: TcpListener) -> Arc<AtomicUsize> {
    let came = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&came);
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::SeqCst);
            let mut buffer = [0; 4096];
            let _ = socket.read(&mut buffer).await;
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = socket.write_all(answer).await;
        }
    });
    came
}

#[tokio::test]
async fn a_name_that_changes_its_mind_is_called_where_it_was_checked_or_not_at_all() {
    // On Linux, all of 127/8 is this machine. One of its addresses stands for the public one.
    let good = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = good.local_addr().unwrap().port();
    let bad = TcpListener::bind(("127.0.0.2", port)).await.unwrap();
    let (good, bad) = (counting(good), counting(bad));
    let [checked, inside]: [IpAddr; 2] = ["127.0.0.1", "127.0.0.2"].map(|ip| ip.parse().unwrap());
    let (lookup, requests) = answering(vec![
        vec![checked],
        vec![inside],
        vec![inside, checked],
        vec![],
    ]);
    let client = GuardedClient::asking(lookup, options(&["127.0.0.1/32"])).unwrap();
    let url = Url::parse(&format!("http://rebind.example:{port}/")).unwrap();
    let call = async || {
        let answer = client.send_json(Method::POST, &url, &serde_json::Value::Null, None);
        answer.await.map(|answer| answer.status)
    };
    assert_eq!(call().await, Ok(200));
    assert_eq!(requests.load(Ordering::SeqCst), 1, "nobody asks twice");
    assert_eq!(call().await, Err(GuardError::ForbiddenAddress));
    assert_eq!(call().await, Ok(200), "what may be called is called");
    assert_eq!(call().await, Err(GuardError::Connect));
    assert_eq!(good.load(Ordering::SeqCst), 2);
    assert_eq!(bad.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn an_allowed_network_is_allowed_and_its_neighbour_is_not() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let came = counting(listener);
    for (networks, expected) in [
        (vec!["127.0.0.0/8"], Ok(200)),
        (vec!["127.0.0.1/32"], Ok(200)),
        (vec!["10.0.0.0/8", "127.0.0.0/30"], Ok(200)),
        (vec![], Err(GuardError::ForbiddenAddress)),
        (vec!["127.0.0.2/31"], Err(GuardError::ForbiddenAddress)),
        (vec!["10.0.0.0/8"], Err(GuardError::ForbiddenAddress)),
        (
            vec!["::1/128", "::ffff:127.0.0.1/128"],
            Err(GuardError::ForbiddenAddress),
        ),
    ] {
        let before = came.load(Ordering::SeqCst);
        let client = allowing(&networks);
        let url = Url::parse(&format!("http://127.0.0.1:{port}/")).unwrap();
        let answer = client.send_json(Method::POST, &url, &serde_json::Value::Null, None);
        let status = answer.await.map(|answer| answer.status);
        assert_eq!(status, expected, "{networks:?}");
        let calls = usize::from(expected.is_ok());
        assert_eq!(came.load(Ordering::SeqCst), before + calls, "{networks:?}");
    }
}

/// Names the URL that the child process of the test below calls.
const TARGET: &str = "HOLDFAST_TEST_GUARD_TARGET";

/// A process gets its environment when it starts, so the test runs itself as a child process.
#[tokio::test]
#[expect(
    clippy::disallowed_methods,
    reason = "a message from the parent process"
)]
async fn a_proxy_in_the_environment_is_not_asked() {
    if let Ok(target) = std::env::var(TARGET) {
        let client = allowing(&["127.0.0.0/8"]);
        let url = Url::parse(&target).unwrap();
        let answer = client.send_json(Method::POST, &url, &serde_json::Value::Null, None);
        assert_eq!(answer.await.unwrap().status, 200);
        return;
    }
    let [target, proxy] = [
        TcpListener::bind("127.0.0.1:0").await.unwrap(),
        TcpListener::bind("127.0.0.1:0").await.unwrap(),
    ];
    let address = |listener: &TcpListener| format!("http://{}/", listener.local_addr().unwrap());
    let (url, through) = (address(&target), address(&proxy));
    let (called, requests) = (counting(target), counting(proxy));
    let child = tokio::task::spawn_blocking(move || {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        child.args([
            "--exact",
            "guard::tests::a_proxy_in_the_environment_is_not_asked",
        ]);
        for name in [
            "HTTP_PROXY",
            "http_proxy",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "all_proxy",
        ] {
            child.env(name, &through);
        }
        child.env_remove("NO_PROXY").env_remove("no_proxy");
        child.env(TARGET, url).output().unwrap()
    });
    let output = child.await.unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(called.load(Ordering::SeqCst), 1, "{output:?}");
    assert_eq!(requests.load(Ordering::SeqCst), 0);
}
