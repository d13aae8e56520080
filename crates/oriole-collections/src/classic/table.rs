//! The classic open-addressed table: triangular probing, two reserved keys, tombstones.
//!
//! A lookup starts at `hash & mask` and steps by 1, 2, 3, …, which visits every bucket of a power of two before any twice.
//! Erasing overwrites the key with the tombstone, so nothing ever moves; the price is that tombstones lengthen probes until
//! a rehash. An insertion that would fill the table to three quarters doubles it; one that would leave an eighth or fewer of
//! the buckets truly empty rehashes it at its size. At least 64 buckets.
//!
//! A key type without values to spare gets a byte of state per bucket instead of sentinels. So does every type of whose `==` the
//! table knows nothing: only `unsafe` code can offer [`Sentinels`](crate::key::Sentinels), and everything else may lie.

use crate::key::Sentinels;
use crate::raw::{Found, RawTable, Slot, TryReserveError, Unowned, Vacant, at_most_all, drop_all};
use crate::{DenseKey, Lookup};
use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::mem::ManuallyDrop;
use core::ptr::NonNull;

/// Least number of buckets of an allocated table.
pub const MIN_BUCKETS: usize = 64;

/// State bytes of key types without sentinels.
const EMPTY_STATE: u8 = 0;
const TOMBSTONE_STATE: u8 = 1;
const USED_STATE: u8 = 2;

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Empty,
    Tombstone,
    Used,
}

/// What a table can be asked where nothing is known of its keys.
#[derive(Clone, Copy)]
enum Request {
    /// The first used bucket at or after one, or the number of buckets.
    NextUsed(usize),
    /// To make every bucket empty without dropping anything.
    MarkAllEmpty,
    /// Whether there are state bytes.
    HasStates,
}

/// Answers a request to the table at an address; chosen with the allocation, when the keys are known. The table's type is left
/// out so that a table of keys that live long is one of keys that live shorter.
type Manage = unsafe fn(*mut (), Request) -> usize;

/// The table.
pub struct Table<K, V> {
    /// First bucket; every bucket's key is initialised when the key type has sentinels. State bytes follow when not.
    slots: NonNull<Slot<K, V>>,
    buckets: u32,
    len: u32,
    tombstones: u32,
    manage: Manage,
    owned: PhantomData<Slot<K, V>>,
}

// SAFETY: the table owns its slots exclusively, like a `Vec` of them.
unsafe impl<K: Send, V: Send> Send for Table<K, V> {}
// SAFETY: shared access only reads the slots, like a `Vec` of them.
unsafe impl<K: Sync, V: Sync> Sync for Table<K, V> {}

/// LLVM's bucket count for a number of entries: the power of two above four thirds of it.
fn buckets_for(entries: usize) -> Result<usize, TryReserveError> {
    let quarters = entries.checked_mul(4);
    let buckets = quarters.and_then(|quarters| (quarters / 3 + 2).checked_next_power_of_two());
    at_most_all(buckets.map(|buckets| buckets.max(MIN_BUCKETS)))
}

impl<K, V> Table<K, V> {
    /// The allocation for so many buckets, with a state byte each or without.
    fn layout(buckets: usize, states: bool) -> Result<Layout, TryReserveError> {
        let each = Slot::<K, V>::STRIDE + usize::from(states);
        each.checked_mul(buckets)
            .and_then(|bytes| Layout::from_size_align(bytes, align_of::<Slot<K, V>>()).ok())
            .ok_or(TryReserveError::CapacityOverflow)
    }

    /// The state byte of a bucket; only for key types without sentinels.
    #[inline(always)]
    fn state_byte(&self, index: usize) -> *mut u8 {
        let bytes = self.buckets as usize * Slot::<K, V>::STRIDE;
        let slots = self.slots.as_ptr().cast::<u8>();
        slots.wrapping_add(bytes + index)
    }

    #[inline(always)]
    unsafe fn slot(&self, index: usize) -> NonNull<Slot<K, V>> {
        // SAFETY: the caller gives an index below the bucket count.
        unsafe { self.slots.byte_add(index * Slot::<K, V>::STRIDE) }
    }

    /// The answer to every request where there are no buckets.
    ///
    /// # Safety
    ///
    /// There must be no buckets.
    unsafe fn manage_none(_: *mut (), _: Request) -> usize {
        0
    }

    /// A second header of the same table, which must not be dropped.
    fn view(&self) -> ManuallyDrop<Self> {
        ManuallyDrop::new(Self { ..*self })
    }

    fn ask(&mut self, request: Request) -> usize {
        // SAFETY: the function was chosen for this table's keys when it was allocated.
        unsafe { (self.manage)((&raw mut *self).cast(), request) }
    }

    fn release(&mut self) {
        let states = self.ask(Request::HasStates) != 0;
        if let Ok(layout) = Self::layout(self.buckets as usize, states)
            && self.buckets != 0
        {
            // SAFETY: the allocation was made with this layout.
            unsafe { dealloc(self.slots.as_ptr().cast(), layout) };
            core::mem::forget(core::mem::replace(self, Self::EMPTY));
        }
    }
}

impl<K, V> Drop for Table<K, V> {
    fn drop(&mut self) {
        let table = core::mem::replace(self, Self::EMPTY);
        let old = Unowned::<K, V, Self>::new(table);
        if core::mem::needs_drop::<Slot<K, V>>() {
            // SAFETY: the table is unowned, so its slots are dropped here and nowhere else.
            unsafe { drop_all(old.table.raw_iter()) };
        }
    }
}

/// Iterator over the used buckets, one key at a time.
pub struct RawIter<K, V> {
    /// The table's header, without ownership.
    table: ManuallyDrop<Table<K, V>>,
    next: usize,
}

impl<K, V> Clone for RawIter<K, V> {
    fn clone(&self) -> Self {
        Self {
            table: self.table.view(),
            next: self.next,
        }
    }
}

impl<K, V> Iterator for RawIter<K, V> {
    type Item = NonNull<Slot<K, V>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let index = self.table.ask(Request::NextUsed(self.next));
        if index >= self.table.buckets as usize {
            return None;
        }
        self.next = index + 1;
        // SAFETY: the index is below the bucket count.
        Some(unsafe { self.table.slot(index) })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let mut rest = self.clone();
        let mut left = 0;
        while rest.next().is_some() {
            left += 1;
        }
        (left, Some(left))
    }
}

impl<K: DenseKey, V> Table<K, V> {
    /// Answers requests.
    ///
    /// # Safety
    ///
    /// The address must be that of a table that was allocated for such keys.
    unsafe fn manage(table: *mut (), request: Request) -> usize {
        // SAFETY: the caller vouches for the table.
        let table = unsafe { &mut *table.cast::<Self>() };
        match request {
            Request::NextUsed(mut index) => {
                // SAFETY: the index is below the bucket count.
                while index < table.buckets as usize && unsafe { table.state(index) } != State::Used
                {
                    index += 1;
                }
                index
            }
            Request::MarkAllEmpty => {
                table.mark_all_empty();
                0
            }
            Request::HasStates => K::classic_sentinels().is_none().into(),
        }
    }

    /// A table without entries whose slots are nobody's.
    fn allocate(buckets: usize) -> Result<Unowned<K, V, Self>, TryReserveError> {
        debug_assert!(buckets.is_power_of_two() && buckets <= 1 << 31);
        let layout = Self::layout(buckets, K::classic_sentinels().is_none())?;
        // SAFETY: the layout is not empty: slots have a stride.
        let Some(base) = NonNull::new(unsafe { alloc(layout) }) else {
            return Err(TryReserveError::AllocError { layout });
        };
        let mut table = Unowned::new(Self {
            slots: base.cast(),
            buckets: buckets as u32,
            manage: Self::manage,
            ..Self::EMPTY
        });
        table.table.mark_all_empty();
        Ok(table)
    }

    #[inline(always)]
    fn mask(&self) -> usize {
        self.buckets as usize - 1
    }

    /// The key of a bucket, whatever its state; only for key types with sentinels.
    #[inline(always)]
    unsafe fn key(&self, index: usize) -> &K {
        // SAFETY: the caller gives an index below the bucket count, and all keys are initialised.
        unsafe { &(*self.slot(index).as_ptr()).key }
    }

    #[inline(always)]
    unsafe fn state(&self, index: usize) -> State {
        // SAFETY: the caller gives an index below the bucket count.
        unsafe {
            match K::classic_sentinels() {
                Some(Sentinels {
                    empty,
                    erased: tombstone,
                }) => {
                    let key = self.key(index);
                    if *key == empty {
                        State::Empty
                    } else if *key == tombstone {
                        State::Tombstone
                    } else {
                        State::Used
                    }
                }
                None => match *self.state_byte(index) {
                    EMPTY_STATE => State::Empty,
                    TOMBSTONE_STATE => State::Tombstone,
                    _ => State::Used,
                },
            }
        }
    }

    /// Marks a bucket whose contents were moved out or dropped.
    #[inline(always)]
    unsafe fn mark_erased(&mut self, index: usize) {
        // SAFETY: the caller gives an index below the bucket count.
        unsafe {
            match K::classic_sentinels() {
                Some(Sentinels { erased, .. }) => {
                    (&raw mut (*self.slot(index).as_ptr()).key).write(erased);
                }
                None => *self.state_byte(index) = TOMBSTONE_STATE,
            }
        }
        self.tombstones += 1;
    }

    fn mark_all_empty(&mut self) {
        for index in 0..self.buckets as usize {
            // SAFETY: the index is below the bucket count. Keys with sentinels have no destructor.
            unsafe {
                match K::classic_sentinels() {
                    Some(Sentinels { empty, .. }) => {
                        (&raw mut (*self.slot(index).as_ptr()).key).write(empty)
                    }
                    None => *self.state_byte(index) = EMPTY_STATE,
                }
            }
        }
        self.tombstones = 0;
    }

    /// The bucket of a key, or else the first tombstone or empty bucket on its way, with the number of buckets inspected.
    #[inline]
    fn probe<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> (Result<usize, usize>, usize) {
        let mask = self.mask();
        let mut index = query.lookup_classic_hash() as usize & mask;
        let mut step = 1;
        let mut vacant = None;
        loop {
            // SAFETY: the index is masked; a key is looked at only where it is initialised. The growth rule leaves an empty
            // bucket, and triangular steps reach it.
            unsafe {
                if K::classic_sentinels().is_some() {
                    if query.matches(self.key(index)) && self.state(index) == State::Used {
                        return (Ok(index), step);
                    }
                    match self.state(index) {
                        State::Used => (),
                        State::Empty => return (Err(vacant.unwrap_or(index)), step),
                        State::Tombstone => {
                            vacant.get_or_insert(index);
                        }
                    }
                } else {
                    match self.state(index) {
                        State::Used if query.matches(&self.slot(index).as_ref().key) => {
                            return (Ok(index), step);
                        }
                        State::Used => (),
                        State::Empty => return (Err(vacant.unwrap_or(index)), step),
                        State::Tombstone => {
                            vacant.get_or_insert(index);
                        }
                    }
                }
            }
            index = (index + step) & mask;
            step += 1;
        }
    }

    /// The first bucket on the way of a hash that is not used; there must be one.
    #[inline]
    unsafe fn first_vacant(&self, hash: u64) -> usize {
        let mask = self.mask();
        let mut index = hash as usize & mask;
        let mut step = 1;
        // SAFETY: the index is masked.
        while unsafe { self.state(index) } == State::Used {
            index = (index + step) & mask;
            step += 1;
        }
        index
    }

    /// Moves the entries to so many buckets. Keys are only hashed, not compared, and the old table stays as it is until all have
    /// been, so a panic in a hash loses and doubles nothing.
    #[cold]
    #[inline(never)]
    fn rehash(&mut self, buckets: usize) -> Result<(), TryReserveError> {
        let mut next = Self::allocate(buckets)?;
        for slot in self.raw_iter() {
            // SAFETY: the new table has room for every entry; each is copied once, and the old table is freed below without
            // dropping them.
            unsafe {
                let hash = slot.as_ref().key.classic_hash();
                let index = next.table.first_vacant(hash.into());
                next.table.slot(index).copy_from_nonoverlapping(slot, 1);
                if K::classic_sentinels().is_none() {
                    *next.table.state_byte(index) = USED_STATE;
                }
            }
        }
        next.table.len = self.len;
        core::mem::swap(self, &mut next.table);
        Ok(())
    }
}

// SAFETY: pointers handed out come from buckets in the used state, whose slot is initialised.
unsafe impl<K, V> RawTable<K, V> for Table<K, V> {
    const EMPTY: Self = Self {
        slots: NonNull::dangling(),
        buckets: 0,
        len: 0,
        tombstones: 0,
        manage: Self::manage_none,
        owned: PhantomData,
    };
    const NAME: &'static str = "classic";
    type RawIter = RawIter<K, V>;

    #[inline(always)]
    fn len(&self) -> usize {
        self.len as usize
    }

    fn bucket_count(&self) -> usize {
        self.buckets as usize
    }

    fn capacity(&self) -> usize {
        // The last insertion that does not double: 4 * (n + 1) < 3 * buckets.
        (self.buckets as usize * 3 / 4).saturating_sub(1)
    }

    fn allocated_bytes(&self) -> usize {
        match self.buckets as usize {
            0 => 0,
            buckets => {
                let states = self.view().ask(Request::HasStates) != 0;
                Self::layout(buckets, states).map_or(0, |layout| layout.size())
            }
        }
    }

    #[inline]
    fn find<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> Option<NonNull<Slot<K, V>>>
    where
        K: DenseKey,
    {
        if self.buckets == 0 {
            return None;
        }
        // SAFETY: the probe returns an index below the bucket count.
        self.probe(query)
            .0
            .ok()
            .map(|index| unsafe { self.slot(index) })
    }

    fn probes<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> usize
    where
        K: DenseKey,
    {
        match self.buckets {
            0 => 0,
            _ => self.probe(query).1,
        }
    }

    #[inline]
    fn find_or_vacant<Q: Lookup<K> + ?Sized>(&mut self, query: &Q) -> Found<K, V>
    where
        K: DenseKey,
    {
        let hash = u64::from(query.lookup_classic_hash());
        if self.buckets == 0 {
            return Err(Vacant { hash, index: 0 });
        }
        match self.probe(query).0 {
            // SAFETY: the probe returns an index below the bucket count.
            Ok(index) => Ok(unsafe { self.slot(index) }),
            Err(index) => Err(Vacant { hash, index }),
        }
    }

    #[inline]
    unsafe fn occupy(&mut self, vacant: Vacant, slot: Slot<K, V>) -> NonNull<Slot<K, V>>
    where
        K: DenseKey,
    {
        if let Some(Sentinels { empty, erased }) = K::classic_sentinels() {
            assert!(
                slot.key != empty && slot.key != erased,
                "the classic tables reserve this key"
            );
        }
        let (len, buckets) = (self.len as usize, self.buckets as usize);
        let mut index = vacant.index;
        let grown = if 4 * (len + 1) >= 3 * buckets {
            (buckets * 2).max(MIN_BUCKETS)
        } else if buckets - (len + 1 + self.tombstones as usize) <= buckets / 8 {
            buckets
        } else {
            0
        };
        if grown != 0 {
            let grown = match grown > 1 << 31 {
                true => Err(TryReserveError::CapacityOverflow),
                false => self.rehash(grown),
            };
            if let Err(error) = grown {
                error.raise();
            }
            // SAFETY: the table has just grown or lost its tombstones, so it has an empty bucket.
            index = unsafe { self.first_vacant(vacant.hash) };
        }
        self.len += 1;
        // SAFETY: the index is the one where the probe for this key ended.
        unsafe {
            if self.state(index) == State::Tombstone {
                self.tombstones -= 1;
            }
            if K::classic_sentinels().is_none() {
                *self.state_byte(index) = USED_STATE;
            }
            let at = self.slot(index);
            at.write(slot);
            at
        }
    }

    #[inline]
    unsafe fn erase(
        &mut self,
        at: NonNull<Slot<K, V>>,
        _on_moved: impl FnMut(&K, &mut V),
    ) -> Slot<K, V>
    where
        K: DenseKey,
    {
        let index = self.position(at);
        self.len -= 1;
        // SAFETY: the caller vouches that the slot is used; it is marked before anything can look.
        unsafe {
            let erased = at.read();
            self.mark_erased(index);
            erased
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool)
    where
        K: DenseKey,
    {
        for mut slot in self.raw_iter() {
            // SAFETY: the iterator yields each used slot once; what it has passed may change.
            unsafe {
                let Slot { key, value } = slot.as_mut();
                if !keep(key, value) {
                    drop(self.erase(slot, |_, _| ()));
                }
            }
        }
    }

    fn reset(&mut self) {
        let (len, buckets) = (self.len as usize, self.buckets as usize);
        if buckets == 0 || len == 0 && self.tombstones == 0 {
            return;
        }
        if len * 4 < buckets && buckets > MIN_BUCKETS {
            // As many buckets as LLVM keeps, in a new allocation of the same kind.
            let states = self.ask(Request::HasStates) != 0;
            let manage = self.manage;
            self.release();
            let buckets = (len.next_power_of_two() * 2).max(MIN_BUCKETS);
            if len != 0
                && let Ok(layout) = Self::layout(buckets, states)
                // SAFETY: the layout is not empty: slots have a stride.
                && let Some(base) = NonNull::new(unsafe { alloc(layout) })
            {
                self.slots = base.cast();
                self.buckets = buckets as u32;
                self.manage = manage;
                self.ask(Request::MarkAllEmpty);
            }
        } else {
            self.len = 0;
            self.ask(Request::MarkAllEmpty);
        }
    }

    crate::raw::llvm_methods!();

    fn raw_iter(&self) -> RawIter<K, V> {
        RawIter {
            table: self.view(),
            next: 0,
        }
    }

    fn at(&self, position: usize) -> Option<NonNull<Slot<K, V>>> {
        let used = position < self.buckets as usize
            && self.view().ask(Request::NextUsed(position)) == position;
        // SAFETY: the index was checked.
        used.then(|| unsafe { self.slot(position) })
    }

    fn duplicate(&self) -> Self
    where
        K: DenseKey + Clone,
        V: Clone,
    {
        if self.len == 0 {
            return Self::EMPTY;
        }
        let mut copy = match Self::allocate(self.buckets as usize) {
            Ok(copy) => copy.into_inner(),
            Err(error) => error.raise(),
        };
        for index in 0..self.buckets as usize {
            // SAFETY: the copy has the same buckets; a bucket becomes used only after its slot's clone succeeded. Where the key is
            // what marks it so, it is written as it is rather than as its clone, of which the table knows nothing.
            unsafe {
                match self.state(index) {
                    State::Empty => (),
                    State::Tombstone => copy.mark_erased(index),
                    State::Used => {
                        let slot = self.slot(index);
                        if K::classic_sentinels().is_some() {
                            let value = slot.as_ref().value.clone();
                            let key = (&raw const (*slot.as_ptr()).key).read();
                            copy.slot(index).write(Slot { key, value });
                        } else {
                            copy.slot(index).write(slot.as_ref().clone());
                            *copy.state_byte(index) = USED_STATE;
                        }
                        copy.len += 1;
                    }
                }
            }
        }
        copy
    }
}

impl<K, V> Table<K, V> {
    /// Number of erased buckets that still lengthen probes.
    pub fn tombstones(&self) -> usize {
        self.tombstones as usize
    }
}
