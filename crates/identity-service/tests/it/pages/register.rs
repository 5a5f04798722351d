use serde_json::json;

use crate::browser::Browser;
use crate::html_parser::elements;
use crate::support::{Identity, PASSWORD};

#[tokio::test(flavor = "multi_thread")]
async fn registering_signs_in_and_continues_to_the_requested_page() {
    let identity = Identity::start().await;
    let mut browser = Browser::new(&identity);
    let page = browser.get("/login?return_to=/teams").await;
    let link = page
        .links()
        .into_iter()
        .find(|to| to.starts_with("/register"));
    let form = browser.get(&link.unwrap()).await.form("/register");
    let form = form
        .set("username", "Ada")
        .set("email", " ada@example.com ");
    let page = browser
        .post(form.set("password", PASSWORD))
        .await
        .expect(303);
    assert_eq!(page.leads_to.as_deref(), Some("/teams"));
    let kinds = "SELECT count(*) AS n FROM sessions WHERE kind = 'browser'";
    assert_eq!(identity.count(kinds), 1);
    assert_eq!(identity.mailed("verify_email"), ["ada@example.com"]);
    let reply = identity.login("ada", PASSWORD).await.expect(200).json();
    assert_eq!(reply["user"]["email"], "ada@example.com");
    // A signed-in browser is redirected from the form.
    let page = browser.fetch("/register").await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some("/account"));

    // The address is optional.
    let mut browser = Browser::new(&identity);
    let form = browser.get("/register").await.form("/register");
    let form = form.set("username", "bob").set("password", PASSWORD);
    let page = browser.post(form).await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some("/account"));
    let reply = identity.login("bob", PASSWORD).await.expect(200).json();
    assert_eq!(reply["user"]["email"], "bob@placeholder.invalid");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_invalid_field_shows_its_error_and_keeps_its_input() {
    let identity = Identity::start_with(|config| config.password.min_strength = 2).await;
    let body = json!({ "username": "Ada", "password": "vqzr ninth lamp oyster", "email": "ada@example.com" });
    identity.open("/api/auth/register", body).await.expect(201);
    let mut browser = Browser::new(&identity);
    let good = "vqzr ninth lamp oyster";
    let long = "x".repeat(73);
    for (username, email, password, wrong) in [
        ("a", "", good, &["username"][..]),
        (
            "a b",
            "nonsense",
            "short",
            &["username", "email", "password"],
        ),
        ("ADA", "", good, &["username"]),
        ("bob", "ADA@example.com", good, &["email"]),
        ("bob", "x@placeholder.invalid", good, &["email"]),
        ("bob", "", "1234567", &["password"]),
        ("bob", "", "password", &["password"]),
        ("bob", "", &long, &["password"]),
        ("\"><script>", "\"><script>", good, &["username", "email"]),
    ] {
        let form = browser.get("/register").await.form("/register");
        let form = form.set("username", username).set("email", email);
        let page = browser.submit(form.set("password", password)).await;
        let page = page.expect(400);
        let fields = elements(&page.html, &["input", "span"]);
        for field in ["username", "email", "password"] {
            let input = fields
                .iter()
                .find(|input| input.attribute("name") == Some(field));
            let input = input.unwrap();
            let is_wrong = input.attribute("aria-invalid") == Some("true");
            assert_eq!(
                is_wrong,
                wrong.contains(&field),
                "{username} {email} {field}"
            );
            let id = format!("{field}-problem");
            let problem = fields
                .iter()
                .find(|span| span.attribute("id") == Some(id.as_str()));
            assert_eq!(problem.is_some(), is_wrong);
            let tied = input.attribute("aria-describedby").unwrap();
            assert_eq!(tied.split(' ').any(|tied| tied == id), is_wrong);
        }
        let form = page.form("/register");
        let kept = (form.value("username"), form.value("email"));
        assert_eq!(kept, (Some(username), Some(email)));
        assert_eq!(form.value("password"), Some(""));
        assert!(elements(&page.html, &["script"]).is_empty());
    }
    assert_eq!(identity.count("SELECT count(*) AS n FROM users"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn registration_by_form_is_rate_limited() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let mut browser = Browser::new(&identity);
    let form = browser.get("/register").await.form("/register");
    // The limit refills while the test runs, so a slow machine gets more attempts.
    for _ in 0..200 {
        let page = browser.submit(form.clone()).await;
        if page.reply.status == 429 {
            assert!(page.reply.header("retry-after").parse::<u64>().unwrap() >= 1);
            page.says("Too many attempts");
            return;
        }
        page.expect(400);
    }
    panic!("no limit");
}
