//! The new LLVM design: linear probing, Algorithm R deletion, packed used bits beside the buckets.
//!
//! Two bucket states and no lazy marker. Whether a bucket is used is one bit of an array that shares the allocation
//! with the buckets, so every value of the key type is legal, a miss that ends at an unused bucket never loads the
//! bucket, and iteration skips 64 unused buckets with one load. Erasing closes the gap (Knuth, TAOCP volume 3, section
//! 6.4, Algorithm R): entries further along the run move back when their home lies at or before the hole, so an erase
//! invalidates pointers just as an insertion does.
//!
//! Policy: power-of-two buckets, at least 64, load at most 3/4.

use crate::raw::{RawTable, Slot, Vacant};
use crate::{DenseKey, Lookup};
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Least number of buckets of an allocated table.
pub const MIN_BUCKETS: usize = 64;

/// A map of the new LLVM design.
pub type DenseMap<K, V> = crate::map::Map<K, V, Table<K, V>>;
/// A set of the new LLVM design.
pub type DenseSet<K> = crate::set::Set<K, Table<K, ()>>;
/// A map with room for `N` entries inside itself, then of the new LLVM design.
pub type SmallDenseMap<K, V, const N: usize> = crate::small::SmallMap<K, V, N, Table<K, V>>;
/// A set of pointers with room for `N` inside itself, then of the new LLVM design.
pub type SmallPtrSet<T, const N: usize> =
    crate::small::PtrSet<T, N, Table<crate::small::Pointer<T>, ()>>;

/// The table.
pub struct Table<K, V> {
    /// First bucket; the used bits follow the last one. Dangling while `buckets` is zero.
    slots: NonNull<Slot<K, V>>,
    buckets: u32,
    len: u32,
    owned: PhantomData<Slot<K, V>>,
}

// SAFETY: the table owns its slots exclusively, like a `Vec` of them.
unsafe impl<K: Send, V: Send> Send for Table<K, V> {}
// SAFETY: shared access only reads the slots, like a `Vec` of them.
unsafe impl<K: Sync, V: Sync> Sync for Table<K, V> {}

fn buckets_for(entries: usize) -> usize {
    // The least power of two of which `entries` is at most three quarters.
    (entries * 4)
        .div_ceil(3)
        .next_power_of_two()
        .max(MIN_BUCKETS)
}

impl<K, V> Table<K, V> {
    fn layout(buckets: usize) -> (Layout, usize) {
        let slots = Layout::array::<Slot<K, V>>(buckets).expect("table too large");
        let bits = Layout::array::<u64>(buckets / 64).expect("table too large");
        slots.extend(bits).expect("table too large")
    }

    fn allocate(buckets: usize) -> Self {
        assert!(
            buckets.is_power_of_two() && buckets <= 1 << 31,
            "table too large"
        );
        let (layout, bits) = Self::layout(buckets);
        // SAFETY: the layout is not empty, because it holds at least one word of used bits.
        let base = unsafe { alloc(layout) };
        let Some(base) = NonNull::new(base) else {
            handle_alloc_error(layout)
        };
        // SAFETY: the words of used bits lie at `bits` within the allocation just made.
        unsafe { base.add(bits).write_bytes(0, buckets / 8) };
        Self {
            slots: base.cast(),
            buckets: buckets as u32,
            len: 0,
            owned: PhantomData,
        }
    }

    #[inline(always)]
    fn mask(&self) -> usize {
        (self.buckets as usize).wrapping_sub(1)
    }

    /// The used bits; only meaningful when there are buckets.
    #[inline(always)]
    fn bits(&self) -> *mut u64 {
        let end = self.slots.as_ptr().wrapping_add(self.buckets as usize) as *mut u8;
        // Where slots are less aligned than words, 64 buckets still end on a multiple of eight bytes.
        end as *mut u64
    }

    #[inline(always)]
    unsafe fn used(&self, index: usize) -> bool {
        debug_assert!(index < self.buckets as usize);
        // SAFETY: the caller gives an index below the bucket count, so the word exists.
        unsafe { *self.bits().add(index / 64) >> (index % 64) & 1 != 0 }
    }

    #[inline(always)]
    unsafe fn set_used(&mut self, index: usize) {
        // SAFETY: as for `used`.
        unsafe { *self.bits().add(index / 64) |= 1 << (index % 64) }
    }

    #[inline(always)]
    unsafe fn set_unused(&mut self, index: usize) {
        // SAFETY: as for `used`.
        unsafe { *self.bits().add(index / 64) &= !(1 << (index % 64)) }
    }

    #[inline(always)]
    unsafe fn slot(&self, index: usize) -> NonNull<Slot<K, V>> {
        // SAFETY: the caller gives an index below the bucket count.
        unsafe { self.slots.add(index) }
    }

    /// First unused bucket at or after the home of `hash`. There must be one.
    #[inline]
    unsafe fn first_unused(&self, hash: u64) -> usize {
        let mask = self.mask();
        let mut index = hash as usize & mask;
        // SAFETY: `index` is masked, and the load limit leaves an unused bucket to stop at.
        while unsafe { self.used(index) } {
            index = (index + 1) & mask;
        }
        index
    }

    #[inline(always)]
    fn is_full(&self) -> bool {
        (self.len as usize + 1) * 4 > self.buckets as usize * 3
    }

    #[cold]
    #[inline(never)]
    fn rehash(&mut self, buckets: usize)
    where
        K: DenseKey,
    {
        let mut next = Self::allocate(buckets);
        for slot in self.raw_iter() {
            // SAFETY: the new table has room for every entry; each slot is read once and the old table forgets them
            // all before it is dropped.
            unsafe {
                let index = next.first_unused(slot.as_ref().key.mix());
                next.set_used(index);
                next.slot(index).write(slot.read());
            }
        }
        next.len = self.len;
        self.len = 0;
        self.release();
        std::mem::swap(self, &mut next);
        // `next` now holds the old, already released table; its drop finds no buckets.
    }

    /// Frees the allocation without dropping slots.
    fn release(&mut self) {
        if self.buckets != 0 {
            let (layout, _) = Self::layout(self.buckets as usize);
            // SAFETY: the allocation was made with this layout.
            unsafe { dealloc(self.slots.as_ptr().cast(), layout) };
            self.slots = NonNull::dangling();
            self.buckets = 0;
        }
    }

    fn drop_slots(&mut self) {
        if std::mem::needs_drop::<Slot<K, V>>() {
            for slot in self.raw_iter() {
                // SAFETY: the iterator yields each occupied slot once, and the caller forgets them afterwards.
                unsafe { slot.drop_in_place() };
            }
        }
        self.len = 0;
    }
}

impl<K, V> Drop for Table<K, V> {
    fn drop(&mut self) {
        self.drop_slots();
        self.release();
    }
}

/// Words of used bits per chunk.
const CHUNK_WORDS: usize = 16;

/// The order in which an iterator visits the chunks of a table.
#[derive(Clone, Copy)]
struct Chunks {
    /// Chunks after this one.
    left: usize,
    chunk: usize,
    /// The table's number of chunks, less one.
    mask: usize,
}

impl Chunks {
    /// For a table of so many words of used bits, a power of two or none.
    #[inline]
    fn of(words: usize) -> Self {
        let chunks = (words / CHUNK_WORDS).max(1);
        Self {
            left: chunks - 1,
            chunk: 0,
            mask: chunks - 1,
        }
    }

    /// The first word of the next chunk. Out of line, with nothing but itself passed by reference, so that the rest of an
    /// iterator can stay in registers.
    #[cold]
    #[inline(never)]
    fn next_word(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        // An odd stride reaches every chunk.
        let stride = ((self.mask + 1) * 5 / 8) | 1;
        self.chunk = (self.chunk + stride) & self.mask;
        Some(self.chunk * CHUNK_WORDS)
    }
}

/// Iterator over the used buckets, 64 used bits at a time.
///
/// Words come in chunks, and chunks are not visited in their order but by a stride of about 0.6 of them all. Inserting the
/// entries of one table into another in iteration order would otherwise fill the other from one end, twice over where it has
/// fewer buckets, and probes would have to walk out of the crowd: time quadratic in the size.
pub struct RawIter<K, V> {
    /// The slot that the lowest bit of `pending` stands for.
    slots: NonNull<Slot<K, V>>,
    pending: u64,
    /// The next word of used bits, and the end of the chunk's.
    bits: *const u64,
    end: *const u64,
    chunks: Chunks,
    first_slot: NonNull<Slot<K, V>>,
    first_word: *const u64,
}

impl<K, V> RawIter<K, V> {
    /// Goes to the next chunk; whether there is one.
    #[inline(always)]
    fn next_chunk(&mut self) -> bool {
        let Some(word) = self.chunks.next_word() else {
            return false;
        };
        self.bits = self.first_word.wrapping_add(word);
        self.end = self.bits.wrapping_add(CHUNK_WORDS);
        // SAFETY: the chunk lies within the table. The slots are those of the word before, as `next` expects.
        self.slots = unsafe { self.first_slot.add(word * 64).sub(64) };
        true
    }
}

impl<K, V> Clone for RawIter<K, V> {
    fn clone(&self) -> Self {
        Self { ..*self }
    }
}

impl<K, V> Iterator for RawIter<K, V> {
    type Item = NonNull<Slot<K, V>>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while self.pending == 0 {
            if self.bits == self.end && !self.next_chunk() {
                return None;
            }
            // SAFETY: a word lies before the end of the chunk; it describes the 64 buckets after those of the last one.
            unsafe {
                self.pending = *self.bits;
                self.bits = self.bits.add(1);
                self.slots = self.slots.add(64);
            }
        }
        let offset = self.pending.trailing_zeros() as usize;
        self.pending &= self.pending - 1;
        // SAFETY: the bit stands for a used bucket.
        Some(unsafe { self.slots.add(offset) })
    }

    /// Counted from the bits, so that stepping need not count.
    fn size_hint(&self) -> (usize, Option<usize>) {
        let mut left = self.pending.count_ones() as usize;
        let mut rest = self.clone();
        loop {
            while rest.bits != rest.end {
                // SAFETY: as in `next`.
                unsafe {
                    left += (*rest.bits).count_ones() as usize;
                    rest.bits = rest.bits.add(1);
                }
            }
            if !rest.next_chunk() {
                return (left, Some(left));
            }
        }
    }
}

// SAFETY: pointers handed out come from buckets whose used bit is set, which is exactly when the slot is initialised.
unsafe impl<K, V> RawTable<K, V> for Table<K, V> {
    const EMPTY: Self = Self {
        slots: NonNull::dangling(),
        buckets: 0,
        len: 0,
        owned: PhantomData,
    };
    const NAME: &'static str = "linear";
    type RawIter = RawIter<K, V>;

    #[inline(always)]
    fn len(&self) -> usize {
        self.len as usize
    }

    #[inline(always)]
    fn bucket_count(&self) -> usize {
        self.buckets as usize
    }

    fn capacity(&self) -> usize {
        self.buckets as usize / 4 * 3
    }

    fn allocated_bytes(&self) -> usize {
        match self.buckets as usize {
            0 => 0,
            buckets => Self::layout(buckets).0.size(),
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
        let mask = self.mask();
        let mut index = query.lookup_mix() as usize & mask;
        // SAFETY: `index` is masked; a slot is read only when its bit says it is initialised; the load limit leaves an
        // unused bucket to stop at.
        unsafe {
            while self.used(index) {
                let slot = self.slot(index);
                if query.matches(&slot.as_ref().key) {
                    return Some(slot);
                }
                index = (index + 1) & mask;
            }
        }
        None
    }

    fn probes<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> usize
    where
        K: DenseKey,
    {
        if self.buckets == 0 {
            return 0;
        }
        let home = query.lookup_mix() as usize & self.mask();
        let end = match self.find(query) {
            Some(slot) => self.position(slot),
            // SAFETY: there are buckets, and one of them is unused.
            None => unsafe { self.first_unused(home as u64) },
        };
        (end.wrapping_sub(home) & self.mask()) + 1
    }

    #[inline]
    fn find_or_vacant<Q: Lookup<K> + ?Sized>(
        &mut self,
        query: &Q,
    ) -> Result<NonNull<Slot<K, V>>, Vacant>
    where
        K: DenseKey,
    {
        let hash = query.lookup_mix();
        if self.buckets == 0 {
            return Err(Vacant {
                hash,
                index: 0,
                form: 0,
            });
        }
        let mask = self.mask();
        let mut index = hash as usize & mask;
        // SAFETY: as in `find`.
        unsafe {
            while self.used(index) {
                let slot = self.slot(index);
                if query.matches(&slot.as_ref().key) {
                    return Ok(slot);
                }
                index = (index + 1) & mask;
            }
        }
        Err(Vacant {
            hash,
            index,
            form: 0,
        })
    }

    #[inline]
    unsafe fn occupy(&mut self, vacant: Vacant, slot: Slot<K, V>) -> NonNull<Slot<K, V>>
    where
        K: DenseKey,
    {
        let mut index = vacant.index;
        if self.is_full() {
            self.rehash(buckets_for(self.len as usize + 1));
            // SAFETY: the table has just grown, so it has an unused bucket.
            index = unsafe { self.first_unused(vacant.hash) };
        }
        self.len += 1;
        // SAFETY: the caller vouches that `index` is the unused bucket where the probe for this key ended.
        unsafe {
            self.set_used(index);
            let at = self.slot(index);
            at.write(slot);
            at
        }
    }

    #[inline]
    unsafe fn erase(
        &mut self,
        at: NonNull<Slot<K, V>>,
        mut on_moved: impl FnMut(&K, &mut V),
    ) -> Slot<K, V>
    where
        K: DenseKey,
    {
        let mask = self.mask();
        let mut hole = self.position(at);
        // SAFETY: the caller vouches that `at` is occupied; its bit is cleared before anything else can look at it.
        let erased = unsafe {
            self.set_unused(hole);
            at.read()
        };
        self.len -= 1;
        let mut index = (hole + 1) & mask;
        // SAFETY: `index` is masked, used slots are initialised, and the load limit leaves an unused bucket to stop at.
        // An entry moves into the hole when its home is not cyclically inside (hole, index]: the distance from home to
        // index is then at least the distance from hole to index.
        unsafe {
            while self.used(index) {
                let candidate = self.slot(index);
                let home = candidate.as_ref().key.mix() as usize & mask;
                if index.wrapping_sub(home) & mask >= index.wrapping_sub(hole) & mask {
                    let mut target = self.slot(hole);
                    target.write(candidate.read());
                    // The bits are right before the callback runs, so a panic in it leaks and doubles nothing.
                    self.set_used(hole);
                    self.set_unused(index);
                    hole = index;
                    let Slot { key, value } = target.as_mut();
                    on_moved(key, value);
                }
                index = (index + 1) & mask;
            }
        }
        erased
    }

    fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool)
    where
        K: DenseKey,
    {
        if self.len == 0 {
            return;
        }
        let mask = self.mask();
        // SAFETY: indices are masked; slots are touched only when used. Starting after an unused bucket, every run is
        // walked from its first bucket, so an entry behind a removal can be put at its first unused bucket from home on,
        // which is at the latest its own.
        unsafe {
            let mut start = 0;
            while self.used(start) {
                start = (start + 1) & mask;
            }
            let mut removed_in_run = false;
            for step in 1..=mask {
                let index = (start + step) & mask;
                if !self.used(index) {
                    removed_in_run = false;
                    continue;
                }
                let mut slot = self.slot(index);
                let Slot { key, value } = slot.as_mut();
                if !keep(key, value) {
                    self.set_unused(index);
                    self.len -= 1;
                    removed_in_run = true;
                    slot.drop_in_place();
                } else if removed_in_run {
                    let hash = slot.as_ref().key.mix();
                    self.set_unused(index);
                    let target = self.first_unused(hash);
                    self.set_used(target);
                    if target != index {
                        self.slot(target).write(slot.read());
                    }
                }
            }
        }
    }

    fn clear(&mut self) {
        if self.buckets == 0 {
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
            // SAFETY: the used bits of an allocated table are `buckets / 64` words.
            unsafe { self.bits().write_bytes(0, buckets / 64) };
        }
    }

    fn reserve(&mut self, additional: usize)
    where
        K: DenseKey,
    {
        let buckets = buckets_for(self.len as usize + additional);
        if additional != 0 && buckets > self.buckets as usize {
            self.rehash(buckets);
        }
    }

    fn shrink_to_fit(&mut self)
    where
        K: DenseKey,
    {
        if self.len == 0 {
            self.release();
        } else if buckets_for(self.len as usize) < self.buckets as usize {
            self.rehash(buckets_for(self.len as usize));
        }
    }

    #[inline]
    fn raw_iter(&self) -> RawIter<K, V> {
        let bits = self.bits().cast_const();
        let words = self.buckets as usize / 64;
        RawIter {
            slots: self.slots,
            // SAFETY: a table with buckets has a first word of used bits.
            pending: if words == 0 { 0 } else { unsafe { *bits } },
            bits: bits.wrapping_add(words.min(1)),
            end: bits.wrapping_add(words.min(CHUNK_WORDS)),
            chunks: Chunks::of(words),
            first_slot: self.slots,
            first_word: bits,
        }
    }

    #[inline]
    fn position(&self, slot: NonNull<Slot<K, V>>) -> usize {
        if size_of::<Slot<K, V>>() == 0 {
            return self.raw_iter_index();
        }
        // SAFETY: `slot` points into this table's buckets.
        unsafe { slot.offset_from_unsigned(self.slots) }
    }

    fn at(&self, position: usize) -> Option<NonNull<Slot<K, V>>> {
        // SAFETY: the index is checked before the bit is read and the slot addressed.
        unsafe {
            (position < self.buckets as usize && self.used(position)).then(|| self.slot(position))
        }
    }

    fn free_forgetting(mut self) {
        self.len = 0;
        self.release();
    }

    fn duplicate(&self) -> Self
    where
        K: DenseKey + Clone,
        V: Clone,
    {
        if self.len == 0 {
            return Self::EMPTY;
        }
        let mut copy = Self::allocate(self.buckets as usize);
        for slot in self.raw_iter() {
            let index = self.position(slot);
            // SAFETY: the copy has the same buckets; its bit is set only after the clone succeeded.
            unsafe {
                copy.slot(index).write(slot.as_ref().clone());
                copy.set_used(index);
            }
            copy.len += 1;
        }
        copy
    }
}

impl<K, V> Table<K, V> {
    /// The only bucket in use when slots have no size: keys of a zero-sized type are all equal.
    fn raw_iter_index(&self) -> usize {
        (0..self.buckets as usize)
            // SAFETY: the index is below the bucket count.
            .find(|&index| unsafe { self.used(index) })
            .unwrap_or(0)
    }
}
