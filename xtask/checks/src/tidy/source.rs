/// A text file of the checkout: its path from the root, with `/`, and its lines.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: String,
    pub(super) text: String,
}
