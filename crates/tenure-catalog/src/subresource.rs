//! The subresources that the server carries out in a way of their own. All others show or change a part of their object, as the kind says.

/// A subresource with a way of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// The input and output of a container that runs.
    Attach,
    /// The assignment of a pod to a node.
    Binding,
    /// The deletion of a pod, if its disruption budget allows it.
    Eviction,
    /// A command in a container.
    Exec,
    /// The changes of an object.
    History,
    /// The output of a container.
    Log,
    /// Connections to ports of a pod.
    PortForward,
    /// Requests to a node, a pod or a service.
    Proxy,
    /// The number of replicas.
    Scale,
    /// What controllers report.
    Status,
    /// A token of a service account.
    Token,
}

impl Subresource {
    /// Returns the subresource of a name, if it has a way of its own.
    pub fn named(name: &str) -> Option<Subresource> {
        Some(match name {
            "attach" => Subresource::Attach,
            "binding" => Subresource::Binding,
            "eviction" => Subresource::Eviction,
            "exec" => Subresource::Exec,
            "history" => Subresource::History,
            "log" => Subresource::Log,
            "portforward" => Subresource::PortForward,
            "proxy" => Subresource::Proxy,
            "scale" => Subresource::Scale,
            "status" => Subresource::Status,
            "token" => Subresource::Token,
            _ => return None,
        })
    }

    /// Whether it connects to what runs on a node.
    pub fn is_connection(self) -> bool {
        matches!(
            self,
            Subresource::Attach | Subresource::Exec | Subresource::PortForward | Subresource::Proxy
        )
    }

    /// Whether its responses last.
    pub fn is_long_running(self) -> bool {
        self.is_connection() || self == Subresource::Log
    }
}
