//! The classic open-addressed table: triangular probing, two reserved keys, tombstones.
//!
//! A lookup starts at `hash & mask` and steps by 1, 2, 3, …, which visits every bucket of a power of two before any twice.
//! Erasing overwrites the key with the tombstone, so nothing ever moves; the price is that tombstones lengthen probes until
//! a rehash. An insertion that would fill the table to three quarters doubles it; one that would leave an eighth or fewer of
//! the buckets truly empty rehashes it at its size. At least 64 buckets.
//!
//! A key type without values to spare gets a byte of state per bucket instead of sentinels.

use crate::raw::{RawTable, Slot, Vacant};
use crate::{DenseKey, Lookup};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::NonNull;

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

/// The table.
pub struct Table<K: DenseKey, V> {
    /// First bucket; every bucket's key is initialised when the key type has sentinels. State bytes follow when not.
    slots: NonNull<Slot<K, V>>,
    buckets: u32,
    len: u32,
    tombstones: u32,
    owned: PhantomData<Slot<K, V>>,
}

// SAFETY: the table owns its slots exclusively, like a `Vec` of them.
unsafe impl<K: DenseKey + Send, V: Send> Send for Table<K, V> {}
// SAFETY: shared access only reads the slots, like a `Vec` of them.
unsafe impl<K: DenseKey + Sync, V: Sync> Sync for Table<K, V> {}

/// LLVM's bucket count for a number of entries: the power of two above four thirds of it.
fn buckets_for(entries: usize) -> usize {
    (entries * 4 / 3 + 2).next_power_of_two().max(MIN_BUCKETS)
}

impl<K: DenseKey, V> Table<K, V> {
    fn layout(buckets: usize) -> (Layout, usize) {
        let slots = Layout::array::<Slot<K, V>>(buckets).expect("table too large");
        let states = if K::classic_sentinels().is_some() {
            0
        } else {
            buckets
        };
        let states = Layout::array::<u8>(states).expect("table too large");
        slots.extend(states).expect("table too large")
    }

    fn allocate(buckets: usize) -> Self {
        assert!(
            buckets.is_power_of_two() && buckets <= 1 << 31,
            "table too large"
        );
        let (layout, _) = Self::layout(buckets);
        let mut table = Self {
            buckets: buckets as u32,
            ..Self::EMPTY
        };
        // SAFETY: the layout is not empty: it has keys with two values to spare, or states.
        let Some(base) = NonNull::new(unsafe { alloc(layout) }) else {
            handle_alloc_error(layout)
        };
        table.slots = base.cast();
        table.mark_all_empty();
        table
    }

    #[inline(always)]
    fn mask(&self) -> usize {
        self.buckets as usize - 1
    }

    #[inline(always)]
    unsafe fn slot(&self, index: usize) -> NonNull<Slot<K, V>> {
        // SAFETY: the caller gives an index below the bucket count.
        unsafe { self.slots.add(index) }
    }

    /// The key of a bucket, whatever its state; only for key types with sentinels.
    #[inline(always)]
    unsafe fn key(&self, index: usize) -> &K {
        // SAFETY: the caller gives an index below the bucket count, and all keys are initialised.
        unsafe { &(*self.slot(index).as_ptr()).key }
    }

    /// The state byte of a bucket; only for key types without sentinels.
    #[inline(always)]
    fn state_byte(&self, index: usize) -> *mut u8 {
        let states = self.slots.as_ptr().wrapping_add(self.buckets as usize);
        states.cast::<u8>().wrapping_add(index)
    }

    #[inline(always)]
    unsafe fn state(&self, index: usize) -> State {
        // SAFETY: the caller gives an index below the bucket count.
        unsafe {
            match K::classic_sentinels() {
                Some([empty, tombstone]) => {
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
                Some([_, tombstone]) => {
                    (&raw mut (*self.slot(index).as_ptr()).key).write(tombstone)
                }
                None => *self.state_byte(index) = TOMBSTONE_STATE,
            }
        }
        self.tombstones += 1;
    }

    fn mark_all_empty(&mut self) {
        for index in 0..self.buckets as usize {
            // SAFETY: the index is below the bucket count. Keys with sentinels have no destructor worth running.
            unsafe {
                match K::classic_sentinels() {
                    Some([empty, _]) => (&raw mut (*self.slot(index).as_ptr()).key).write(empty),
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

    #[cold]
    #[inline(never)]
    fn rehash(&mut self, buckets: usize) {
        let mut next = Self::allocate(buckets);
        for slot in self.raw_iter() {
            // SAFETY: the new table has room for every entry; each is copied once and the old table is then freed without
            // dropping them.
            unsafe {
                let (place, _) = next.probe(&slot.as_ref().key);
                let index = place.expect_err("keys are distinct");
                next.slot(index).copy_from_nonoverlapping(slot, 1);
                if K::classic_sentinels().is_none() {
                    *next.state_byte(index) = USED_STATE;
                }
            }
        }
        next.len = self.len;
        self.len = 0;
        self.release();
        std::mem::swap(self, &mut next);
    }

    fn release(&mut self) {
        if self.buckets != 0 {
            let (layout, _) = Self::layout(self.buckets as usize);
            // SAFETY: the allocation was made with this layout.
            unsafe { dealloc(self.slots.as_ptr().cast(), layout) };
            self.slots = NonNull::dangling();
            self.buckets = 0;
            self.tombstones = 0;
        }
    }

    fn drop_slots(&mut self) {
        if std::mem::needs_drop::<Slot<K, V>>() {
            for slot in self.raw_iter() {
                // SAFETY: the iterator yields each used slot once, and the caller forgets them afterwards.
                unsafe { slot.drop_in_place() };
            }
        }
        self.len = 0;
    }
}

impl<K: DenseKey, V> Drop for Table<K, V> {
    fn drop(&mut self) {
        self.drop_slots();
        self.release();
    }
}

/// Iterator over the used buckets, one key at a time.
pub struct RawIter<K: DenseKey, V> {
    /// The table's header, without ownership.
    table: std::mem::ManuallyDrop<Table<K, V>>,
    next: usize,
}

impl<K: DenseKey, V> RawIter<K, V> {
    fn view(&self) -> std::mem::ManuallyDrop<Table<K, V>> {
        std::mem::ManuallyDrop::new(Table {
            slots: self.table.slots,
            buckets: self.table.buckets,
            len: self.table.len,
            tombstones: self.table.tombstones,
            owned: PhantomData,
        })
    }
}

impl<K: DenseKey, V> Clone for RawIter<K, V> {
    fn clone(&self) -> Self {
        Self {
            table: self.view(),
            next: self.next,
        }
    }
}

impl<K: DenseKey, V> Iterator for RawIter<K, V> {
    type Item = NonNull<Slot<K, V>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.next < self.table.buckets as usize {
            let index = self.next;
            self.next += 1;
            // SAFETY: the index is below the bucket count.
            unsafe {
                if self.table.state(index) == State::Used {
                    return Some(self.table.slot(index));
                }
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = (self.next..self.table.buckets as usize)
            // SAFETY: the index is below the bucket count.
            .filter(|&index| unsafe { self.table.state(index) } == State::Used)
            .count();
        (left, Some(left))
    }
}

// SAFETY: pointers handed out come from buckets in the used state, whose slot is initialised.
unsafe impl<K: DenseKey, V> RawTable<K, V> for Table<K, V> {
    const EMPTY: Self = Self {
        slots: NonNull::dangling(),
        buckets: 0,
        len: 0,
        tombstones: 0,
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
            buckets => Self::layout(buckets).0.size(),
        }
    }

    #[inline]
    fn find<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> Option<NonNull<Slot<K, V>>> {
        if self.buckets == 0 {
            return None;
        }
        // SAFETY: the probe returns an index below the bucket count.
        self.probe(query)
            .0
            .ok()
            .map(|index| unsafe { self.slot(index) })
    }

    fn probes<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> usize {
        match self.buckets {
            0 => 0,
            _ => self.probe(query).1,
        }
    }

    #[inline]
    fn find_or_vacant<Q: Lookup<K> + ?Sized>(
        &mut self,
        query: &Q,
    ) -> Result<NonNull<Slot<K, V>>, Vacant> {
        let hash = u64::from(query.lookup_classic_hash());
        if self.buckets == 0 {
            return Err(Vacant {
                hash,
                index: 0,
                form: 0,
            });
        }
        match self.probe(query).0 {
            // SAFETY: the probe returns an index below the bucket count.
            Ok(index) => Ok(unsafe { self.slot(index) }),
            Err(index) => Err(Vacant {
                hash,
                index,
                form: 0,
            }),
        }
    }

    #[inline]
    unsafe fn occupy(&mut self, vacant: Vacant, slot: Slot<K, V>) -> NonNull<Slot<K, V>> {
        if let Some([empty, tombstone]) = K::classic_sentinels() {
            assert!(
                slot.key != empty && slot.key != tombstone,
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
            self.rehash(grown);
            index = self.probe(&slot.key).0.expect_err("the key is not present");
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
    ) -> Slot<K, V> {
        let index = self.position(at);
        self.len -= 1;
        // SAFETY: the caller vouches that the slot is used; it is marked before anything can look.
        unsafe {
            let erased = at.read();
            self.mark_erased(index);
            erased
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
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

    fn clear(&mut self) {
        if self.len == 0 && self.tombstones == 0 {
            return;
        }
        let (len, buckets) = (self.len as usize, self.buckets as usize);
        self.drop_slots();
        if len * 4 < buckets && buckets > MIN_BUCKETS {
            self.release();
            if len != 0 {
                *self = Self::allocate((len.next_power_of_two() * 2).max(MIN_BUCKETS));
            }
        } else {
            self.mark_all_empty();
        }
    }

    fn reserve(&mut self, additional: usize) {
        let buckets = buckets_for(self.len as usize + additional);
        if additional != 0 && buckets > self.buckets as usize {
            self.rehash(buckets);
        }
    }

    fn shrink_to_fit(&mut self) {
        if self.len == 0 {
            self.release();
        } else if buckets_for(self.len as usize) < self.buckets as usize {
            self.rehash(buckets_for(self.len as usize));
        }
    }

    fn raw_iter(&self) -> RawIter<K, V> {
        let table = Table {
            slots: self.slots,
            buckets: self.buckets,
            len: self.len,
            tombstones: self.tombstones,
            owned: PhantomData,
        };
        RawIter {
            table: std::mem::ManuallyDrop::new(table),
            next: 0,
        }
    }

    #[inline]
    fn position(&self, slot: NonNull<Slot<K, V>>) -> usize {
        if size_of::<Slot<K, V>>() == 0 {
            // Keys of a zero-sized type are all equal, so there is one entry.
            return (0..self.buckets as usize)
                // SAFETY: the index is below the bucket count.
                .find(|&index| unsafe { self.state(index) } == State::Used)
                .unwrap_or(0);
        }
        // SAFETY: `slot` points into this table's buckets.
        unsafe { slot.offset_from_unsigned(self.slots) }
    }

    fn at(&self, position: usize) -> Option<NonNull<Slot<K, V>>> {
        // SAFETY: the index is checked first.
        unsafe {
            (position < self.buckets as usize && self.state(position) == State::Used)
                .then(|| self.slot(position))
        }
    }

    fn free_forgetting(mut self) {
        self.len = 0;
        self.release();
        std::mem::forget(self);
    }

    fn duplicate(&self) -> Self
    where
        K: Clone,
        V: Clone,
    {
        if self.len == 0 {
            return Self::EMPTY;
        }
        let mut copy = Self::allocate(self.buckets as usize);
        for index in 0..self.buckets as usize {
            // SAFETY: the copy has the same buckets; a bucket becomes used only after its slot's clone succeeded.
            unsafe {
                match self.state(index) {
                    State::Empty => (),
                    State::Tombstone => copy.mark_erased(index),
                    State::Used => {
                        copy.slot(index).write(self.slot(index).as_ref().clone());
                        if K::classic_sentinels().is_none() {
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

impl<K: DenseKey, V> Table<K, V> {
    /// Number of erased buckets that still lengthen probes.
    pub fn tombstones(&self) -> usize {
        self.tombstones as usize
    }
}
