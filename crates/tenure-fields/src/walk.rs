//! Traversal of the paths of a set in their order: a path comes directly before those below it.

use crate::{FieldSet, Node, Path, PathElement};

impl FieldSet {
    /// Returns the number of paths.
    pub fn len(&self) -> usize {
        self.nodes().iter().map(|node| usize::from(node.included) + node.children.len()).sum()
    }

    /// Iterates over the paths in order: a path comes directly before those below it.
    pub fn iter(&self) -> Paths<'_> {
        Paths { levels: vec![self.nodes().iter()], path: Path::default() }
    }

    /// Calls a function with each path in order, without allocating a [`Path`] for each.
    pub fn visit(&self, mut visitor: impl FnMut(&[PathElement])) {
        fn level(set: &FieldSet, path: &mut Path, visitor: &mut impl FnMut(&[PathElement])) {
            for node in set.nodes() {
                path.push(node.element.clone());
                if node.included {
                    visitor(path.elements());
                }
                level(&node.children, path, visitor);
                path.pop();
            }
        }
        level(self, &mut Path::default(), &mut visitor);
    }
}

/// An iterator over the paths of a set in order.
pub struct Paths<'s> {
    /// The remaining nodes of each open level; the next level is below the last node taken.
    levels: Vec<std::slice::Iter<'s, Node>>,
    path: Path,
}

impl Iterator for Paths<'_> {
    type Item = Path;

    fn next(&mut self) -> Option<Path> {
        loop {
            let Some(node) = self.levels.last_mut()?.next() else {
                self.levels.pop();
                self.path.pop();
                continue;
            };
            self.path.push(node.element.clone());
            let found = node.included.then(|| self.path.clone());
            if node.children.is_empty() {
                self.path.pop();
            } else {
                self.levels.push(node.children.nodes().iter());
            }
            if found.is_some() {
                return found;
            }
        }
    }
}

impl<'s> IntoIterator for &'s FieldSet {
    type Item = Path;
    type IntoIter = Paths<'s>;

    fn into_iter(self) -> Paths<'s> {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use crate::fields_v1;

    const TEXT: &str = r#"{"f:a":{"f:x":{},"f:y":{}},"f:b":{".":{},"f:x":{"f:z":{}},"f:y":{}},"f:c":{}}"#;

    #[test]
    fn paths_are_visited_in_order() {
        let set = fields_v1::parse(TEXT.as_bytes()).unwrap();
        let paths: Vec<String> = set.iter().map(|path| path.to_string()).collect();
        assert_eq!(paths, [".a.x", ".a.y", ".b", ".b.x.z", ".b.y", ".c"]);
        assert_eq!(set.len(), paths.len());
        let mut visited = Vec::new();
        set.visit(|path| visited.push(path.iter().cloned().collect::<crate::Path>().to_string()));
        assert_eq!(visited, paths);
    }
}
