use serde_json::json;

use crate::browser::Browser;
use crate::html::elements;
use crate::support::{Identity, PASSWORD};

#[tokio::test(flavor = "multi_thread")]
async fn who_registers_is_signed_in_and_goes_on_where_he_wanted() {
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
    // Once more with the same browser: there is nothing to do.
    let page = browser.fetch("/register").await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some("/account"));

    // An address is not asked for.
    let mut browser = Browser::new(&identity);
    let form = browser.get("/register").await.form("/register");
    let form = form.set("username", "bob").set("password", PASSWORD);
    let page = browser.post(form).await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some("/account"));
    let reply = identity.login("bob", PASSWORD).await.expect(200).json();
    assert_eq!(reply["user"]["email"], "bob@placeholder.invalid");
}

#[tokio::test(flavor = "multi_thread")]
async fn each_field_says_what_is_wrong_with_it_and_keeps_what_was_typed() {
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
async fn registering_by_the_form_is_limited_as_by_the_api() {
    let identity = Identity::start_with(|config| config.rate_limits.enabled = Some(true)).await;
    let mut browser = Browser::new(&identity);
    let form = browser.get("/register").await.form("/register");
    // On a slow machine some places are free again by the time that they are used up.
    for _ in 0..200 {
        let page = browser.submit(form.clone()).await;
        if page.reply.status == 429 {
            assert!(page.reply.header("retry-after").parse::<u64>().unwrap() >= 1);
            page.says("Too many tries");
            return;
        }
        page.expect(400);
    }
    panic!("no limit");
}
