//! Checks that code quoted in a document equals the file that it names, which a test runs.
//!
//! A block that begins with `` ```python oauth/python/device.py `` quotes whole lines of that file. The path is relative to
//! the document's folder.

use crate::source::Source;

pub(super) fn check(files: &[Source]) -> Vec<String> {
    let documents = files.iter().filter(|file| file.path.ends_with(".md"));
    documents
        .flat_map(|document| {
            let quotes = quotes(&document.text).into_iter();
            quotes.filter_map(|quote| complaint(document, &quote, files))
        })
        .collect()
}

/// A block of a document that names the file it comes from.
#[derive(Debug, PartialEq, Eq)]
struct Quote {
    line: usize,
    file: String,
    text: String,
}

fn quotes(document: &str) -> Vec<Quote> {
    let mut found = Vec::new();
    let mut open: Option<Option<Quote>> = None;
    for (n, line) in document.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                let file = info.split(' ').nth(1).filter(|word| word.contains('/'));
                open = Some(file.map(|file| Quote {
                    line: n + 1,
                    file: file.to_owned(),
                    text: String::new(),
                }));
            }
            (Some(_), Some(_)) => found.extend(open.take().flatten()),
            (None, Some(Some(quote))) => {
                quote.text.push_str(line);
                quote.text.push('\n');
            }
            (None, _) => {}
        }
    }
    found
}

fn complaint(document: &Source, quote: &Quote, files: &[Source]) -> Option<String> {
    let Quote { line, file, text } = quote;
    let place = format!("{}:{line}", document.path);
    let parent = |path: &str| {
        path.rsplit_once('/')
            .map_or("", |(folder, _)| folder)
            .to_owned()
    };
    let (mut folder, mut file) = (parent(&document.path), file.as_str());
    while let Some(rest) = file.strip_prefix("../") {
        (folder, file) = (parent(&folder), rest);
    }
    let path = format!("{folder}/{file}");
    let path = path.trim_start_matches('/');
    match files.iter().find(|source| source.path == path) {
        None => Some(format!("{place} quotes {path}, which does not exist")),
        Some(source) if !has_lines(&source.text, text) => {
            Some(format!("{place} differs from {path}"))
        }
        Some(_) => None,
    }
}

/// Whether a text contains these lines, whole and one after the other.
fn has_lines(text: &str, lines: &str) -> bool {
    !lines.trim().is_empty() && format!("\n{text}").contains(&format!("\n{lines}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaints(block: &str) -> Vec<String> {
        let source = |path: &str, text: &str| Source {
            path: path.to_owned(),
            text: text.to_owned(),
        };
        check(&[
            source("docs/a.md", &format!("# A\n\n{block}\n")),
            source("docs/a/b.py", "import c\n\nc.go()\nc.stop()\n"),
        ])
    }

    #[test]
    fn what_stands_in_the_file_may_be_quoted() {
        for good in [
            "```python a/b.py\nc.go()\nc.stop()\n```",
            "```python\nanything\n```",
            "```sh tour\nanything\n```",
            "```python ../docs/a/b.py\nc.go()\n```",
        ] {
            assert!(complaints(good).is_empty(), "{good}");
        }
    }

    #[test]
    fn what_does_not_stand_there_is_found() {
        for bad in [
            "```python a/b.py\nc.run()\n```",
            "```python a/b.py\ngo()\n```",
            "```python a/b.py\nc.go()\n\nc.stop()\n```",
            "```python a/b.py\n```",
            "```python a/nothing.py\nc.go()\n```",
        ] {
            assert_eq!(complaints(bad).len(), 1, "{bad}");
        }
    }
}
