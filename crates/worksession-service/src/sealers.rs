use service_kit::seal::{Purpose, SealError, Sealer, SealingKeys};

/// One sealer for each kind of secret.
#[derive(Debug, Clone)]
pub(crate) struct Sealers {
    pub(crate) chats: Sealer,
    pub(crate) webhooks: Sealer,
    pub(crate) contacts: Sealer,
    pub(crate) mails: Sealer,
    pub(crate) questions: Sealer,
}

impl Sealers {
    pub(crate) fn new(keys: &SealingKeys) -> Result<Self, SealError> {
        Ok(Self {
            chats: keys.sealer(Purpose::Chats)?,
            webhooks: keys.sealer(Purpose::Webhooks)?,
            contacts: keys.sealer(Purpose::Contacts)?,
            mails: keys.sealer(Purpose::Mails)?,
            questions: keys.sealer(Purpose::Questions)?,
        })
    }
}
