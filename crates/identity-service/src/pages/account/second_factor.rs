//! Switching the second factor on and off, and its recovery codes.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::ServiceConfig;
use askama::Template;
use messages::t;
use qrcode::{Color, QrCode};
use service_kit::http::{Query, endpoint};

use crate::error::Error;
use crate::pages::form::Form;
use crate::pages::form_messages::{DoneQuery, FormMessages, messages_for};
use crate::pages::page_frame::PageFrame;
use crate::pages::visitor::SignedInVisitor;
use crate::request_context::RequestContext;
use crate::totp::service;
use crate::totp::wire::{
    RecoveryCodes, TotpChangeRequest, TotpConfirmRequest, TotpSetup, TotpSetupRequest, TotpStatus,
};

pub(super) fn routes(cfg: &mut ServiceConfig) {
    cfg.service(endpoint("/account/second-factor").get(page))
        .service(endpoint("/account/second-factor/setup").post(set_up))
        .service(endpoint("/account/second-factor/confirm").post(confirm))
        .service(
            endpoint("/account/second-factor/codes")
                .get(codes_page)
                .post(renew_codes),
        )
        .service(
            endpoint("/account/second-factor/off")
                .get(off_page)
                .post(switch_off),
        );
}

#[derive(Template)]
#[template(path = "account/second_factor.html")]
struct StatusPage {
    frame: PageFrame,
    status: TotpStatus,
}

/// Shows the secret for an authenticator app and asks for a code. Later attempts only ask for the code.
#[derive(Template)]
#[template(path = "account/second_factor_confirm.html")]
struct TotpConfirmPage {
    frame: PageFrame,
    shown: Option<(TotpSetup, QrCodeImage)>,
}

#[derive(Template)]
#[template(path = "account/recovery_codes.html")]
struct CodesPage {
    frame: PageFrame,
    codes: RecoveryCodes,
    is_new: bool,
}

/// The confirmation of a change with the password and a code.
#[derive(Template)]
#[template(path = "account/second_factor_change.html")]
struct ChangePage {
    frame: PageFrame,
    asks_code: bool,
    turns_off: bool,
}

async fn page(caller: SignedInVisitor, query: Query<DoneQuery>) -> actix_web::Result<HttpResponse> {
    show_status(&caller, query.0.messages()).await
}

async fn set_up(
    form: Form<TotpSetupRequest>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, request) = form.by_caller()?;
    match service::set_up(&caller.visitor.app, &caller.user, request, &context).await {
        Ok(made) => {
            let symbol = QrCodeImage::encode(&made.otpauth_url)?;
            let shown = Some((made, symbol));
            Ok(ask_code(&caller, FormMessages::default(), shown))
        }
        Err(error) => show_status(&caller, messages_for(error, &["password"])?).await,
    }
}

async fn confirm(
    form: Form<TotpConfirmRequest>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, request) = form.by_caller()?;
    match service::confirm(&caller.visitor.app, &caller.user, &request, &context).await {
        Ok(codes) => Ok(show_codes(&caller, codes, true)),
        // The secret is not shown again: the app has it, or the user starts over.
        Err(error @ Error::InvalidCredentials) => {
            Ok(ask_code(&caller, messages_for(error, &["code"])?, None))
        }
        Err(error) => show_status(&caller, messages_for(error, &[])?).await,
    }
}

async fn codes_page(caller: SignedInVisitor) -> actix_web::Result<HttpResponse> {
    show_change(&caller, FormMessages::default(), false).await
}

async fn renew_codes(
    form: Form<TotpChangeRequest>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, request) = form.by_caller()?;
    let app = &caller.visitor.app;
    match service::renew_codes(app, &caller.user, request, &context).await {
        Ok(codes) => Ok(show_codes(&caller, codes, false)),
        Err(error) => {
            let messages = messages_for(error, &["password", "totp_code"])?;
            show_change(&caller, messages, false).await
        }
    }
}

async fn off_page(caller: SignedInVisitor) -> actix_web::Result<HttpResponse> {
    show_change(&caller, FormMessages::default(), true).await
}

async fn switch_off(
    form: Form<TotpChangeRequest>,
    context: RequestContext,
) -> actix_web::Result<HttpResponse> {
    let (caller, request) = form.by_caller()?;
    let app = &caller.visitor.app;
    match service::disable(app, &caller.user, request, &context).await {
        Ok(()) => Ok(caller
            .visitor
            .see_other("/account/second-factor?done=second-factor-off")),
        Err(error) => {
            let messages = messages_for(error, &["password", "totp_code"])?;
            show_change(&caller, messages, true).await
        }
    }
}

async fn show_status(
    caller: &SignedInVisitor,
    messages: FormMessages,
) -> actix_web::Result<HttpResponse> {
    let page = StatusPage {
        frame: caller
            .visitor
            .frame(t("account-second-factor"))
            .with(messages),
        status: service::status(&caller.visitor.app, &caller.user).await?,
    };
    Ok(caller.visitor.show(page.frame.status(), &page))
}

fn ask_code(
    caller: &SignedInVisitor,
    messages: FormMessages,
    shown: Option<(TotpSetup, QrCodeImage)>,
) -> HttpResponse {
    let visitor = &caller.visitor;
    let page = TotpConfirmPage {
        frame: visitor.frame(t("account-set-up-title")).with(messages),
        shown,
    };
    visitor.show(page.frame.status(), &page)
}

fn show_codes(caller: &SignedInVisitor, codes: RecoveryCodes, is_new: bool) -> HttpResponse {
    let page = CodesPage {
        frame: caller.visitor.frame(t("account-recovery-codes")),
        codes,
        is_new,
    };
    caller.visitor.show(StatusCode::OK, &page)
}

/// Shows the confirmation if there is a second factor.
async fn show_change(
    caller: &SignedInVisitor,
    messages: FormMessages,
    turns_off: bool,
) -> actix_web::Result<HttpResponse> {
    let status = service::status(&caller.visitor.app, &caller.user).await?;
    if !status.enabled {
        return Ok(caller.visitor.see_other("/account/second-factor"));
    }
    let title = match turns_off {
        true => t("account-turn-off-title"),
        false => t("account-new-codes-title"),
    };
    let page = ChangePage {
        frame: caller.visitor.frame(title).with(messages),
        asks_code: true,
        turns_off,
    };
    Ok(caller.visitor.show(page.frame.status(), &page))
}

/// A QR code as a single SVG path, which needs no style of its own.
struct QrCodeImage {
    /// Modules per side, with the quiet zone of four that ISO/IEC 18004 requires around the symbol.
    size: usize,
    path: String,
}

impl QrCodeImage {
    const QUIET: usize = 4;

    fn encode(text: &str) -> Result<Self, Error> {
        let code = QrCode::new(text).map_err(|error| Error::internal("QR code", error))?;
        let width = code.width();
        let mut path = String::new();
        for (n, color) in code.to_colors().into_iter().enumerate() {
            if color == Color::Dark {
                let (x, y) = (n % width + Self::QUIET, n / width + Self::QUIET);
                path += &format!("M{x} {y}h1v1h-1z");
            }
        }
        Ok(Self {
            size: width + 2 * Self::QUIET,
            path,
        })
    }
}
