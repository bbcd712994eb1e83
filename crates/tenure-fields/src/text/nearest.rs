//! The path of a document that is written most like a text: what someone probably meant whose path matches nothing.

use crate::{Path, PathElement, resolve};
use tenure_schema::{ListTopology, Type, TypeRef};
use tenure_value::Value;

/// How many paths are compared at most.
const CANDIDATES: usize = 20_000;

/// Texts that are longer than this are not compared.
const LONGEST: usize = 300;

impl Path {
    /// Whether a document of this type contains the path, or only lacks fields of it that the type declares.
    pub fn is_known(&self, value: &Value, ty: TypeRef<'_>) -> bool {
        let (mut value, mut ty) = (Some(value), ty);
        for element in self.elements() {
            value = value.and_then(|value| resolve::step(value, element, ty));
            let is_declared = matches!(element, PathElement::Field(name) if ty.field(name).is_some());
            if value.is_none() && !is_declared {
                return false;
            }
            let below = match element {
                PathElement::Field(name) => ty.below(name),
                _ => ty.item(),
            };
            ty = below.unwrap_or_else(TypeRef::untyped);
        }
        true
    }

    /// Returns the path of a document of this type that is written most like a text; `None` if none is similar. Fields that the
    /// type declares count, too.
    ///
    /// ```
    /// use tenure_fields::Path;
    /// use tenure_schema::Schema;
    ///
    /// let deployment = r#"{"spec":{"replicas":1}}"#.parse().unwrap();
    /// let of = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
    /// let nearest = Path::nearest(".spec.replcias", &deployment, of);
    /// assert_eq!(nearest.unwrap().to_string(), ".spec.replicas");
    /// ```
    pub fn nearest(text: &str, value: &Value, ty: TypeRef<'_>) -> Option<Path> {
        let wanted = plain(text);
        if wanted.len() > LONGEST {
            return None;
        }
        let mut search =
            Nearest { last: last(&wanted).to_owned(), wanted, best: None, same_name: None, left: CANDIDATES };
        search.visit(&mut Path::default(), value, ty);
        let limit = (search.wanted.chars().count() / 4).max(2);
        match search.best {
            Some((distance, path)) if distance <= limit => Some(path),
            _ => search.same_name,
        }
    }
}

struct Nearest {
    wanted: String,
    /// The last name of the text.
    last: String,
    best: Option<(usize, Path)>,
    /// The first path with the same last name.
    same_name: Option<Path>,
    left: usize,
}

impl Nearest {
    fn visit(&mut self, path: &mut Path, value: &Value, ty: TypeRef<'_>) {
        match value {
            Value::Object(object) => {
                for (name, value) in object.iter() {
                    let below = ty.below(name).unwrap_or_else(TypeRef::untyped);
                    self.enter(path, PathElement::Field(name.clone()), Some((value, below)));
                }
                for (field, _) in ty.fields().filter(|(field, _)| object.get(&field.name).is_none()) {
                    self.enter(path, PathElement::Field(field.name.clone()), None);
                }
            }
            Value::Array(items) => {
                let below = ty.item().unwrap_or_else(TypeRef::untyped);
                for (at, item) in items.iter().enumerate() {
                    let element = match ty.get() {
                        Type::List(list) if list.topology != ListTopology::Atomic => {
                            PathElement::of_item(item, list).ok()
                        }
                        _ => None,
                    };
                    let element = element.unwrap_or(PathElement::Index(at as i64));
                    self.enter(path, element, Some((item, below)));
                }
            }
            _ => {}
        }
    }

    fn enter(&mut self, path: &mut Path, element: PathElement, below: Option<(&Value, TypeRef<'_>)>) {
        if self.left == 0 {
            return;
        }
        self.left -= 1;
        path.push(element);
        self.compare(path);
        if let Some((value, ty)) = below {
            self.visit(path, value, ty);
        }
        path.pop();
    }

    fn compare(&mut self, path: &Path) {
        let candidate = plain(&path.to_string());
        if self.same_name.is_none() && !self.last.is_empty() && last(&candidate) == self.last {
            self.same_name = Some(path.clone());
        }
        let most = self.best.as_ref().map_or(usize::MAX, |(distance, _)| *distance);
        if candidate.len() > LONGEST || candidate.len().abs_diff(self.wanted.len()) > most {
            return;
        }
        let distance = strsim::osa_distance(&candidate, &self.wanted);
        if distance < most {
            self.best = Some((distance, path.clone()));
        }
    }
}

/// Returns a path in a form in which all notations look alike: names and values, separated by dots.
fn plain(text: &str) -> String {
    let separators = ['.', '/', '[', ']', '(', ')', '{', '}', '=', '"', '\'', '@', '?', '$', ',', ' ', '\\'];
    let mut plain = String::with_capacity(text.len());
    for word in text.split(separators).filter(|word| !word.is_empty()) {
        plain.push('.');
        plain.push_str(&word.to_lowercase());
    }
    plain
}

fn last(plain: &str) -> &str {
    plain.rsplit('.').next().unwrap_or_default()
}
