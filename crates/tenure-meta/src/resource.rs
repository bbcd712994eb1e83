//! Descriptions of resources: names, verbs, scope, versions, and the rules by which they are written. The
//! built-in ones are rows of `data/resources.json`; other registries can be built from further rows.

use crate::{format::NameFormat, selector::SelectableField, value_ext::ValueExt};
use foldhash::quality::RandomState;
use std::{collections::HashMap, sync::Arc};
use tenure_schema::{Schema, TypeId, TypeRef};
use tenure_value::{Text, Value};

/// Whether the objects of a resource are namespaced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Namespaced.
    Namespaced,
    /// Cluster-scoped.
    Cluster,
}

impl Scope {
    /// Returns the name in the API.
    pub fn word(self) -> &'static str {
        match self {
            Scope::Namespaced => "Namespaced",
            Scope::Cluster => "Cluster",
        }
    }
}

/// The names of formats in the data.
const NAMES: [(&str, NameFormat); 7] = [
    ("subdomain", NameFormat::Subdomain),
    ("subdomain63", NameFormat::ShortSubdomain),
    ("label", NameFormat::Label),
    ("segment", NameFormat::Segment),
    ("address", NameFormat::Address),
    ("definition", NameFormat::Definition),
    ("service", NameFormat::Service),
];

/// Which changes increment `metadata.generation`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GenerationTriggers {
    /// Anything but metadata and status.
    pub content: bool,
    /// Empty lists and maps in the content, although they are not stored.
    pub emptied: bool,
    /// Annotations.
    pub annotations: bool,
    /// The status, if it is written like everything else.
    pub status: bool,
}

/// How the status in the body of a create is treated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum StatusOnCreate {
    /// It is dropped.
    #[default]
    Dropped,
    /// It is kept.
    Taken,
}

/// What an update fills in if the request omits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refills {
    /// Nothing.
    Nothing,
    /// Allocated values, and what the strategy fills in on create.
    Allotted,
    /// What the strategy fills in on create.
    Created,
    /// What admission adds.
    Admitted,
}

/// How the objects of a resource are written and deleted.
#[derive(Clone, Debug, PartialEq)]
pub struct StrategyOptions {
    /// The format of names.
    pub names: NameFormat,
    /// Whether objects start with generation 1; otherwise they have none.
    pub generation: bool,
    /// What increments the generation.
    pub bumps: GenerationTriggers,
    /// How the status in the body of a create is treated.
    pub status_on_create: StatusOnCreate,
    /// The metadata that the status endpoint may write.
    pub status_keeps: Box<[Text]>,
    /// What the main endpoint resets besides the status.
    pub resets: Box<[Text]>,
    /// What updates at the main endpoint take from the live object, although managers may own it.
    pub carries: Box<[Text]>,
    /// The annotation that counts changes of a part of the object, and the path of that part.
    pub counter: Option<(Text, Text)>,
    /// What an update fills in.
    pub refills: Refills,
    /// Paths that an update preserves if it omits them.
    pub keeps: Box<[Text]>,
    /// Whether an update may omit the resource version.
    pub unconditional_update: bool,
    /// Whether an update of an absent object creates it.
    pub create_on_update: bool,
    /// Whether a completed deletion returns the object rather than a `Status`.
    pub delete_returns_object: bool,
    /// Whether dependents are orphaned by default.
    pub orphans: bool,
    /// Whether objects never have dependents.
    pub childless: bool,
    /// Whether finalizers need no domain.
    pub plain_finalizers: bool,
    /// Whether errors of owner references name the entry.
    pub indexed_owners: bool,
    /// Whether objects terminate gracefully.
    pub graceful_deletion: bool,
}

impl Default for StrategyOptions {
    fn default() -> StrategyOptions {
        StrategyOptions {
            names: NameFormat::default(),
            generation: false,
            bumps: GenerationTriggers::default(),
            status_on_create: StatusOnCreate::default(),
            status_keeps: ["labels", "annotations", "finalizers", "ownerReferences"].map(Text::new).into(),
            resets: Box::default(),
            carries: Box::default(),
            counter: None,
            refills: Refills::Nothing,
            keeps: Box::default(),
            unconditional_update: true,
            create_on_update: false,
            delete_returns_object: false,
            orphans: false,
            childless: false,
            plain_finalizers: false,
            indexed_owners: false,
            graceful_deletion: false,
        }
    }
}

/// Finds the meaning of a word in the data.
fn word<T: Copy>(member: &str, word: &str, known: &[(&str, T)]) -> Result<T, String> {
    let found = known.iter().find(|(known_word, _)| *known_word == word).map(|(_, value)| *value);
    found.ok_or_else(|| {
        let known: Vec<&str> = known.iter().map(|(known_word, _)| *known_word).collect();
        format!("unknown {member} {word:?}; known are {}", known.join(", "))
    })
}

/// Rejects unknown members of a row.
fn only_known(row: &Value, known: &[&str]) -> Result<(), String> {
    let fields = row.as_object().ok_or_else(|| format!("expected an object, got {}", row.kind()))?;
    match fields.iter().find(|(name, _)| !known.contains(&name.as_str())) {
        Some((name, _)) => Err(format!("unknown member {name:?}; known are {}", known.join(", "))),
        None => Ok(()),
    }
}

impl StrategyOptions {
    /// Parses a row of data.
    fn from_row(row: &Value) -> Result<StrategyOptions, String> {
        const MEMBERS: [&str; 17] = [
            "bumps",
            "carries",
            "childless",
            "counter",
            "createOnUpdate",
            "deleteReturnsObject",
            "generation",
            "gracefulDeletion",
            "keeps",
            "names",
            "orphans",
            "plainFinalizers",
            "refills",
            "resets",
            "statusKeeps",
            "statusOnCreate",
            "unconditionalUpdate",
        ];
        const REFILLS: [(&str, Refills); 3] =
            [("allotted", Refills::Allotted), ("created", Refills::Created), ("admitted", Refills::Admitted)];
        only_known(row, &MEMBERS)?;
        let default = StrategyOptions::default();
        let mut bumps = GenerationTriggers::default();
        for name in row.texts("bumps") {
            match name.as_str() {
                "content" => bumps.content = true,
                "emptied" => bumps.emptied = true,
                "annotations" => bumps.annotations = true,
                other => {
                    return Err(format!("unknown bumps {other:?}; known are content, emptied, annotations"));
                }
            }
        }
        let text = |name: &str| row.get(name).and_then(Value::as_str);
        Ok(StrategyOptions {
            names: text("names").map_or(Ok(default.names), |name| word("names", name, &NAMES))?,
            generation: row.flag("generation"),
            bumps,
            status_on_create: match row.flag("statusOnCreate") {
                true => StatusOnCreate::Taken,
                false => StatusOnCreate::Dropped,
            },
            status_keeps: match row.get("statusKeeps") {
                Some(_) => row.texts("statusKeeps"),
                None => default.status_keeps,
            },
            resets: row.texts("resets"),
            carries: row.texts("carries"),
            counter: row.get("counter").map(|counter| (counter.text("annotation"), counter.text("of"))),
            refills: text("refills").map_or(Ok(default.refills), |name| word("refills", name, &REFILLS))?,
            keeps: row.texts("keeps"),
            unconditional_update: row.get("unconditionalUpdate").and_then(Value::as_bool).unwrap_or(true),
            create_on_update: row.flag("createOnUpdate"),
            delete_returns_object: row.flag("deleteReturnsObject"),
            orphans: row.flag("orphans"),
            childless: row.flag("childless"),
            plain_finalizers: row.flag("plainFinalizers"),
            indexed_owners: default.indexed_owners,
            graceful_deletion: row.flag("gracefulDeletion"),
        })
    }
}

/// A subresource, such as `status` or `scale`.
#[derive(Clone, Debug, PartialEq)]
pub struct Subresource {
    /// The last segment of the path.
    pub name: Text,
    /// The group of its kind; empty if it is that of the resource.
    pub group: Text,
    /// The version of its kind; empty if it is that of the resource.
    pub version: Text,
    /// Its kind.
    pub kind: Text,
    /// Its verbs.
    pub verbs: Box<[Text]>,
}

/// One resource in one version.
#[derive(Clone, Debug, PartialEq)]
pub struct Resource {
    /// The API group; empty for the core group.
    pub group: Text,
    /// The version.
    pub version: Text,
    /// `group/version`, or the version alone in the core group.
    pub api_version: Text,
    /// The plural name, used in paths.
    pub name: Text,
    /// The kind of its objects.
    pub kind: Text,
    /// The kind of a list of its objects.
    pub list_kind: Text,
    /// The singular name.
    pub singular: Text,
    /// Short names.
    pub short_names: Box<[Text]>,
    /// Categories, such as `all`.
    pub categories: Box<[Text]>,
    /// Whether objects are namespaced.
    pub scope: Scope,
    /// The verbs.
    pub verbs: Box<[Text]>,
    /// The subresources.
    pub subresources: Box<[Subresource]>,
    /// The storage version hash of discovery; empty if objects are not stored.
    pub storage_version_hash: Text,
    /// Group and version in which objects are stored.
    pub storage: (Text, Text),
    /// The selectable fields, besides name and namespace.
    pub selectable_fields: Box<[SelectableField]>,
    /// How objects are written and deleted.
    pub strategy: StrategyOptions,
    /// The type of its objects in the schema of the built-in kinds, if it is one of those.
    pub type_id: Option<TypeId>,
}

impl Resource {
    /// Whether the resource supports a verb.
    pub fn has_verb(&self, verb: &str) -> bool {
        self.verbs.iter().any(|listed| listed == verb)
    }

    /// Returns a subresource.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|subresource| subresource.name == name)
    }

    /// Whether objects have a status subresource.
    pub fn has_status(&self) -> bool {
        self.subresource("status").is_some()
    }

    /// Whether objects are stored; reviews and bindings are not.
    pub fn is_stored(&self) -> bool {
        !self.storage_version_hash.is_empty()
    }

    /// Returns `deployments.apps`, or `pods` in the core group.
    pub fn qualified(&self) -> String {
        crate::qualified(&self.name, &self.group)
    }

    /// Parses a row of data; its type is that of the schema.
    pub fn from_row(row: &Value, schema: &Schema) -> Result<Resource, String> {
        const MEMBERS: [&str; 14] = [
            "categories",
            "group",
            "kind",
            "resource",
            "scope",
            "selectableFields",
            "shortNames",
            "singular",
            "storage",
            "storageVersionHash",
            "strategy",
            "subresources",
            "verbs",
            "version",
        ];
        const SCOPES: [(&str, Scope); 2] = [("Namespaced", Scope::Namespaced), ("Cluster", Scope::Cluster)];
        only_known(row, &MEMBERS)?;
        for name in ["version", "resource", "kind", "scope"] {
            if row.text(name).is_empty() {
                return Err(format!("{name} is missing"));
            }
        }
        let (group, version) = (row.text("group"), row.text("version"));
        let verbs = |row: &Value| row.text("verbs").split_whitespace().map(Text::new).collect();
        let (api_version, kind) = (api_version(&group, &version), row.text("kind"));
        Ok(Resource {
            type_id: schema.kind(&api_version, &kind).map(TypeRef::id),
            api_version,
            name: row.text("resource"),
            list_kind: format!("{kind}List").into(),
            kind,
            singular: row.text("singular"),
            short_names: row.texts("shortNames"),
            categories: row.texts("categories"),
            scope: word("scope", &row.text("scope"), &SCOPES)?,
            verbs: verbs(row),
            subresources: row
                .items("subresources")
                .iter()
                .map(|row| Subresource {
                    name: row.text("name"),
                    group: row.text("group"),
                    version: row.text("version"),
                    kind: row.text("kind"),
                    verbs: verbs(row),
                })
                .collect(),
            storage_version_hash: row.text("storageVersionHash"),
            storage: match &*row.texts("storage") {
                [group, version] => (group.clone(), version.clone()),
                _ => (group.clone(), version.clone()),
            },
            selectable_fields: row.items("selectableFields").iter().map(SelectableField::from_row).collect(),
            strategy: row.get("strategy").map(StrategyOptions::from_row).transpose()?.unwrap_or_default(),
            group,
            version,
        })
    }
}

/// A group and its versions, preferred first.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// The group's name; empty for the core group.
    pub name: Text,
    /// The versions, preferred first.
    pub versions: Box<[Text]>,
}

/// The served resources, in the order of discovery.
#[derive(Debug, Default)]
pub struct Registry {
    groups: Vec<Group>,
    resources: Vec<Arc<Resource>>,
    /// The indices of the resources of a plural name, sorted by group and version.
    by_name: HashMap<Text, Vec<usize>, RandomState>,
    by_kind: HashMap<(Text, Text), usize, RandomState>,
}

fn version_of(resource: &Resource) -> (&str, &str) {
    (&resource.group, &resource.version)
}

fn place_in(
    by_name: &HashMap<Text, Vec<usize>, RandomState>,
    resources: &[Arc<Resource>],
    version: (&str, &str),
    name: &str,
) -> Option<usize> {
    let places = by_name.get(name)?;
    let place = places.binary_search_by(|at| version_of(&resources[*at]).cmp(&version)).ok()?;
    places.get(place).copied()
}

impl Registry {
    /// Creates a registry; the storage version of a built-in kind that is not served is replaced by the
    /// version of the resource.
    pub fn new(groups: Vec<Group>, mut resources: Vec<Arc<Resource>>) -> Registry {
        let mut by_name: HashMap<Text, Vec<usize>, RandomState> = HashMap::default();
        for (at, resource) in resources.iter().enumerate() {
            by_name.entry(resource.name.clone()).or_default().push(at);
        }
        for places in by_name.values_mut() {
            places.sort_by_key(|at| version_of(&resources[*at]));
        }
        for at in 0..resources.len() {
            let Resource { storage: (group, version), name, type_id, .. } = &*resources[at];
            if type_id.is_some() && place_in(&by_name, &resources, (group, version), name).is_none() {
                let resource = Arc::make_mut(&mut resources[at]);
                resource.storage = (resource.group.clone(), resource.version.clone());
            }
        }
        let by_kind = resources
            .iter()
            .enumerate()
            .map(|(at, resource)| ((resource.api_version.clone(), resource.kind.clone()), at))
            .collect();
        Registry { groups, resources, by_name, by_kind }
    }

    /// Returns the groups in order, the core group first.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Returns the resources in order.
    pub fn resources(&self) -> &[Arc<Resource>] {
        &self.resources
    }

    /// Returns the resources of a group and version, in order.
    pub fn of_version(&self, group: &str, version: &str) -> impl Iterator<Item = &Arc<Resource>> {
        self.resources.iter().filter(move |resource| resource.group == group && resource.version == version)
    }

    /// Finds a resource by the segments of its path.
    pub fn find(&self, group: &str, version: &str, resource: &str) -> Option<&Arc<Resource>> {
        self.place_of(group, version, resource).map(|at| &self.resources[at])
    }

    /// Finds the index among the resources of one by the segments of its path.
    pub fn place_of(&self, group: &str, version: &str, resource: &str) -> Option<usize> {
        place_in(&self.by_name, &self.resources, (group, version), resource)
    }

    /// Finds the resource of a kind.
    pub fn of_kind(&self, api_version: &str, kind: &str) -> Option<&Arc<Resource>> {
        let key = (Text::new(api_version), Text::new(kind));
        self.by_kind.get(&key).map(|at| &self.resources[*at])
    }

    /// Returns the resource in its storage version; often itself.
    pub fn storage_of(&self, resource: &Resource) -> Option<&Arc<Resource>> {
        self.find(&resource.storage.0, &resource.storage.1, &resource.name)
    }

    /// Returns the resource in all served versions, including its own.
    pub fn forms_of<'a>(&'a self, resource: &'a Resource) -> impl Iterator<Item = &'a Arc<Resource>> {
        self.resources.iter().filter(|other| other.storage == resource.storage && other.name == resource.name)
    }
}

/// Returns `group/version`, or the version alone in the core group.
pub fn api_version(group: &str, version: &str) -> Text {
    if group.is_empty() { Text::new(version) } else { Text::from(format!("{group}/{version}")) }
}
