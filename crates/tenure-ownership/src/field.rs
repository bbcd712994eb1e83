//! Fields as people name them: a path in any notation that [`Path::parse_in`] reads. A path that matches nothing is an error, which
//! names the nearest path.

use crate::{ApplyingManager, ForcedFields, LiveObject, Manifest, OwnershipError};
use tenure_fields::{Error, FieldSet, Path, PathElement};
use tenure_schema::TypeRef;
use tenure_value::Value;

impl LiveObject {
    /// Returns the path of a field that a person named. The object contains it, its type declares it, or a manager owns it.
    pub fn field(&self, text: &str, ty: TypeRef<'_>) -> Result<Path, OwnershipError> {
        let is_owned =
            |path: &Path| self.managers.iter().any(|manager| !manager.fields.with_prefix(path).is_empty());
        match Path::parse_in(text, ty, Some(&self.object)) {
            Ok(path) if path.is_known(&self.object, ty) || is_owned(&path) => Ok(path),
            parsed => Err(no_field(text, parsed.err(), &self.object, ty)),
        }
    }
}

impl Manifest<'_> {
    /// Returns the path of a field that a person named and that the manifest sets.
    pub fn field(&self, text: &str) -> Result<Path, OwnershipError> {
        match Path::parse_in(text, self.ty, Some(&self.config)) {
            Ok(path) if path.resolve(&self.config, self.ty).is_some() => Ok(path),
            parsed => Err(no_field(text, parsed.err(), &self.config, self.ty)),
        }
    }

    /// Returns the declared field that is written like the first of the manifest that its type does not declare, if a refusal names that one.
    pub(crate) fn meant_field(&self, refusal: &str) -> Option<Path> {
        let Err(Error::Document { path: text, .. }) = FieldSet::of(&self.config, self.ty) else {
            return None;
        };
        let mut path = Path::parse(&text).ok().filter(|_| refusal.contains(&text))?;
        let Some(PathElement::Field(name)) = path.pop() else { return None };
        // Two changed letters make any short name of any other.
        if name.chars().count() < 4 {
            return None;
        }
        let parent = below(self.ty, &path)?;
        let declared = Path::nearest(&format!(".{name}"), &Value::Object(Default::default()), parent)?;
        declared.iter().for_each(|element| path.push(element.clone()));
        (path.to_string() != text).then_some(path)
    }
}

/// Returns the type of a field.
fn below<'t>(ty: TypeRef<'t>, path: &Path) -> Option<TypeRef<'t>> {
    path.iter().try_fold(ty, |ty, element| match element {
        PathElement::Field(name) => ty.below(name),
        _ => ty.item(),
    })
}

impl ApplyingManager {
    /// Returns the applier of one manifest: the forced fields are written as servers read them, without those that the manifest does
    /// not set.
    pub fn for_manifest(&self, manifest: &Manifest<'_>) -> ApplyingManager {
        let ForcedFields::Paths(texts) = &self.force else { return self.clone() };
        let paths = texts.iter().filter_map(|text| manifest.field(text).ok());
        let paths: Vec<String> = paths.map(|path| path.quoted().to_string()).collect();
        let force = if paths.is_empty() { ForcedFields::None } else { ForcedFields::Paths(paths) };
        ApplyingManager { force, ..self.clone() }
    }

    /// Checks that each forced field is in one of the manifests; otherwise forcing it would silently do nothing.
    pub fn check<'m, 's: 'm>(
        &self,
        manifests: impl Iterator<Item = &'m Manifest<'s>> + Clone,
    ) -> Result<(), OwnershipError> {
        let ForcedFields::Paths(texts) = &self.force else { return Ok(()) };
        for text in texts {
            let mut problem = None;
            for manifest in manifests.clone() {
                match manifest.field(text) {
                    Ok(_) => {
                        problem = None;
                        break;
                    }
                    // The manifest that has a field like it is the one that was meant.
                    Err(error) => problem = problem.filter(has_nearest).or(Some(error)),
                }
            }
            if let Some(error) = problem {
                return Err(error);
            }
        }
        Ok(())
    }
}

fn has_nearest(error: &OwnershipError) -> bool {
    matches!(error, OwnershipError::NoField { nearest, .. } if !nearest.is_empty())
}

fn no_field(text: &str, problem: Option<Error>, object: &Value, ty: TypeRef<'_>) -> OwnershipError {
    let problem = match problem {
        Some(Error::Path { problem, .. }) => problem,
        Some(error) => error.to_string(),
        None => "nothing is there".to_owned(),
    };
    let nearest = nearest(text, object, ty).map(|path| format!("; did you mean {path}?")).unwrap_or_default();
    OwnershipError::NoField { path: text.to_owned(), problem, nearest }
}

/// Returns the nearest path: below the last part of the text that exists, or else of the whole object.
fn nearest(text: &str, object: &Value, ty: TypeRef<'_>) -> Option<Path> {
    let within = || {
        let cut = text.rfind(['.', '/']).filter(|cut| *cut > 0)?;
        let mut path = Path::parse_in(text.get(..cut)?, ty, Some(object)).ok()?;
        let of_parent = below(ty, &path).unwrap_or_else(TypeRef::untyped);
        let nearest = Path::nearest(text.get(cut..)?, path.resolve(object, ty)?, of_parent)?;
        nearest.iter().for_each(|element| path.push(element.clone()));
        Some(path)
    };
    within().or_else(|| Path::nearest(text, object, ty))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenure_schema::Schema;

    fn live() -> LiveObject {
        let shown = r#"{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web",
            "labels":{"app.kubernetes.io/name":"web"},
            "managedFields":[{"manager":"m","operation":"Apply","apiVersion":"apps/v1","fieldsType":"FieldsV1",
                "fieldsV1":{"f:spec":{"f:paused":{},"f:template":{"f:metadata":{"f:labels":{"f:gone":{}}}}}}}]},
            "spec":{"replicas":2,"template":{"spec":{"containers":[
                {"name":"web","image":"nginx:1","ports":[{"containerPort":80},{"containerPort":53,"protocol":"UDP"}]},
                {"name":"proxy","image":"envoy:1","args":["-v"]}]}}}}"#;
        LiveObject::read(&shown.parse().unwrap()).unwrap()
    }

    fn field(text: &str) -> Result<String, String> {
        let ty = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
        live().field(text, ty).map(|path| path.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn all_notations_name_the_same_field() {
        let image = r#".spec.template.spec.containers[name="web"].image"#;
        for text in [
            image,
            r#"spec.template.spec.containers[name="web"].image"#,
            ".spec.template.spec.containers[0].image",
            ".spec.template.spec.containers[-2].image",
            ".spec.template.spec.containers[name=web].image",
            ".spec.template.spec.containers[name='web'].image",
            "/spec/template/spec/containers/0/image",
            "{.spec.template.spec.containers[0].image}",
            "$.spec.template.spec.containers[0].image",
            "{.spec.template.spec.containers[?(@.name==\"web\")].image}",
            "{.spec.template.spec.containers[?(@.name=='web')]['image']}",
            "$['spec']['template']['spec'].containers[?(@.image == \"nginx:1\")].image",
            r#".spec.template.spec.containers[k:{"name":"web"}].image"#,
            r#".spec.template.spec.containers.k:{"name":"web"}.image"#,
            r#"f:spec.f:template.f:spec.f:containers.k:{"name":"web"}.f:image"#,
        ] {
            assert_eq!(field(text), Ok(image.to_owned()), "{text}");
        }
        let port = r#".spec.template.spec.containers[name="web"].ports[containerPort=80,protocol="TCP"]"#;
        for text in
            ["[containerPort=80]", "[containerPort=80,protocol=TCP]", "[0]", "[?(@.containerPort==80)]"]
        {
            let text = format!(".spec.template.spec.containers[0].ports{text}");
            assert_eq!(field(&text), Ok(port.to_owned()), "{text}");
        }
        let label = ".metadata.labels.app.kubernetes.io/name";
        for text in [
            label,
            r"{.metadata.labels.app\.kubernetes\.io/name}",
            "/metadata/labels/app.kubernetes.io~1name",
        ] {
            assert_eq!(field(text), Ok(label.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_refused_manifest_is_told_the_field_that_was_meant() {
        let ty = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
        for (spec, path, meant) in [
            (r#"{"replica":3}"#, ".spec.replica", Some(".spec.replicas")),
            (
                r#"{"template":{"spec":{"containers":[{"name":"web","imag":"nginx"}]}}}"#,
                r#".spec.template.spec.containers[name="web"].imag"#,
                Some(r#".spec.template.spec.containers[name="web"].image"#),
            ),
            (r#"{"somethingElse":3}"#, ".spec.somethingElse", None),
            (r#"{"replica":3}"#, ".spec.paused", None),
            (r#"{"a":3}"#, ".spec.a", None),
            (r#"{"replicas":3}"#, ".spec.replicas", None),
        ] {
            let config = format!(
                r#"{{"apiVersion":"apps/v1","kind":"Deployment","metadata":{{"name":"web"}},"spec":{spec}}}"#
            );
            let manifest = Manifest::new(config.parse::<Value>().unwrap(), "web.yaml", ty);
            let refusal =
                format!("failed to create typed patch object: {path}: field not declared in schema");
            let found = manifest.meant_field(&refusal).map(|path| path.to_string());
            assert_eq!(found.as_deref(), meant, "{spec}");
        }
    }

    #[test]
    fn declared_and_owned_fields_need_not_be_set() {
        for text in
            [".spec.paused", ".spec.strategy.rollingUpdate.maxSurge", ".spec.template.metadata.labels.gone"]
        {
            assert_eq!(field(text), Ok(text.to_owned()));
        }
    }

    #[test]
    fn a_path_that_matches_nothing_names_the_nearest() {
        for (text, part) in [
            (".spec.replcias", "did you mean .spec.replicas?"),
            (".spec.replicas.x", "scalar"),
            (
                ".metadata.labels.app.kubernetes.io/nam",
                "did you mean .metadata.labels.app.kubernetes.io/name?",
            ),
            (".spec.template.spec.containers[2].image", "did you mean .spec.template.spec.containers[name="),
            (
                ".spec.template.spec.containers[name=wep].image",
                "did you mean .spec.template.spec.containers[name=\"web\"].image?",
            ),
            (
                ".spec.template.spec.containers[0].imag",
                "did you mean .spec.template.spec.containers[name=\"web\"].image?",
            ),
            (
                "/spec/template/spec/containers/1/arg",
                "did you mean .spec.template.spec.containers[name=\"proxy\"].args?",
            ),
            (".spec.image", "did you mean .spec.template.spec.containers[name=\"web\"].image?"),
            ("/spec/template/spec/container/0/image", "did you mean .spec.template.spec.containers"),
            (".spec.template.spec.containers[*].image", "several items"),
            (".spec.template.spec.containers[0].ports[?(@.hostPort==1)]", "nothing is there"),
        ] {
            let error = field(text).expect_err(text);
            assert!(error.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn forced_fields_are_those_of_the_manifest() {
        let ty = Schema::builtin().kind("apps/v1", "Deployment").unwrap();
        let manifest = Manifest::new(live().object, "web.yaml", ty);
        let applier = |path: &str| ApplyingManager {
            manager: "m".into(),
            force: ForcedFields::Paths(vec![path.into()]),
            now: tenure_apply::Timestamp::from_unix(0),
        };
        let image = applier("/spec/template/spec/containers/1/image");
        assert_eq!(image.check([&manifest].into_iter()), Ok(()));
        let wanted =
            ForcedFields::Paths(vec![r#".spec.template.spec.containers[name="proxy"].image"#.into()]);
        assert_eq!(image.for_manifest(&manifest).force, wanted);
        assert_eq!(applier(".spec.paused").for_manifest(&manifest).force, ForcedFields::None);
        assert!(
            applier(".spec.replica")
                .check([&manifest].into_iter())
                .unwrap_err()
                .to_string()
                .contains(".spec.replicas?")
        );
    }
}
