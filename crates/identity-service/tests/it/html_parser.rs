//! Parses the HTML of our own templates. It is no general parser.

/// An element of a page, or its end tag, whose name begins with `/`.
#[derive(Debug)]
pub(crate) struct Element {
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
    /// The raw text between this tag and the next one.
    pub(crate) text: String,
}

impl Element {
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.attribute(name).is_some()
    }

    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes
            .iter()
            .map(|(name, value)| (&**name, &**value))
    }
}

/// Returns the elements with these names, in the order of the page.
pub(crate) fn elements(html: &str, names: &[&str]) -> Vec<Element> {
    let mut all = all_elements(html);
    all.retain(|element| names.contains(&element.name.as_str()));
    all
}

/// Returns every element of a page.
pub(crate) fn all_elements(html: &str) -> Vec<Element> {
    let mut found = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        rest = &rest[start + 1..];
        let end = end_of_tag(rest);
        let (tag, after) = (&rest[..end], &rest[end + 1..]);
        let text = &after[..after.find('<').unwrap_or(after.len())];
        found.push(read(tag, text));
        rest = after;
    }
    found
}

/// Returns the text of a page, in one line.
pub(crate) fn text_of(html: &str) -> String {
    let body = html.find("<body").map_or(html, |start| &html[start..]);
    let texts = all_elements(body).into_iter();
    let line = texts.map(|element| element.text).collect::<Vec<_>>();
    let line = line.join(" ");
    let words = line.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut text = decode(&words);
    // A tag before a punctuation mark must not add a space.
    for sign in [".", ",", ":", "?", "!", ";"] {
        text = text.replace(&format!(" {sign}"), sign);
    }
    text
}

/// Replaces the character references of a text.
pub(crate) fn decode(text: &str) -> String {
    let mut plain = text.to_owned();
    for (reference, meant) in [
        ("&#60;", "<"),
        ("&#62;", ">"),
        ("&#34;", "\""),
        ("&#39;", "'"),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&nbsp;", " "),
        ("&#38;", "&"),
        ("&amp;", "&"),
    ] {
        plain = plain.replace(reference, meant);
    }
    plain
}

/// Returns the end of a tag: the first `>` outside of attribute values.
fn end_of_tag(text: &str) -> usize {
    let mut quoted = false;
    text.find(|c| {
        quoted ^= c == '"';
        c == '>' && !quoted
    })
    .expect("a tag ends")
}

fn read(tag: &str, text: &str) -> Element {
    let tag = tag.trim_end_matches('/');
    let (name, mut rest) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
    let mut attributes = Vec::new();
    loop {
        rest = rest.trim_start();
        let end = rest.find(|c: char| c == '=' || c.is_whitespace());
        let (attribute, after) = rest.split_at(end.unwrap_or(rest.len()));
        if attribute.is_empty() {
            break;
        }
        let (value, after) = match after.strip_prefix("=\"") {
            Some(quoted) => quoted.split_once('"').unwrap(),
            None => match after.strip_prefix('=') {
                Some(bare) => bare.split_once(char::is_whitespace).unwrap_or((bare, "")),
                None => ("", after),
            },
        };
        attributes.push((attribute.to_lowercase(), decode(value)));
        rest = after;
    }
    Element {
        name: name.to_lowercase(),
        attributes,
        text: text.to_owned(),
    }
}
