//! What a hash table design must offer so that [`Map`](crate::map::Map) and [`Set`](crate::set::Set) can be built on it.
//!
//! Every design of this crate (swiss, linear, classic) implements this one trait, so all of them have the same public
//! API by construction and can be swapped, measured and model-checked by the same code.

use crate::{DenseKey, Lookup};
use core::fmt;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// One bucket's contents. The key comes first, so that code that only hashes keys need not know the type of the value.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Slot<K, V> {
    /// The key.
    pub key: K,
    /// The value; `()` in a set.
    pub value: V,
}

impl<K, V> Slot<K, V> {
    /// Bytes from one slot to the next. Slots without a size are still kept apart, so that each has its own address.
    pub(crate) const STRIDE: usize = if size_of::<Self>() == 0 {
        align_of::<Self>()
    } else {
        size_of::<Self>()
    };
}

/// The methods of a map that ask its table, `raw`, how large it is.
macro_rules! size_methods {
    () => {
        /// Number of entries.
        #[inline]
        pub fn len(&self) -> usize {
            self.raw.len()
        }

        /// Whether there are none.
        #[inline]
        pub fn is_empty(&self) -> bool {
            self.raw.len() == 0
        }

        /// How many entries fit before the table grows.
        pub fn capacity(&self) -> usize {
            self.raw.capacity()
        }

        /// Number of buckets.
        pub fn bucket_count(&self) -> usize {
            self.raw.bucket_count()
        }
    };
}
pub(crate) use size_methods;

/// The names of a design's maps and sets.
macro_rules! aliases {
    ($design:literal) => {
        #[doc = concat!("A map of ", $design, ".")]
        pub type DenseMap<K, V> = crate::map::Map<K, V, Table<K, V>>;
        #[doc = concat!("A set of ", $design, ".")]
        pub type DenseSet<K> = crate::set::Set<K, Table<K, ()>>;
        #[doc = concat!("A map with room for `N` entries inside itself, then of ", $design, ".")]
        pub type SmallDenseMap<K, V, const N: usize> =
            crate::extra::small::SmallMap<K, V, N, Table<K, V>>;
        #[doc = concat!("A set of pointers with room for `N` inside itself, then of ", $design, ".")]
        pub type SmallPtrSet<T, const N: usize> =
            crate::extra::small::PtrSet<T, N, Table<crate::extra::small::Pointer<T>, ()>>;
    };
}
pub(crate) use aliases;

/// The methods that the two designs after LLVM have in common: those of a table with its `slots` in order, `buckets` and `len`, that
/// can `rehash` into so many buckets and be `release`d.
macro_rules! llvm_methods {
    () => {
        fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError>
        where
            K: DenseKey,
        {
            let entries = (self.len as usize).checked_add(additional);
            let buckets = buckets_for(entries.ok_or(TryReserveError::CapacityOverflow)?)?;
            if additional != 0 && buckets > self.buckets as usize {
                self.rehash(buckets)?;
            }
            Ok(())
        }

        fn shrink_to(&mut self, capacity: usize)
        where
            K: DenseKey,
        {
            let wanted = capacity.max(self.len as usize);
            if wanted == 0 {
                self.release();
            } else if let Ok(buckets) = buckets_for(wanted)
                && buckets < self.buckets as usize
            {
                // A failed allocation leaves the table as it is.
                let _ = self.rehash(buckets);
            }
        }

        #[inline]
        fn position(&self, slot: NonNull<Slot<K, V>>) -> usize {
            // SAFETY: `slot` points into this table's buckets.
            let bytes = unsafe { slot.cast::<u8>().offset_from_unsigned(self.slots.cast()) };
            bytes / Slot::<K, V>::STRIDE
        }

        fn free_forgetting(self) {
            core::mem::ManuallyDrop::new(self).release();
        }
    };
}
pub(crate) use llvm_methods;

/// Where a missing key would go: the answer of [`RawTable::find_or_vacant`].
#[derive(Clone, Copy, Debug)]
pub struct Vacant {
    /// The key's hash as the design computes it.
    pub hash: u64,
    /// The bucket to fill, as long as the table is not changed in between and needs no growth.
    pub index: usize,
}

/// The slot of a key, or where it would go.
pub type Found<K, V> = Result<NonNull<Slot<K, V>>, Vacant>;

/// So many buckets, if a table can have them.
pub(crate) fn at_most_all(buckets: Option<usize>) -> Result<usize, TryReserveError> {
    let buckets = buckets.filter(|&buckets| buckets <= 1 << 31);
    buckets.ok_or(TryReserveError::CapacityOverflow)
}

/// Why room for more entries cannot be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TryReserveError {
    /// The number of entries or bytes is more than a table can have.
    CapacityOverflow,
    /// The allocator refused.
    AllocError {
        /// What it was asked for.
        layout: core::alloc::Layout,
    },
}

impl fmt::Display for TryReserveError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CapacityOverflow => f.write_str("a table cannot have so many entries"),
            Self::AllocError { layout } => {
                write!(f, "the allocator has no {} bytes", layout.size())
            }
        }
    }
}

impl core::error::Error for TryReserveError {}

impl TryReserveError {
    /// Ends the operation the way the standard collections do.
    #[cold]
    #[inline(never)]
    pub(crate) fn raise(self) -> ! {
        match self {
            Self::CapacityOverflow => panic!("capacity overflow: the table is too large"),
            Self::AllocError { layout } => alloc::alloc::handle_alloc_error(layout),
        }
    }
}

/// A hash table design.
///
/// # Safety
///
/// Every pointer returned by `find`, `find_or_vacant`, `occupy`, `at` and `raw_iter` must point at an initialised slot
/// inside the table's allocation, valid until the table is next mutated, and `raw_iter` must yield each slot once. All of this
/// must hold whatever the implementations of `DenseKey`, `Eq`, `Clone` and `Drop` of the entries do: they are safe code, which
/// may lie and may panic.
#[allow(clippy::len_without_is_empty)] // not an API for users
pub unsafe trait RawTable<K, V>: Sized {
    /// A table without an allocation.
    const EMPTY: Self;
    /// Short name of the design, for reports.
    const NAME: &'static str;
    /// Iterator over the occupied slots; it does not borrow the table, and may be sent and shared where the entries may. Its
    /// `size_hint` is exact.
    type RawIter: Iterator<Item = NonNull<Slot<K, V>>> + Clone;

    /// Number of entries.
    fn len(&self) -> usize;
    /// Number of buckets.
    fn bucket_count(&self) -> usize;
    /// How many entries fit without growing.
    fn capacity(&self) -> usize;
    /// Bytes of the heap allocation.
    fn allocated_bytes(&self) -> usize;
    /// The slot that holds the key.
    fn find<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> Option<NonNull<Slot<K, V>>>
    where
        K: DenseKey;
    /// How many buckets (or groups of buckets) a lookup inspects; only for reports.
    fn probes<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> usize
    where
        K: DenseKey;
    /// The slot that holds the key, or where it would go.
    fn find_or_vacant<Q: Lookup<K> + ?Sized>(&mut self, query: &Q) -> Found<K, V>
    where
        K: DenseKey;
    /// Stores an entry at a vacancy, growing first when the table is full.
    ///
    /// # Safety
    ///
    /// `vacant` must come from `find_or_vacant` of this table, with no mutation in between.
    unsafe fn occupy(&mut self, vacant: Vacant, slot: Slot<K, V>) -> NonNull<Slot<K, V>>
    where
        K: DenseKey;
    /// Takes an entry out; `on_moved` is called once for each other entry that changed its bucket, at its new place.
    ///
    /// # Safety
    ///
    /// `at` must be an occupied slot of this table.
    unsafe fn erase(
        &mut self,
        at: NonNull<Slot<K, V>>,
        on_moved: impl FnMut(&K, &mut V),
    ) -> Slot<K, V>
    where
        K: DenseKey;
    /// Takes the entry of a query out; see `erase`.
    #[inline(always)]
    fn take<Q: Lookup<K> + ?Sized>(
        &mut self,
        query: &Q,
        on_moved: impl FnMut(&K, &mut V),
    ) -> Option<Slot<K, V>>
    where
        K: DenseKey,
    {
        let slot = self.find(query)?;
        // SAFETY: the slot was just found in this table.
        Some(unsafe { self.erase(slot, on_moved) })
    }
    /// Removes in one pass every entry for which `keep` is false.
    fn retain(&mut self, keep: impl FnMut(&K, &mut V) -> bool)
    where
        K: DenseKey;
    /// Makes the table one without entries that has kept what allocation the rule of `clear` lets it keep: a table less than a
    /// quarter full and larger than its minimum shrinks. The entries have been moved out or dropped.
    fn reset(&mut self);
    /// Makes room for `additional` more entries.
    fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError>
    where
        K: DenseKey;
    /// Reallocates to the least size that holds the entries and `capacity`; frees the allocation when both are zero.
    fn shrink_to(&mut self, capacity: usize)
    where
        K: DenseKey;
    /// The occupied slots in bucket order.
    fn raw_iter(&self) -> Self::RawIter;
    /// Calls `visit` with every occupied slot, by little code: where something else takes longer than walking.
    fn visit(&self, visit: impl FnMut(NonNull<Slot<K, V>>)) {
        self.raw_iter().for_each(visit);
    }
    /// The bucket index of a slot.
    fn position(&self, slot: NonNull<Slot<K, V>>) -> usize;
    /// The slot at a bucket index, when occupied.
    fn at(&self, position: usize) -> Option<NonNull<Slot<K, V>>>;
    /// The bucket from which buckets can be visited in turn, cyclically, while entries are erased: where erasing moves entries,
    /// they must not move from a bucket visited before to one visited later, or the other way round past the end.
    fn scan_start(&self) -> usize {
        0
    }
    /// Frees the allocation without dropping any entry: they have been moved out.
    fn free_forgetting(self);
    /// The same table again, bucket for bucket.
    fn duplicate(&self) -> Self
    where
        K: DenseKey + Clone,
        V: Clone;

    /// Drops every entry, and leaves the table as it is.
    ///
    /// # Safety
    ///
    /// The entries must be nobody's from now on.
    unsafe fn drop_entries(&self) {
        // SAFETY: the caller vouches for the slots.
        unsafe { drop_all(self.raw_iter()) };
    }

    /// Removes and drops every entry.
    ///
    /// While destructors run the table is already an empty one, so that nothing is dropped twice when one of them panics.
    fn clear(&mut self) {
        if self.bucket_count() == 0 {
            return;
        }
        let mut old = Unowned::<K, V, Self>::new(core::mem::replace(self, Self::EMPTY));
        if core::mem::needs_drop::<Slot<K, V>>() {
            // SAFETY: the table is unowned, so its slots are dropped here and nowhere else.
            unsafe { old.table.drop_entries() };
        }
        old.table.reset();
        *self = old.into_inner();
    }
}

/// A table whose entries belong to somebody else: dropping this frees the allocation only.
pub(crate) struct Unowned<K, V, T: RawTable<K, V>> {
    pub(crate) table: ManuallyDrop<T>,
    entries: core::marker::PhantomData<(K, V)>,
}

impl<K, V, T: RawTable<K, V>> Unowned<K, V, T> {
    pub(crate) fn new(table: T) -> Self {
        Self {
            table: ManuallyDrop::new(table),
            entries: core::marker::PhantomData,
        }
    }

    /// The table, which owns its entries again.
    pub(crate) fn into_inner(self) -> T {
        let mut this = ManuallyDrop::new(self);
        // SAFETY: `this` is not used or dropped again.
        unsafe { ManuallyDrop::take(&mut this.table) }
    }
}

impl<K, V, T: RawTable<K, V>> Drop for Unowned<K, V, T> {
    fn drop(&mut self) {
        // SAFETY: the table is not used again.
        unsafe { ManuallyDrop::take(&mut self.table) }.free_forgetting();
    }
}

/// Drops what an iterator still yields. When a destructor panics the others run all the same; a second panic then aborts, as
/// it does for a vector.
///
/// # Safety
///
/// The slots must be initialised, yielded once each, and neither dropped nor used by anybody else from now on.
pub(crate) unsafe fn drop_all<T>(slots: impl Iterator<Item = NonNull<T>>) {
    struct Rest<I: Iterator<Item = NonNull<T>>, T>(I);

    impl<I: Iterator<Item = NonNull<T>>, T> Drop for Rest<I, T> {
        fn drop(&mut self) {
            for slot in self.0.by_ref() {
                // SAFETY: each slot is initialised, yielded once, and used by nobody else.
                unsafe { slot.drop_in_place() };
            }
        }
    }

    let mut rest = Rest(slots);
    for slot in rest.0.by_ref() {
        // SAFETY: as above.
        unsafe { slot.drop_in_place() };
    }
}
