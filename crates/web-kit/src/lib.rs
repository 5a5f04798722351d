//! What the pages of both services have in common: the style sheet, files under names that change with their
//! content, the headers of a page, cookies, the guards of forms, and parts of templates (`templates/parts`,
//! found by both through their `askama.toml`).
//!
//! What it is not: it has no page and no word of its own, and it does not know who is signed in.

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
pub use kept::KeptForm;
pub use notices::Notices;
pub use return_to::ReturnTo;
