//! The implicit fields of custom resources: every one has apiVersion, kind and metadata, and so does every
//! embedded resource.

use crate::{
    Field, ListTopology, PatchMarks, PatchStrategy, Scalar, ScalarKind, Schema, SchemaBuilder, Slot, Struct,
    Type, TypeId,
};
use std::sync::OnceLock;
use tenure_value::Text;

const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The type of metadata alone, for which the built-in types are not needed; made and checked by tenure-generate-pack.
const PACK: &[u8] = include_bytes!("../../data/metadata.pack");

/// The types of the implicit fields.
pub(super) struct CustomResources {
    text: TypeId,
    object_meta: TypeId,
}

/// Whether apiVersion and kind are required; for the outermost object they follow from the request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Required {
    Yes,
    No,
}

impl CustomResources {
    /// Copies the type of metadata, so that the schema is self-contained.
    pub fn new(builder: &mut SchemaBuilder) -> CustomResources {
        let text = Scalar { kind: ScalarKind::String, format: Text::default(), values: Box::default() };
        static METADATA: OnceLock<Option<Schema>> = OnceLock::new();
        let metadata = METADATA.get_or_init(|| Schema::from_pack(PACK).ok()).as_ref();
        let object_meta = match metadata.and_then(|schema| schema.named(OBJECT_META)) {
            Some(ty) => builder.import(ty),
            None => builder.add(Type::Untyped),
        };
        CustomResources { text: builder.add(Type::Scalar(text)), object_meta }
    }

    /// Replaces the declarations of apiVersion, kind and metadata.
    pub fn add_identity(&self, shape: &mut Struct, required: Required) {
        let field = |name: &str, ty: TypeId, required: bool| Field {
            name: Text::new(name),
            slot: Slot { type_id: ty, nullable: false, default: None },
            required,
            patch: PatchMarks::default(),
        };
        let required = required == Required::Yes;
        let identity = [
            field("apiVersion", self.text, required),
            field("kind", self.text, required),
            field("metadata", self.object_meta, false),
        ];
        let mut fields = std::mem::take(&mut shape.fields).into_vec();
        fields.retain(|field| identity.iter().all(|own| own.name != field.name));
        fields.extend(identity);
        shape.fields = fields.into();
    }
}

/// Returns the patch markers that correspond to a list type. Kubernetes has none for custom resources and
/// does not support strategic merge patch for them; with these, keyed lists and sets merge as on apply.
pub(super) fn patch_marks(topology: &ListTopology) -> PatchMarks {
    let merge = PatchStrategy { merge: true, ..PatchStrategy::default() };
    match topology {
        ListTopology::Atomic => PatchMarks::default(),
        ListTopology::Set => PatchMarks { strategy: merge, ..PatchMarks::default() },
        // If several keys identify entries, a single one must not be the merge key: the list map keys are
        // used.
        ListTopology::Keyed(keys) => PatchMarks {
            strategy: merge,
            merge_key: keys.first().filter(|_| keys.len() == 1).map(|key| key.name.clone()),
            recommended_keys: Box::default(),
        },
    }
}
