//! Known managers: the names under which common programs write, and what these programs are. The table is data (`managers.json`, which
//! the extensions for web interfaces read too); the first row that fits an owner wins, so that rows for one operation or subresource
//! stand before the general row of the same name.

use std::sync::OnceLock;
use tenure_apply::{Operation, Owner};
use tenure_value::{Limits, Value, json};

/// The part a program plays for an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Role {
    /// Declares objects from files: `kubectl apply --server-side`, Helm, Argo CD, Flux, Terraform.
    Deployer,
    /// Declared objects before server-side apply and left its entry behind.
    ClientSideApply,
    /// A command or a user interface with which a person changed a field.
    Person,
    /// Scales workloads.
    Autoscaler,
    /// Maintains fields by itself.
    Controller,
    /// A name that many programs share: that of a client library, of a default binary, or none.
    Anonymous,
}

impl Role {
    fn read(word: &str) -> Option<Role> {
        Some(match word {
            "Deployer" => Role::Deployer,
            "ClientSideApply" => Role::ClientSideApply,
            "Person" => Role::Person,
            "Autoscaler" => Role::Autoscaler,
            "Controller" => Role::Controller,
            "Anonymous" => Role::Anonymous,
            _ => return None,
        })
    }
}

/// A program that is known by its manager's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tool {
    /// The program, as its users call it.
    pub name: String,
    /// What it does to objects.
    pub role: Role,
    /// The tools that stand for each other: two managers of one family are the same tool under two names. Empty if there is one name.
    pub family: String,
}

/// One row of the table.
struct Row {
    name: String,
    is_prefix: bool,
    operation: Option<Operation>,
    subresource: Option<String>,
    tool: Tool,
}

impl Row {
    fn read(row: &Value) -> Option<Row> {
        let text = |name: &str| row.get(name).and_then(Value::as_str).map(str::to_owned);
        let operation = match text("operation").as_deref() {
            None => None,
            Some("Apply") => Some(Operation::Apply),
            Some("Update") => Some(Operation::Update),
            Some(_) => return None,
        };
        let prefix = text("prefix");
        Some(Row {
            is_prefix: prefix.is_some(),
            name: prefix.or_else(|| text("manager"))?,
            operation,
            subresource: text("subresource"),
            tool: Tool {
                name: text("tool")?,
                role: Role::read(&text("role")?)?,
                family: text("family").unwrap_or_default(),
            },
        })
    }

    fn fits(&self, owner: &Owner) -> bool {
        let name = owner.name.as_str();
        let is_named = if self.is_prefix { name.starts_with(&self.name) } else { name == self.name };
        is_named
            && self.operation.is_none_or(|operation| operation == owner.operation)
            && self.subresource.as_deref().is_none_or(|subresource| subresource == owner.subresource.as_str())
    }
}

/// The table as a document, for programs in other languages.
pub const KNOWN_MANAGERS: &str = include_str!("managers.json");

fn rows() -> &'static [Row] {
    static ROWS: OnceLock<Vec<Row>> = OnceLock::new();
    ROWS.get_or_init(|| {
        let table = json::parse(KNOWN_MANAGERS.as_bytes(), &Limits::default()).unwrap_or_default();
        table.as_array().into_iter().flatten().filter_map(Row::read).collect()
    })
}

/// Returns the program behind an owner, if its manager's name is known.
pub fn recognize(owner: &Owner) -> Option<&'static Tool> {
    rows().iter().find(|row| row.fits(owner)).map(|row| &row.tool)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(name: &str, operation: Operation, subresource: &str) -> Owner {
        Owner {
            name: name.into(),
            operation,
            api_version: "apps/v1".into(),
            subresource: subresource.into(),
            time: None,
        }
    }

    #[test]
    fn owners_are_recognized_by_name_operation_and_subresource() {
        use Operation::{Apply, Update};
        use Role::{Autoscaler, ClientSideApply, Controller, Deployer, Person};
        for (name, operation, subresource, expected) in [
            ("kube-controller-manager", Update, "scale", Some(("HorizontalPodAutoscaler", Autoscaler))),
            ("kube-controller-manager", Update, "status", Some(("kube-controller-manager", Controller))),
            ("helm", Update, "", Some(("Helm 3", ClientSideApply))),
            ("helm", Apply, "", Some(("Helm", Deployer))),
            ("terraform-provider-helm_v3.0.2_x5", Update, "", Some(("Terraform's Helm provider", Deployer))),
            ("pulumi-kubernetes-1a2b3c4d", Apply, "", Some(("Pulumi", Deployer))),
            ("cert-manager-certificates-issuing", Update, "", Some(("cert-manager", Controller))),
            ("kubectl", Update, "", Some(("kubectl", Person))),
            ("kubectl-rollout", Update, "", Some(("kubectl rollout", Person))),
            ("kubectl-something-new", Update, "", Some(("kubectl", Person))),
            ("Mozilla", Update, "", Some(("a browser (a web console)", Person))),
            ("my-controller", Update, "", None),
        ] {
            let tool = recognize(&owner(name, operation, subresource));
            assert_eq!(tool.map(|tool| (tool.name.as_str(), tool.role)), expected, "{name} {operation}");
        }
    }

    #[test]
    fn every_row_is_read_and_can_be_reached() {
        let table: Value = KNOWN_MANAGERS.parse().unwrap();
        assert_eq!(rows().len(), table.as_array().unwrap().len(), "a row cannot be read");
        for row in rows() {
            let operations = row.operation.map_or([Operation::Apply, Operation::Update], |only| [only, only]);
            let subresource = row.subresource.as_deref().unwrap_or_default();
            let found = operations.map(|operation| recognize(&owner(&row.name, operation, subresource)));
            assert!(found.contains(&Some(&row.tool)), "{} is hidden by an earlier row", row.name);
        }
    }
}
