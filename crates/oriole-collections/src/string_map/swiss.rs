//! String tables of the swiss design: a slot is a node's address and its key's whole hash, so that growing touches no node.

use super::node::Head;
use super::{RawStrings, StringKeys, Strings};
use crate::key::{keyed_bytes, mix_bytes};
use crate::raw::{RawTable, Slot, TryReserveError, Vacant};
use crate::{DenseKey, Lookup, swiss};
use core::ptr::NonNull;

/// A map from strings of the swiss design.
pub type StringMap<V> = Strings<V, str, Table>;
/// A set of strings of the swiss design.
pub type StringSet = StringKeys<str, Table>;
/// A map from byte strings of the swiss design.
pub type ByteStringMap<V> = Strings<V, [u8], Table>;
/// A set of byte strings of the swiss design.
pub type ByteStringSet = StringKeys<[u8], Table>;

/// A node as a key. The owner of the table sees to it that nodes in it are live.
#[derive(Clone, Copy)]
struct Cached {
    node: NonNull<Head>,
    hash: u64,
}

impl Cached {
    fn bytes(&self) -> &[u8] {
        // SAFETY: nodes in a table are live.
        unsafe { Head::key(self.node) }
    }
}

impl PartialEq for Cached {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Cached {}

impl DenseKey for Cached {
    fn mix(&self) -> u64 {
        self.hash
    }
    fn mix_keyed(&self, secret: u64) -> u64 {
        keyed_bytes(self.bytes(), secret)
    }
}

/// A key looked for.
struct Text<'a> {
    bytes: &'a [u8],
    hash: u64,
}

impl Lookup<Cached> for Text<'_> {
    #[inline]
    fn lookup_mix(&self) -> u64 {
        self.hash
    }
    fn lookup_keyed(&self, secret: u64) -> u64 {
        keyed_bytes(self.bytes, secret)
    }
    fn lookup_classic_hash(&self) -> u32 {
        self.hash as u32
    }
    #[inline]
    fn matches(&self, key: &Cached) -> bool {
        self.hash == key.hash && self.bytes == key.bytes()
    }
}

/// The table.
pub struct Table {
    table: swiss::Table<Cached, ()>,
}

// SAFETY: slots hold the nodes they were given; nothing but `erase` and `forget_all` takes them out.
unsafe impl RawStrings for Table {
    const NAME: &'static str = "swiss";
    const EMPTY: Self = Self {
        table: RawTable::EMPTY,
    };

    #[inline]
    fn len(&self) -> usize {
        self.table.len()
    }

    #[inline]
    fn bucket_count(&self) -> usize {
        self.table.bucket_count()
    }

    fn capacity(&self) -> usize {
        self.table.capacity()
    }

    fn allocated_bytes(&self) -> usize {
        self.table.allocated_bytes()
    }

    #[inline(never)] // one copy for all types of values
    fn find(&self, bytes: &[u8]) -> Option<NonNull<Head>> {
        if self.table.len() == 0 {
            return None;
        }
        let hash = mix_bytes(bytes);
        let slot = self.table.find(&Text { bytes, hash })?;
        // SAFETY: the table vouches for the slot.
        Some(unsafe { slot.as_ref() }.key.node)
    }

    fn probes(&self, bytes: &[u8]) -> usize {
        let hash = mix_bytes(bytes);
        self.table.probes(&Text { bytes, hash })
    }

    #[inline(never)]
    fn find_or_vacant(&mut self, bytes: &[u8]) -> Result<usize, Vacant> {
        let hash = mix_bytes(bytes);
        let found = self.table.find_or_vacant(&Text { bytes, hash });
        found.map(|slot| self.table.position(slot))
    }

    #[inline(never)]
    unsafe fn occupy(&mut self, vacant: Vacant, node: NonNull<Head>) -> usize {
        // SAFETY: the caller vouches for the node.
        let hash = mix_bytes(unsafe { Head::key(node) });
        let key = Cached { node, hash };
        // SAFETY: the caller vouches for the vacancy. Hashing a node does not panic.
        let slot = unsafe { self.table.occupy(vacant, Slot { key, value: () }) };
        self.table.position(slot)
    }

    unsafe fn erase(&mut self, index: usize) -> NonNull<Head> {
        let slot = self.table.at(index).expect("an entry");
        // SAFETY: the table vouches for the slot.
        unsafe { self.table.erase(slot, |_, ()| ()) }.key.node
    }

    #[inline]
    fn node_at(&self, index: usize) -> Option<NonNull<Head>> {
        // SAFETY: the table vouches for the slot.
        self.table
            .at(index)
            .map(|slot| unsafe { slot.as_ref() }.key.node)
    }

    fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError> {
        self.table.try_reserve(additional)
    }

    fn shrink_to(&mut self, capacity: usize) {
        self.table.shrink_to(capacity);
    }

    fn forget_all(&mut self) {
        if self.table.bucket_count() != 0 {
            self.table.reset();
        }
    }
}
