//! Forms that are saved until their senders have signed in again.
#![allow(clippy::expect_used, reason = "tests fail by panicking")]

use service_kit::seal::{Purpose, Sealer, SealingKeys};
use web_kit::SavedForm;
use web_kit::form::CsrfToken;
use web_kit::saved_form::LIFE_SECONDS;

fn sealer() -> Sealer {
    SealingKeys::new(&[7; 32], [])
        .sealer(Purpose::Forms)
        .expect("a key")
}

fn saved(body: &str) -> SavedForm {
    let token = CsrfToken::new("5", "/account/email");
    SavedForm::new(token, "/account/email", body.as_bytes(), 1_000)
}

#[test]
fn a_saved_form_is_valid_for_its_account_and_browser_until_it_expires() {
    let form = saved("csrf=t&email=a%40b&password=hush&note=");
    let sealed = form.seal(&sealer(), "browser").expect("is small");
    let open = |browser, account, now| {
        SavedForm::open(&sealer(), browser, &sealed, account, now).is_some()
    };
    assert!(open("browser", "5", 1_000) && open("browser", "5", 999 + LIFE_SECONDS));
    assert!(!open("other", "5", 1_000) && !open("browser", "6", 1_000));
    assert!(!open("browser", "5", 1_000 + LIFE_SECONDS));
    let fields = form.fields(&["email"]);
    let shown: Vec<_> = fields
        .iter()
        .map(|field| (&*field.label, &*field.value, field.is_secret))
        .collect();
    assert_eq!(
        shown,
        [
            ("E-mail address", "a@b", false),
            ("Password", "", true),
            ("Note", "", false)
        ]
    );
    assert!(form.is_written(&["email"]) && !form.is_written(&["note", "password"]));
}

#[test]
fn a_form_too_large_for_a_cookie_or_leading_elsewhere_is_not_restored() {
    assert!(saved(&"x".repeat(4_000)).seal(&sealer(), "").is_none());
    let token = CsrfToken::new("5", "/account/email");
    let form = SavedForm::new(token, "//evil.example/", b"note=x", 1_000);
    let sealed = form.seal(&sealer(), "").expect("is small");
    assert!(SavedForm::open(&sealer(), "", &sealed, "5", 1_000).is_none());
}

#[test]
fn no_password_of_any_page_is_saved() {
    let crates = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut folders = vec![
        crates.join("identity-service/templates"),
        crates.join("dashboard/templates"),
    ];
    let mut names = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(path).expect("a template");
            let inputs = text.split("<input ").filter(|input| {
                let input = input.split('\n').next().unwrap_or_default();
                input.contains("type=\"password\"") || input.contains("one-time-code")
            });
            names.extend(inputs.filter_map(|input| {
                let (_, rest) = input.split_once("name=\"")?;
                rest.split('"').next().map(str::to_owned)
            }));
        }
    }
    assert!(names.len() > 5, "{names:?}");
    names.retain(|name| {
        let form = saved(&format!("{name}=hush"));
        form.fields(&[]).iter().any(|field| !field.is_secret)
    });
    assert!(names.is_empty(), "{names:?}");
}
