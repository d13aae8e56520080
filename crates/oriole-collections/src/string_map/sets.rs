//! Sets of strings.

use super::{Entry, Keys, RawStrings, StringKey, Strings};
use crate::raw::TryReserveError;
use core::fmt;

/// A set of strings over the design `T`; use it through an alias such as [`StringSet`](crate::StringSet).
///
/// ```
/// let mut set = oriole_collections::StringSet::from(["b", "a"]);
/// assert!(set.insert("c") && !set.insert("a"));
/// assert_eq!(set.iter_sorted().collect::<Vec<_>>(), ["a", "b", "c"]);
/// ```
pub struct StringKeys<S: StringKey + ?Sized, T: RawStrings> {
    map: Strings<(), S, T>,
}

impl<S: StringKey + ?Sized, T: RawStrings> StringKeys<S, T> {
    /// An empty set.
    #[track_caller]
    pub const fn new() -> Self {
        Self {
            map: Strings::new(),
        }
    }

    /// An empty set with room for so many strings.
    #[track_caller]
    pub fn with_capacity(strings: usize) -> Self {
        Self {
            map: Strings::with_capacity(strings),
        }
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.map.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.map.is_empty()
    }

    /// Makes room for `additional` more strings.
    pub fn reserve(&mut self, additional: usize) {
        self.map.reserve(additional);
    }

    /// Makes room for `additional` more strings, or says why it cannot.
    pub fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.map.try_reserve(additional)
    }

    /// Whether the string is present.
    pub fn contains(&self, key: &S) -> bool {
        self.map.contains_key(key)
    }

    /// The stored string equal to this one, at its lasting address.
    pub fn get(&self, key: &S) -> Option<&S> {
        self.map.get_key_value(key).map(|(key, ())| key)
    }

    /// Adds a string; whether it was missing.
    pub fn insert(&mut self, key: &S) -> bool {
        match self.map.entry(key) {
            Entry::Occupied(_) => false,
            Entry::Vacant(entry) => {
                entry.insert(());
                true
            }
        }
    }

    /// The stored string equal to this one, which is stored when there was none.
    pub fn get_or_insert(&mut self, key: &S) -> &S {
        self.map.entry(key).insert_entry(()).into_key()
    }

    /// Removes a string; whether it was present.
    pub fn remove(&mut self, key: &S) -> bool {
        self.map.erase(key)
    }

    /// Keeps the strings for which `keep` is true, in one pass.
    pub fn retain(&mut self, mut keep: impl FnMut(&S) -> bool) {
        self.map.retain(|key, ()| keep(key));
    }

    /// Removes the strings for which `remove` is true, in one pass, and returns how many there were.
    pub fn remove_if(&mut self, mut remove: impl FnMut(&S) -> bool) -> usize {
        self.map.remove_if(|key, ()| remove(key))
    }

    /// Every string, in bucket order.
    pub fn iter(&self) -> Keys<'_, (), S, T> {
        self.map.keys()
    }

    /// Every string, in bucket order; the same as [`StringKeys::iter`].
    pub fn iter_unordered(&self) -> Keys<'_, (), S, T> {
        self.map.keys()
    }

    /// Every string in ascending order.
    pub fn iter_sorted(&self) -> impl ExactSizeIterator<Item = &S> {
        self.map.iter_sorted().map(|(key, ())| key)
    }

    /// Removes every string.
    pub fn clear(&mut self) {
        self.map.clear();
    }
}

impl<S: StringKey + ?Sized, T: RawStrings> Default for StringKeys<S, T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

impl<S: StringKey + ?Sized, T: RawStrings> Clone for StringKeys<S, T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self {
            map: self.map.clone(),
        }
    }
}

impl<S: StringKey + ?Sized, T: RawStrings> PartialEq for StringKeys<S, T> {
    fn eq(&self, other: &Self) -> bool {
        self.map == other.map
    }
}

impl<S: StringKey + ?Sized, T: RawStrings> Eq for StringKeys<S, T> {}

impl<S: StringKey + ?Sized, T: RawStrings> fmt::Debug for StringKeys<S, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter_sorted()).finish()
    }
}

impl<K: AsRef<S>, S: StringKey + ?Sized, T: RawStrings> Extend<K> for StringKeys<S, T> {
    fn extend<I: IntoIterator<Item = K>>(&mut self, keys: I) {
        for key in keys {
            self.insert(key.as_ref());
        }
    }
}

impl<K: AsRef<S>, S: StringKey + ?Sized, T: RawStrings> FromIterator<K> for StringKeys<S, T> {
    #[track_caller]
    fn from_iter<I: IntoIterator<Item = K>>(keys: I) -> Self {
        let mut set = Self::new();
        set.extend(keys);
        set
    }
}

impl<K: AsRef<S>, S: StringKey + ?Sized, T: RawStrings, const N: usize> From<[K; N]>
    for StringKeys<S, T>
{
    #[track_caller]
    fn from(keys: [K; N]) -> Self {
        keys.into_iter().collect()
    }
}

impl<'a, S: StringKey + ?Sized, T: RawStrings> IntoIterator for &'a StringKeys<S, T> {
    type Item = &'a S;
    type IntoIter = Keys<'a, (), S, T>;

    fn into_iter(self) -> Keys<'a, (), S, T> {
        self.map.keys()
    }
}
