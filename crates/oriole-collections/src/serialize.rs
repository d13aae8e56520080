//! Serialization with serde.
//!
//! Maps of bucket order are written in bucket order; what has an order is written in it. An entity is its number, a bit set the list
//! of its members' numbers, an interner the list of its strings.

use crate::extra::Interner;
use crate::extra::ordered::{OrderedMap, OrderedSet};
use crate::extra::small::SmallMap;
use crate::map::Map;
use crate::raw::RawTable;
use crate::set::Set;
use crate::string_map::{RawStrings, StringKey, StringKeys, Strings};
use crate::{DenseKey, IndexVec, entity::Entity};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};

/// The most room made on the word of a file.
const CAUTIOUS: usize = 4096;

struct Entries<M, K, V>(PhantomData<(M, K, V)>);

impl<'de, M, K, V> Visitor<'de> for Entries<M, K, V>
where
    M: Default + Extend<(K, V)>,
    K: Deserialize<'de>,
    V: Deserialize<'de>,
{
    type Value = M;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<M, A::Error> {
        let mut map = M::default();
        while let Some(entry) = entries.next_entry::<K, V>()? {
            map.extend([entry]);
        }
        Ok(map)
    }
}

struct Items<C, K>(PhantomData<(C, K)>);

impl<'de, C: Default + Extend<K>, K: Deserialize<'de>> Visitor<'de> for Items<C, K> {
    type Value = C;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<C, A::Error> {
        let mut all = C::default();
        let mut some = Vec::with_capacity(items.size_hint().unwrap_or(0).min(CAUTIOUS));
        while let Some(item) = items.next_element::<K>()? {
            some.push(item);
            if some.len() == CAUTIOUS {
                all.extend(some.drain(..));
            }
        }
        all.extend(some);
        Ok(all)
    }
}

impl<K: Serialize, V: Serialize, T: RawTable<K, V>> Serialize for Map<K, V, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter_unordered())
    }
}

impl<'de, K, V, T> Deserialize<'de> for Map<K, V, T>
where
    K: DenseKey + Deserialize<'de>,
    V: Deserialize<'de>,
    T: RawTable<K, V>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries::<Self, K, V>(PhantomData))
    }
}

impl<K: Serialize, T: RawTable<K, ()>> Serialize for Set<K, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter_unordered())
    }
}

impl<'de, K: DenseKey + Deserialize<'de>, T: RawTable<K, ()>> Deserialize<'de> for Set<K, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Items::<Self, K>(PhantomData))
    }
}

impl<K, V, const N: usize, T> Serialize for SmallMap<K, V, N, T>
where
    K: DenseKey + Serialize,
    V: Serialize,
    T: RawTable<K, V>,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter_unordered())
    }
}

impl<'de, K, V, const N: usize, T> Deserialize<'de> for SmallMap<K, V, N, T>
where
    K: DenseKey + Deserialize<'de>,
    V: Deserialize<'de>,
    T: RawTable<K, V>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries::<Self, K, V>(PhantomData))
    }
}

impl<K: DenseKey + Clone + Serialize, V: Serialize> Serialize for OrderedMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de, K, V> Deserialize<'de> for OrderedMap<K, V>
where
    K: DenseKey + Clone + Deserialize<'de>,
    V: Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries::<Self, K, V>(PhantomData))
    }
}

impl<K: DenseKey + Clone + Serialize> Serialize for OrderedSet<K> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter())
    }
}

impl<'de, K: DenseKey + Clone + Deserialize<'de>> Deserialize<'de> for OrderedSet<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Items::<Self, K>(PhantomData))
    }
}

impl<V: Serialize, K: StringKey + Serialize + ?Sized, T: RawStrings> Serialize
    for Strings<V, K, T>
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter_sorted())
    }
}

impl<'de, V, K, T> Deserialize<'de> for Strings<V, K, T>
where
    V: Deserialize<'de>,
    K: StringKey + ToOwned + ?Sized,
    Box<K>: Deserialize<'de> + AsRef<K>,
    T: RawStrings,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Entries::<Self, Box<K>, V>(PhantomData))
    }
}

impl<K: StringKey + Serialize + ?Sized, T: RawStrings> Serialize for StringKeys<K, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter_sorted())
    }
}

impl<'de, K, T> Deserialize<'de> for StringKeys<K, T>
where
    K: StringKey + ?Sized,
    Box<K>: Deserialize<'de> + AsRef<K>,
    T: RawStrings,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Items::<Self, Box<K>>(PhantomData))
    }
}

impl<I: Entity, V: Serialize> Serialize for IndexVec<I, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.values())
    }
}

impl<'de, I: Entity, V: Deserialize<'de>> Deserialize<'de> for IndexVec<I, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::deserialize(deserializer)?.into_iter().collect())
    }
}

impl Serialize for Interner {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(|(_, name)| name))
    }
}

/// Symbols come in the order of the list, so those of the interner that was written are the same.
impl<'de> Deserialize<'de> for Interner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Names;

        impl<'de> Visitor<'de> for Names {
            type Value = Interner;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("different strings")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut names: A) -> Result<Interner, A::Error> {
                let mut interner = Interner::new();
                while let Some(name) = names.next_element::<Box<str>>()? {
                    let before = interner.len();
                    interner.intern(&name);
                    if interner.len() == before {
                        return Err(serde::de::Error::custom("a string comes twice"));
                    }
                }
                Ok(interner)
            }
        }

        deserializer.deserialize_seq(Names)
    }
}
