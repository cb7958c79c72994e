//! Ids of a log by numbers: hundreds of thousands, each kept once and one behind the other.

use std::{hash::BuildHasher, num::NonZeroU32};

use hashbrown::{DefaultHashBuilder, HashMap, HashSet, HashTable};

use super::Key;

/// An id of a record, a call or a turn, as a number of this log.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Id(NonZeroU32);

/// Something for some of the ids: a log has so many that hashing them shows.
pub type IdMap<T> = HashMap<Id, T>;
/// Some of the ids.
pub type IdSet = HashSet<Id>;

/// A table for what has so many entries that hashing them shows.
pub type Table<K, V> = std::collections::HashMap<K, V, DefaultHashBuilder>;
/// Keys of completions.
pub type Keys = std::collections::HashSet<Key, DefaultHashBuilder>;

/// An id as an index below [`Facts::id_count`](super::Facts::id_count).
#[must_use]
pub fn index(id: Id) -> usize {
    id.0.get() as usize - 1
}

/// All ids of a log.
#[derive(Debug, Default)]
pub(super) struct Ids {
    text: String,
    /// Where each of them ends in the text.
    ends: Vec<usize>,
    /// Half of an id's hash beside its number: most of what is compared differs there, and a table that grows need not
    /// look at the text.
    table: HashTable<(u32, Id)>,
    /// Ids that stand in no table, because hardly anybody looks for them.
    loose: Vec<Id>,
    hasher: DefaultHashBuilder,
}

impl Ids {
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn name(&self, id: Id) -> &str {
        let at = index(id);
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[at]]
    }

    /// The numbers of `text`: one, and those that it has among the loose ones.
    pub fn known(&self, text: &str) -> impl Iterator<Item = Id> {
        let loose = self.loose.iter().copied().filter(move |id| self.name(*id) == text);
        self.find(self.half(text), text).into_iter().chain(loose)
    }

    pub fn id(&mut self, text: &str) -> Id {
        let half = self.half(text);
        if let Some(known) = self.find(half, text) {
            return known;
        }
        let id = self.add(text);
        self.table.insert_unique(whole(half), (half, id), |(half, _)| whole(*half));
        id
    }

    /// The one number of all ids, where nobody looks for any.
    pub fn only(&mut self) -> Id {
        if self.ends.is_empty() { self.add("") } else { Id(NonZeroU32::MIN) }
    }

    /// A number of its own for `text`, whatever others it has.
    pub fn loose(&mut self, text: &str) -> Id {
        let id = self.add(text);
        self.loose.push(id);
        id
    }

    fn add(&mut self, text: &str) -> Id {
        self.text.push_str(text);
        self.ends.push(self.text.len());
        let number = u32::try_from(self.ends.len()).ok().and_then(NonZeroU32::new);
        Id(number.expect("a log has fewer ids than lines can be counted"))
    }

    fn find(&self, half: u32, text: &str) -> Option<Id> {
        let is = |(other, id): &(u32, Id)| *other == half && self.name(*id) == text;
        self.table.find(whole(half), is).map(|(_, id)| *id)
    }

    #[cfg(test)]
    pub fn all(&self) -> impl Iterator<Item = Id> {
        (1..).map_while(NonZeroU32::new).map(Id).take(self.len())
    }

    fn half(&self, text: &str) -> u32 {
        let hash = self.hasher.hash_one(text);
        u32::try_from(hash >> 32).unwrap_or_default()
    }
}

/// A hash for the table, which wants both ends of it mixed.
fn whole(half: u32) -> u64 {
    u64::from(half).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_one_number_and_a_number_one_id() {
        let mut ids = Ids::default();
        let words: Vec<String> = (0..5000).map(|n| format!("{:x}", n * 7)).collect();
        let numbers: Vec<Id> = words.iter().map(|word| ids.id(word)).collect();
        for (at, (word, id)) in words.iter().zip(&numbers).enumerate() {
            assert_eq!((ids.id(word), ids.known(word).next(), index(*id)), (*id, Some(*id), at));
            assert_eq!(ids.name(*id), word);
        }
        assert_eq!((ids.len(), ids.known("no").next()), (words.len(), None));
        let loose = [ids.loose("no"), ids.loose("7"), ids.loose("no")];
        assert!(ids.known("no").eq([loose[0], loose[2]]));
        assert!(ids.known("7").eq([numbers[1], loose[1]]));
        let empty = ids.id("");
        assert_eq!(ids.name(empty), "");
    }
}
