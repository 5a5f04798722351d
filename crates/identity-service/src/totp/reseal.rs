use auth_types::UserId;

use super::queries;
use super::secret::TotpSecret;
use crate::app::App;
use crate::error::Error;

/// The result of resealing second factors.
#[derive(Debug, Default)]
pub(crate) struct ResealedFactors {
    pub(crate) done: usize,
    /// Secrets that no configured key opens.
    pub(crate) unopened: usize,
}

/// Seals secrets with the current encryption key if an older one sealed them. It works in batches, so that no sign-in
/// waits or fails meanwhile.
pub(crate) async fn reseal(app: &App) -> Result<ResealedFactors, Error> {
    let (mut resealed, mut after) = (ResealedFactors::default(), 0);
    loop {
        let page = app.read(move |db| queries::list_sealed(db, after)).await?;
        let Some((last, _)) = page.last() else {
            return Ok(resealed);
        };
        after = last.get();
        let mut renewed = Vec::new();
        for (user_id, sealed) in page {
            if app.sealers.second_factors.is_current(&sealed) {
                continue;
            }
            match TotpSecret::reseal(&app.sealers.second_factors, user_id, &sealed) {
                Some(fresh) => renewed.push((user_id, sealed, fresh)),
                None => resealed.unopened += 1,
            }
        }
        resealed.done += store(app, renewed).await?;
    }
}

async fn store(app: &App, renewed: Vec<(UserId, String, String)>) -> Result<usize, Error> {
    if renewed.is_empty() {
        return Ok(0);
    }
    app.pool
        .write_tx(move |db| {
            let mut stored = 0;
            for (user_id, sealed, fresh) in &renewed {
                stored += queries::replace_sealed(db, *user_id, sealed, fresh)?;
            }
            Ok::<_, Error>(stored)
        })
        .await
}
