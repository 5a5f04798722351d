//! Unmodified libraries, configured as their own documentation says, whose user signs in with Holdfast.

use super::application::{Application, installed, source};

const EMAIL: &str = "mia@example.com";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs django-allauth: `cargo xtask e2e clients` runs it"]
async fn django_allauth_signs_in() {
    let path = "/accounts/oidc/holdfast/login/";
    let application = django("django_allauth", "/accounts/oidc/holdfast/login/callback/");
    let sign_in = application.shows(EMAIL, async |running, mia| {
        let page = mia.visit(&running.at(path)).await;
        mia.submit(&page, path, &[]).await
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs mozilla-django-oidc: `cargo xtask e2e clients` runs it"]
async fn mozilla_django_oidc_signs_in() {
    let application = django("mozilla_oidc", "/oidc/callback/");
    let sign_in = application.shows(EMAIL, async |running, mia| {
        mia.visit(&running.at("/oidc/authenticate/")).await
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs social-auth: `cargo xtask e2e clients` runs it"]
async fn social_auth_signs_in() {
    let application = django("social_auth", "/complete/oidc/");
    let sign_in = application.shows(EMAIL, async |running, mia| {
        let page = mia.visit(&running.at("/")).await;
        mia.submit(&page, "/login/oidc/", &[]).await
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs express-openid-connect: `cargo xtask e2e clients` runs it"]
async fn express_openid_connect_signs_in_with_a_code() {
    let application = express("express_openid_connect.js", "/callback");
    let application = application.env("RESPONSE_TYPE", "code");
    let sign_in = application.shows(EMAIL, async |running, mia| {
        mia.visit(&running.at("/")).await
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs express-openid-connect: `cargo xtask e2e clients` runs it"]
async fn express_openid_connect_signs_in_as_in_its_quick_start_and_out_of_holdfast() {
    let application = express("express_openid_connect.js", "/callback").registered_with(&[
        "--response-type=id_token",
        "--post-logout-redirect-uri=BASE_URL",
    ]);
    let signs_in_and_out = application.runs(async |running, mia| {
        mia.visit(&running.at("/")).await.shows(EMAIL);
        // The application sends its visitors to sign in, and mia does not come back: Holdfast asks who that is.
        let page = mia.visit(&running.at("/logout")).await;
        page.shows(r#"name="password""#);
        assert_ne!(page.url.port(), running.port(), "{page:?}");
    });
    signs_in_and_out.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs passport-openidconnect: `cargo xtask e2e clients` runs it"]
async fn passport_openidconnect_signs_in() {
    let application = express("passport.js", "/cb");
    let sign_in = application.shows(EMAIL, async |running, mia| {
        mia.visit(&running.at("/login")).await
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs Auth.js: `cargo xtask e2e clients` runs it"]
async fn auth_js_signs_in() {
    let application = express("auth_js.js", "/auth/callback/holdfast");
    let sign_in = application.shows(EMAIL, async |running, mia| {
        let page = mia.visit(&running.at("/auth/signin")).await;
        mia.submit(&page, "/auth/signin/holdfast", &[]).await
    });
    sign_in.await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs better-auth: `cargo xtask e2e clients` runs it"]
async fn better_auth_signs_in() {
    let application = express("better_auth.js", "/api/auth/callback/holdfast");
    let sign_in = application.shows(EMAIL, async |running, mia| {
        mia.visit(&running.at("/login")).await
    });
    sign_in.await;
}

fn django(settings: &str, callback: &'static str) -> Application {
    let python = installed("applications/django").join("bin/python");
    let run = source("applications/django/run.py");
    Application::new(python, callback).arg(run).arg(settings)
}

fn express(script: &str, callback: &'static str) -> Application {
    Application::node("applications/node", script, callback)
}
