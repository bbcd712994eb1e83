//! Lists in which several entries have equal keys. No patch by key can say which of them it means, and a deletion
//! would delete all of them; so the patch contains the whole list, with what others added, and replaces the live one.

use super::{Calculator, ListPatch, Sides, keyed_list::replacement};
use crate::{
    PatchError,
    strategic::{
        ApplyOptions, LiveOnly, apply_object,
        diff::{entry_keys::EntryKeys, pairing::RepeatedPairing},
        order::{ItemPosition, NONE, arrange},
        patch_meta::{self, PatchMeta},
    },
};
use tenure_value::{Array, Value};

impl Calculator<'_> {
    pub(super) fn repeated_keys(
        &mut self,
        sides: Sides<'_, Array>,
        modified: &Array,
        keys: &EntryKeys<'_>,
        meta: PatchMeta<'_>,
    ) -> Result<ListPatch, PatchError> {
        let whole = || modified.to_vec();
        let Some(live) = sides.live else {
            return Ok(ListPatch { items: whole(), new: true, ..ListPatch::default() });
        };
        let wanted = if sides.same() { whole() } else { self.united(sides, modified, keys, meta)? };
        if live.items() == wanted {
            return Ok(ListPatch::default());
        }
        self.removals += 1;
        Ok(replacement(wanted))
    }

    /// Returns the live list with the changes of the manifest.
    fn united(
        &mut self,
        sides: Sides<'_, Array>,
        modified: &Array,
        keys: &EntryKeys<'_>,
        meta: PatchMeta<'_>,
    ) -> Result<Vec<Value>, PatchError> {
        let items = |list: Option<&'_ Array>| list.cloned().unwrap_or_default();
        let (original, live) = (items(sides.original), items(sides.live));
        let pairing = RepeatedPairing::new([&original, modified, &live], &keys.keys);
        let item = patch_meta::item_type(meta.ty);
        let mut entries: Vec<(Value, ItemPosition)> = Vec::new();
        for entry in &pairing.live {
            let survives = entry.modified.is_some() || entry.original.is_none();
            if !survives {
                continue;
            }
            let place = entries.len() as u32;
            let mut value = Value::Object(entry.map.clone());
            if let Some(rank) = entry.modified {
                let manifest = &pairing.modified[rank];
                let last = manifest.original.map(|at| pairing.original[at].map);
                let below = Sides { original: last, live: Some(entry.map) };
                let begun = self.object(below, manifest.map, item, meta.retains_keys())?;
                if let Some(patch) = self.finish(begun) {
                    let options = ApplyOptions::default().profile(self.options.profile);
                    value = apply_object(entry.map, &patch, item, &options)?;
                }
            }
            entries
                .push((value, ItemPosition { rank: entry.modified.map_or(NONE, |rank| rank as u32), place }));
        }
        let added = pairing.modified.iter().enumerate().filter(|(_, entry)| entry.live.is_none());
        for (rank, entry) in added {
            entries.push((entry.map.clone().into(), ItemPosition { rank: rank as u32, place: NONE }));
        }
        let order = arrange(entries.iter().map(|(_, standing)| Some(*standing)), LiveOnly::InPlace);
        Ok(order.into_iter().map(|at| entries[at as usize].0.clone()).collect())
    }
}
