//! The common base of both services' pages: the style sheet, files under names that change with their content, the headers of a
//! page, cookies, the checks of forms, and parts of templates (`templates/parts`, which both find through their `askama.toml`).
//!
//! It has no page of its own, and does not know who is signed in.

pub mod assets;
pub mod cookies;
pub mod form;
pub mod html;
pub mod kept;
pub mod notices;
pub mod return_to;
pub mod text;

pub use assets::Asset;
pub use cookies::Cookies;
pub use kept::SavedForm;
pub use notices::FormMessages;
pub use return_to::ReturnTo;
