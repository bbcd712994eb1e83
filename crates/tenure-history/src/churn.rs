//! Who writes most, whose writes change nothing, and which fields change most. The counts are of the writes since the server
//! started. Memory is bounded: when a table is full, the half with the smallest counts is dropped.

use foldhash::quality::RandomState;
use std::collections::HashMap;
use tenure_value::Text;

/// The most managers and fields that are counted.
const MOST_WRITERS: usize = 1024;
const MOST_FIELDS: usize = 4096;

/// What one manager wrote.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriterCount {
    /// The manager.
    pub manager: String,
    /// How many writes changed something.
    pub changes: u64,
    /// How many changed nothing.
    pub noops: u64,
}

/// How often one field of one resource changed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldCount {
    /// The resource, such as `deployments.apps`.
    pub resource: String,
    /// The field, with `[]` for any item of a list.
    pub path: String,
    /// How often it changed.
    pub changes: u64,
    /// The manager that changed it last.
    pub manager: String,
}

/// Counts writes.
#[derive(Debug, Default)]
pub struct Churn {
    writers: HashMap<String, (u64, u64), RandomState>,
    /// By resource and path. Every write looks up the fields that it changes, so that a lookup must not copy them.
    fields: HashMap<String, HashMap<String, (u64, Text), RandomState>, RandomState>,
    /// How many fields there are, of all resources.
    count: usize,
}

impl Churn {
    /// Counts a write that changed these fields of an object.
    pub fn changed(&mut self, manager: &str, resource: &str, paths: &[String]) {
        self.writer(manager).0 += 1;
        let (mut known, mut unknown) = (self.fields.get_mut(resource), Vec::new());
        for path in paths.iter().filter(|path| *path != ".metadata.generation") {
            match known.as_mut().and_then(|fields| fields.get_mut(path)) {
                Some((count, last)) => {
                    *count += 1;
                    if *last != manager {
                        *last = manager.into();
                    }
                }
                None => unknown.push(path),
            }
        }
        for path in unknown {
            if self.count >= MOST_FIELDS {
                self.halve_fields();
            }
            let fields = self.fields.entry(resource.to_owned()).or_default();
            let before = fields.len();
            fields.entry(path.clone()).or_insert((0, manager.into())).0 += 1;
            self.count += fields.len() - before;
        }
    }

    /// Drops the half of the fields with the smallest counts.
    fn halve_fields(&mut self) {
        let counts =
            self.fields.values().flat_map(|fields| fields.values().map(|(count, _)| *count)).collect();
        let (median, mut dropped) = middle(counts);
        self.fields.retain(|_, fields| {
            fields.retain(|_, (count, _)| !is_dropped(*count, median, &mut dropped));
            !fields.is_empty()
        });
        self.count = self.fields.values().map(HashMap::len).sum();
    }

    /// Counts a write that changed nothing.
    pub fn unchanged(&mut self, manager: &str) {
        self.writer(manager).1 += 1;
    }

    fn writer(&mut self, manager: &str) -> &mut (u64, u64) {
        if self.writers.len() >= MOST_WRITERS && !self.writers.contains_key(manager) {
            let (median, mut dropped) =
                middle(self.writers.values().map(|(changes, noops)| changes + noops).collect());
            self.writers.retain(|_, (changes, noops)| !is_dropped(*changes + *noops, median, &mut dropped));
        }
        // Names are short and few, so that a lookup by the owned name costs little.
        self.writers.entry(manager.to_owned()).or_default()
    }

    /// Returns the managers that wrote most.
    pub fn writers(&self, most: usize) -> Vec<WriterCount> {
        let one = |(manager, (changes, noops)): (&String, &(u64, u64))| WriterCount {
            manager: manager.clone(),
            changes: *changes,
            noops: *noops,
        };
        let mut writers: Vec<WriterCount> = self.writers.iter().map(one).collect();
        writers.sort_by(|a, b| {
            (b.changes + b.noops).cmp(&(a.changes + a.noops)).then_with(|| a.manager.cmp(&b.manager))
        });
        writers.truncate(most);
        writers
    }

    /// Returns the fields that changed most.
    pub fn fields(&self, most: usize) -> Vec<FieldCount> {
        let all = self
            .fields
            .iter()
            .flat_map(|(resource, fields)| fields.iter().map(move |field| (resource, field)));
        let one = |(resource, (path, (changes, manager))): (&String, (&String, &(u64, Text)))| FieldCount {
            resource: resource.clone(),
            path: path.clone(),
            changes: *changes,
            manager: manager.to_string(),
        };
        let mut fields: Vec<FieldCount> = all.map(one).collect();
        fields.sort_by(|a, b| {
            b.changes.cmp(&a.changes).then_with(|| (&a.resource, &a.path).cmp(&(&b.resource, &b.path)))
        });
        fields.truncate(most);
        fields
    }
}

/// Returns the median of counts and how many of them are the smaller half.
fn middle(mut counts: Vec<u64>) -> (u64, usize) {
    let middle = counts.len() / 2;
    let (_, median, _) = counts.select_nth_unstable(middle);
    (*median, middle)
}

/// Whether an entry is among those that are dropped, of which so many are left.
fn is_dropped(count: u64, median: u64, left: &mut usize) -> bool {
    let is_dropped = *left > 0 && count <= median;
    *left -= usize::from(is_dropped);
    is_dropped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_come_first_and_stay() {
        let mut churn = Churn::default();
        for number in 0..20_000 {
            churn.changed(&format!("once-{number}"), "pods", &[format!(".data.k{number}")]);
            churn.changed("busy", "pods", &[".status.phase".into(), ".metadata.generation".into()]);
            churn.unchanged("idle");
        }
        let writers = churn.writers(2);
        assert_eq!((writers[0].manager.as_str(), writers[0].changes, writers[0].noops), ("busy", 20_000, 0));
        assert_eq!((writers[1].manager.as_str(), writers[1].changes, writers[1].noops), ("idle", 0, 20_000));
        let fields = churn.fields(1);
        assert_eq!((fields[0].path.as_str(), fields[0].changes), (".status.phase", 20_000));
        assert!(churn.writers.len() <= MOST_WRITERS && churn.count <= MOST_FIELDS);
    }
}
