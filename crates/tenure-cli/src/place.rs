//! Where a document was read, for messages.

use std::{fmt, path::Path, sync::Arc};

/// The name that stands for standard input.
pub const STANDARD_INPUT: &str = "-";

/// Where a document was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    file: Arc<Path>,
    number: Option<usize>,
    item: Option<usize>,
    line: Option<usize>,
    template: Option<Arc<str>>,
}

/// Where a document of a stream begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    line: usize,
    template: Option<Arc<str>>,
}

/// The comment with which `helm template` names the template of a document.
const TEMPLATE: &str = "# Source: ";

/// Returns where the documents of a YAML stream begin, without the empty ones.
pub fn documents(text: &[u8]) -> Vec<Begin> {
    let (mut found, mut is_open, mut template) = (Vec::new(), false, None);
    for (at, line) in text.split(|byte| *byte == b'\n').enumerate() {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // A marker at the beginning of a line ends a document, even inside of a text.
        let after = line.strip_prefix(b"---").filter(|rest| rest.first().is_none_or(u8::is_ascii_whitespace));
        if after.is_some() || line == b"..." {
            (is_open, template) = (false, None);
        }
        let content = after.unwrap_or(line).trim_ascii_start();
        if let Some(name) = content.strip_prefix(TEMPLATE.as_bytes()).filter(|_| !is_open) {
            template = Some(Arc::from(String::from_utf8_lossy(name).trim()));
        }
        let is_empty =
            content.is_empty() || content.starts_with(b"#") || content.starts_with(b"%") || line == b"...";
        if !is_open && !is_empty {
            is_open = true;
            found.push(Begin { line: at + 1, template: template.take() });
        }
    }
    found
}

impl Place {
    /// Returns the place of a whole file; `-` is standard input.
    pub fn of(file: &Path) -> Place {
        Place { file: Arc::from(file), number: None, item: None, line: None, template: None }
    }

    /// Returns the place of a document of the file, counted from 1.
    pub fn document(&self, number: usize) -> Place {
        Place { number: Some(number), ..self.clone() }
    }

    /// Returns the place of an item of a list, counted from 0.
    pub fn item(&self, at: usize) -> Place {
        Place { item: Some(at), ..self.clone() }
    }

    /// Returns the place with the line at which the document begins.
    pub fn beginning(&self, begin: &Begin) -> Place {
        Place { line: Some(begin.line), template: begin.template.clone(), ..self.clone() }
    }

    /// Returns the number of the document in its stream, counted from 1.
    pub fn number(&self) -> usize {
        self.number.unwrap_or(1)
    }

    /// Returns the position in the list that contains the object, counted from 0.
    pub fn position(&self) -> Option<usize> {
        self.item
    }

    /// Returns the line at which the document begins, counted from 1, if it is known.
    pub fn line(&self) -> Option<usize> {
        self.line
    }

    /// Returns the template that `helm template` rendered the document from, if it says so.
    pub fn template(&self) -> Option<&str> {
        self.template.as_deref()
    }

    /// Returns the file; `-` for standard input.
    pub fn file(&self) -> &Path {
        &self.file
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.file.as_os_str() == STANDARD_INPUT {
            true => f.write_str("standard input")?,
            false => write!(f, "{}", self.file.display())?,
        }
        if let Some(number) = self.number {
            write!(f, ", document {number}")?;
            if let Some(line) = self.line {
                write!(f, ", line {line}")?;
            }
        }
        match self.item {
            Some(item) => write!(f, ", items[{item}]"),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_begin_at_their_first_line_of_content() {
        let stream = "# a chart\n---\n# Source: shop/templates/web.yaml\nkind: A\ntext: |\n  ---\n--- # empty\n\n---\nkind: B\n--- {kind: C}\n";
        let found = documents(stream.as_bytes());
        let shown: Vec<(usize, Option<&str>)> =
            found.iter().map(|begin| (begin.line, begin.template.as_deref())).collect();
        assert_eq!(shown, [(4, Some("shop/templates/web.yaml")), (10, None), (11, None)]);
    }
}
