//! What custom resources have beyond what their schemas say: every one is an object with apiVersion, kind
//! and the metadata that all objects share, and so is every resource embedded in one.

use crate::{
    Field, ListTopology, PatchMarks, PatchStrategy, Scalar, ScalarKind, Schema, SchemaBuilder, Slot, Struct,
    Type, TypeId,
};
use tenure_value::Text;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The types of the fields that every resource has.
pub(super) struct CustomResources {
    text: TypeId,
    object_meta: TypeId,
}

/// Whether a resource must say its apiVersion and kind; outside of other objects the request says them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Required {
    Yes,
    No,
}

impl CustomResources {
    /// Copies the type of metadata from the built-in types, so that a schema stands on its own.
    pub fn new(builder: &mut SchemaBuilder) -> CustomResources {
        let text = Scalar { kind: ScalarKind::String, format: Text::default(), values: Box::default() };
        let object_meta = match Schema::builtin().named(OBJECT_META) {
            Some(of) => builder.import(of),
            None => builder.add(Type::Untyped),
        };
        CustomResources { text: builder.add(Type::Scalar(text)), object_meta }
    }

    /// Puts apiVersion, kind and metadata in the place of what the schema says about them.
    pub fn add_identity(&self, of: &mut Struct, required: Required) {
        let field = |name: &str, of: TypeId, required: bool| Field {
            name: Text::new(name),
            slot: Slot { of, nullable: false, default: None },
            required,
            patch: PatchMarks::default(),
        };
        let required = required == Required::Yes;
        let identity = [
            field("apiVersion", self.text, required),
            field("kind", self.text, required),
            field("metadata", self.object_meta, false),
        ];
        let mut fields = std::mem::take(&mut of.fields).into_vec();
        fields.retain(|field| identity.iter().all(|own| own.name != field.name));
        fields.extend(identity);
        of.fields = fields.into();
    }
}

/// Gives a list the patch markers that its list type amounts to. Kubernetes has none for custom resources
/// and refuses to patch them strategically; with these, lists with keys and sets merge as they do on apply.
pub(super) fn patch_marks(topology: &ListTopology) -> PatchMarks {
    let merge = PatchStrategy { merge: true, ..PatchStrategy::default() };
    match topology {
        ListTopology::Atomic => PatchMarks::default(),
        ListTopology::Set => PatchMarks { strategy: merge, ..PatchMarks::default() },
        // Where several keys tell entries apart, one of them alone must not: the list's own keys count.
        ListTopology::Keyed(keys) => PatchMarks {
            strategy: merge,
            merge_key: keys.first().filter(|_| keys.len() == 1).map(|key| key.name.clone()),
            recommended_keys: Box::default(),
        },
    }
}
