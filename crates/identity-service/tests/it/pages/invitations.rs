use chrono::Duration;

use crate::browser::Browser;
use crate::support::PASSWORD;
use crate::team_fixture::TeamFixture;

async fn answer(browser: &mut Browser, path: &str, answer: &str) -> crate::browser::Page {
    let form = browser.get(path).await.expect(200).form(path);
    browser.post(form.set("answer", answer)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_shown_to_the_holder_of_its_link_and_answered_after_signing_in() {
    let fixture = TeamFixture::start().await;
    let (_, token) = fixture
        .invited(&fixture.admin, "sam@example.com", Some("admin"))
        .await;
    let path = format!("/invitations/{token}");
    let mut browser = Browser::new(&fixture.identity);
    let page = browser.get(&path).await.expect(200);
    let page = page.says("Join The Crew?").says("Invited by Adam");
    let page = page.says("Your role Admin");
    assert!(page.forms(&path).is_empty());
    assert!(!page.text().contains("sam@example.com"));

    // The sign-in page leads back to the invitation.
    let link = page.links().into_iter().find(|to| to.starts_with("/login"));
    let form = browser.get(&link.unwrap()).await.form("/login");
    let form = form.set("username", "sam").set("password", PASSWORD);
    let page = browser.submit(form).await.expect(200);
    assert_eq!(page.path, path);
    page.says("You are signed in as Sam");
    let page = answer(&mut browser, &path, "accept").await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some("/teams/crew"));
    assert_eq!(fixture.role_of("Sam").await.as_deref(), Some("admin"));
    // From now on the link leads to the team, for the account that joined with it and is still a member.
    let page = browser.fetch(&path).await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some("/teams/crew"));
    for mut other in [
        Browser::new(&fixture.identity),
        Browser::signed_in(&fixture.identity, "Mia").await,
    ] {
        let page = other.get(&path).await.expect(410);
        page.says("This invitation was already accepted");
    }
    fixture.remove(&fixture.owner, "sam").await.expect(204);
    let page = browser.get(&path).await.expect(410);
    page.says("This invitation was already accepted");
}

#[tokio::test(flavor = "multi_thread")]
async fn registering_from_an_invitation_leads_back_to_it() {
    let fixture = TeamFixture::start().await;
    let (_, token) = fixture
        .invited(&fixture.owner, "new@example.com", None)
        .await;
    let path = format!("/invitations/{token}");
    let mut browser = Browser::new(&fixture.identity);
    let page = browser.get(&path).await;
    let link = page
        .links()
        .into_iter()
        .find(|to| to.starts_with("/register"));
    let form = browser.get(&link.unwrap()).await.form("/register");
    let form = form.set("username", "newcomer").set("password", PASSWORD);
    let page = browser.submit(form).await.expect(200);
    assert_eq!(page.path, path);
    answer(&mut browser, &path, "accept").await.expect(303);
    assert_eq!(fixture.role_of("newcomer").await.as_deref(), Some("member"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_settled_invitation_says_what_became_of_it() {
    let fixture = TeamFixture::start().await;
    let mut browser = Browser::signed_in(&fixture.identity, "sam").await;
    let (_, token) = fixture
        .invited(&fixture.owner, "one@example.com", None)
        .await;
    let path = format!("/invitations/{token}");
    let form = browser.get(&path).await.form(&path);
    let page = answer(&mut browser, &path, "decline").await.expect(303);
    assert_eq!(page.leads_to.as_deref(), Some("/done/invitation-declined"));
    browser.get(&path).await.expect(410).says("was declined");
    let page = browser.post(form.set("answer", "accept")).await;
    page.expect(410).says("was declined");
    assert_eq!(fixture.role_of("Sam").await, None);

    let (invitation, token) = fixture
        .invited(&fixture.owner, "two@example.com", None)
        .await;
    let path = format!("/invitations/{token}");
    let id = invitation["id"].as_str().unwrap();
    let by_id = format!("/invitations/{id}");
    browser.get(&by_id).await.expect(404);
    let withdrawn = format!("/api/teams/crew/invitations/{id}");
    fixture.delete(&fixture.owner, &withdrawn).await.expect(204);
    browser.get(&path).await.expect(410).says("was withdrawn");

    let (_, older) = fixture
        .invited(&fixture.owner, "three@example.com", None)
        .await;
    let (_, token) = fixture
        .invited(&fixture.owner, "three@example.com", None)
        .await;
    for unknown in [older.as_str(), "nonsense", "%20"] {
        let page = browser.get(&format!("/invitations/{unknown}")).await;
        page.expect(404).says("Invitation not found");
    }
    let path = format!("/invitations/{token}");
    browser.get(&path).await.expect(200);
    fixture.identity.hand.advance(Duration::days(7));
    browser.get(&path).await.expect(410).says("has expired");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_invitation_is_answered_only_by_a_form_of_the_signed_in_account() {
    let fixture = TeamFixture::start().await;
    let (_, token) = fixture
        .invited(&fixture.owner, "one@example.com", None)
        .await;
    let path = format!("/invitations/{token}");
    let mut sam = Browser::signed_in(&fixture.identity, "sam").await;
    let form = sam.get(&path).await.form(&path).set("answer", "accept");

    // The same form, after signing out, and after another account has signed in.
    let page = sam.get(&path).await;
    sam.submit(page.form("/logout")).await.expect(200);
    let page = sam.post(form.clone()).await.expect(303);
    assert_eq!(
        page.leads_to,
        Some(format!("/login?return_to=%2Finvitations%2F{token}"))
    );
    sam.sign_in("newer", PASSWORD).await.expect(401);
    fixture.identity.register("newer").await;
    sam.sign_in("newer", PASSWORD).await;
    sam.post(form.clone()).await.expect(403);
    let own = sam.get(&path).await.form(&path).set("answer", "accept");
    sam.post_from("cross-site", own.clone()).await.expect(403);
    sam.post(own.clone().without("csrf")).await.expect(403);
    sam.post(own.clone().forged("answer", "steal"))
        .await
        .expect(400);
    sam.post(own).await.expect(303);
    assert_eq!(fixture.role_of("newer").await.as_deref(), Some("member"));
    assert_eq!(fixture.role_of("Sam").await, None);
}
