//! The common base of both services' pages: the style sheet, files under names that change with their content, the headers of a
//! page, cookies, the checks of forms, and parts of templates (`templates/parts`, which both find through their `askama.toml`).
//!
//! It has no page of its own, and does not know who is signed in.

pub mod assets;
pub mod cookies;
pub mod form;
pub mod form_messages;
pub mod html;
pub mod return_to;
pub mod saved_form;
pub mod text;

pub use assets::Asset;
pub use cookies::Cookies;
pub use form_messages::FormMessages;
pub use return_to::ReturnTo;
pub use saved_form::SavedForm;
