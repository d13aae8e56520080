//! The new LLVM design: linear probing, Algorithm R deletion, packed used bits beside the buckets.
//!
//! Two bucket states and no lazy marker. Whether a bucket is used is one bit of an array that shares the allocation
//! with the buckets, so every value of the key type is legal, a miss that ends at an unused bucket never loads the
//! bucket, and iteration skips 64 unused buckets with one load. Erasing closes the gap (Knuth, TAOCP volume 3, section
//! 6.4, Algorithm R): entries further along the run move back when their home lies at or before the hole, so an erase
//! invalidates pointers just as an insertion does.
//!
//! Policy: power-of-two buckets, at least 64, load at most 3/4.

use crate::raw::{Found, RawTable, Slot, TryReserveError, Unowned, Vacant, at_most_all, drop_all};
use crate::{DenseKey, Lookup};
use alloc::alloc::{alloc, dealloc};
use core::alloc::Layout;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// Least number of buckets of an allocated table.
pub const MIN_BUCKETS: usize = 64;

crate::raw::aliases!("the linear design");

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

/// The least power of two of which `entries` is at most three quarters.
fn buckets_for(entries: usize) -> Result<usize, TryReserveError> {
    let quarters = entries.checked_mul(4);
    let buckets = quarters.and_then(|quarters| quarters.div_ceil(3).checked_next_power_of_two());
    at_most_all(buckets.map(|buckets| buckets.max(MIN_BUCKETS)))
}

impl<K, V> Table<K, V> {
    fn layout(buckets: usize) -> Result<(Layout, usize), TryReserveError> {
        // 64 slots always end on a multiple of eight bytes, so nothing lies between them and the used bits.
        let align = align_of::<Slot<K, V>>().max(align_of::<u64>());
        Slot::<K, V>::STRIDE
            .checked_mul(buckets)
            .and_then(|slots| Some((slots, slots.checked_add(buckets / 8)?)))
            .and_then(|(slots, bytes)| Some((Layout::from_size_align(bytes, align).ok()?, slots)))
            .ok_or(TryReserveError::CapacityOverflow)
    }

    /// A table without entries whose slots are nobody's.
    fn allocate(buckets: usize) -> Result<Unowned<K, V, Self>, TryReserveError> {
        debug_assert!(buckets.is_power_of_two() && buckets <= 1 << 31);
        let (layout, bits) = Self::layout(buckets)?;
        // SAFETY: the layout is not empty, because it holds at least one word of used bits.
        let base = unsafe { alloc(layout) };
        let Some(base) = NonNull::new(base) else {
            return Err(TryReserveError::AllocError { layout });
        };
        // SAFETY: the words of used bits lie at `bits` within the allocation just made.
        unsafe { base.add(bits).write_bytes(0, buckets / 8) };
        Ok(Unowned::new(Self {
            slots: base.cast(),
            buckets: buckets as u32,
            len: 0,
            owned: PhantomData,
        }))
    }

    #[inline(always)]
    fn mask(&self) -> usize {
        (self.buckets as usize).wrapping_sub(1)
    }

    /// The used bits; only meaningful when there are buckets.
    #[inline(always)]
    fn bits(&self) -> *mut u64 {
        let bytes = self.buckets as usize * Slot::<K, V>::STRIDE;
        self.slots
            .as_ptr()
            .cast::<u8>()
            .wrapping_add(bytes)
            .cast::<u64>()
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
        unsafe { self.slots.byte_add(index * Slot::<K, V>::STRIDE) }
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

    /// Moves the entries to so many buckets. The old table stays as it is until every key has been hashed, so a panic in a hash
    /// loses and doubles nothing.
    #[cold]
    #[inline(never)]
    fn rehash(&mut self, buckets: usize) -> Result<(), TryReserveError>
    where
        K: DenseKey,
    {
        let mut next = Self::allocate(buckets)?;
        for slot in self.raw_iter() {
            // SAFETY: the new table has room for every entry; each is copied once, and the old table is freed below without
            // dropping them.
            unsafe {
                let index = next.table.first_unused(slot.as_ref().key.mix());
                next.table.set_used(index);
                next.table.slot(index).copy_from_nonoverlapping(slot, 1);
            }
        }
        next.table.len = self.len;
        core::mem::swap(self, &mut next.table);
        Ok(())
    }

    /// Frees the allocation without dropping slots.
    fn release(&mut self) {
        if let Ok((layout, _)) = Self::layout(self.buckets as usize)
            && self.buckets != 0
        {
            // SAFETY: the allocation was made with this layout.
            unsafe { dealloc(self.slots.as_ptr().cast(), layout) };
            self.slots = NonNull::dangling();
            self.buckets = 0;
            self.len = 0;
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
        self.slots = unsafe {
            self.first_slot
                .byte_add(word * 64 * Slot::<K, V>::STRIDE)
                .byte_sub(64 * Slot::<K, V>::STRIDE)
        };
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
                self.slots = self.slots.byte_add(64 * Slot::<K, V>::STRIDE);
            }
        }
        let offset = self.pending.trailing_zeros() as usize;
        self.pending &= self.pending - 1;
        // SAFETY: the bit stands for a used bucket.
        Some(unsafe { self.slots.byte_add(offset * Slot::<K, V>::STRIDE) })
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
            buckets => Self::layout(buckets).map_or(0, |(layout, _)| layout.size()),
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
    fn find_or_vacant<Q: Lookup<K> + ?Sized>(&mut self, query: &Q) -> Found<K, V>
    where
        K: DenseKey,
    {
        let hash = query.lookup_mix();
        if self.buckets == 0 {
            return Err(Vacant { hash, index: 0 });
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
        Err(Vacant { hash, index })
    }

    #[inline]
    unsafe fn occupy(&mut self, vacant: Vacant, slot: Slot<K, V>) -> NonNull<Slot<K, V>>
    where
        K: DenseKey,
    {
        let mut index = vacant.index;
        if self.is_full() {
            let buckets = buckets_for(self.len as usize + 1);
            if let Err(error) = buckets.and_then(|buckets| self.rehash(buckets)) {
                error.raise();
            }
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
        let hole = self.position(at);
        // SAFETY: the caller vouches that `at` is occupied; its bit is cleared before anything else can look at it.
        let erased = unsafe {
            self.set_unused(hole);
            at.read()
        };
        self.len -= 1;
        let index = (hole + 1) & self.mask();
        let mut gap = Gap {
            table: self,
            hole,
            index,
            hashing: false,
        };
        while gap.step(&mut on_moved) {}
        erased
    }

    fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool)
    where
        K: DenseKey,
    {
        if self.len == 0 {
            return;
        }
        let mut start = 0;
        // SAFETY: the index is masked, and the load limit leaves an unused bucket.
        while unsafe { self.used(start) } {
            start = (start + 1) & self.mask();
        }
        // Starting after an unused bucket, every run is walked from its first bucket.
        let mut pass = Pass {
            start,
            step: 1,
            removed_in_run: false,
            hashing: false,
            table: self,
        };
        while pass.step <= pass.table.mask() {
            pass.visit(&mut keep);
        }
    }

    fn reset(&mut self) {
        let (len, buckets) = (self.len as usize, self.buckets as usize);
        if len * 4 < buckets && buckets > MIN_BUCKETS {
            self.release();
            if len != 0
                && let buckets = (len.next_power_of_two() * 2).max(MIN_BUCKETS)
                && let Ok(table) = Self::allocate(buckets)
            {
                *self = table.into_inner();
            }
        } else {
            // SAFETY: the used bits of an allocated table are `buckets / 64` words.
            unsafe { self.bits().write_bytes(0, buckets / 64) };
            self.len = 0;
        }
    }

    crate::raw::llvm_methods!();

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

    fn at(&self, position: usize) -> Option<NonNull<Slot<K, V>>> {
        // SAFETY: the index is checked before the bit is read and the slot addressed.
        unsafe {
            (position < self.buckets as usize && self.used(position)).then(|| self.slot(position))
        }
    }

    /// After an unused bucket: what is erased pulls entries back, which can then not come from before the start.
    fn scan_start(&self) -> usize {
        // SAFETY: the index is below the bucket count.
        (0..self.buckets as usize)
            .find(|&index| unsafe { !self.used(index) })
            .unwrap_or(0)
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

/// One pass of `retain`. An entry behind a removal moves to its first unused bucket from home on, which is at the latest its own. A
/// pass that is cut short by a panic goes on without removing, or entries behind the last hole could not be found any more.
struct Pass<'a, K: DenseKey, V> {
    table: &'a mut Table<K, V>,
    start: usize,
    step: usize,
    removed_in_run: bool,
    /// A key is being hashed.
    hashing: bool,
}

impl<K: DenseKey, V> Pass<'_, K, V> {
    fn visit(&mut self, keep: &mut impl FnMut(&K, &mut V) -> bool) {
        let table = &mut *self.table;
        let index = (self.start + self.step) & table.mask();
        self.step += 1;
        // SAFETY: indices are masked; slots are touched only when used.
        unsafe {
            if !table.used(index) {
                self.removed_in_run = false;
                return;
            }
            let mut slot = table.slot(index);
            let Slot { key, value } = slot.as_mut();
            // Should it panic, the entry is visited again.
            self.step -= 1;
            let kept = keep(key, value);
            self.step += 1;
            if !kept {
                table.set_unused(index);
                table.len -= 1;
                self.removed_in_run = true;
                slot.drop_in_place();
            } else if self.removed_in_run {
                self.hashing = true;
                let hash = slot.as_ref().key.mix();
                self.hashing = false;
                table.set_unused(index);
                let target = table.first_unused(hash);
                table.set_used(target);
                if target != index {
                    table.slot(target).copy_from_nonoverlapping(slot, 1);
                }
            }
        }
    }
}

impl<K: DenseKey, V> Drop for Pass<'_, K, V> {
    fn drop(&mut self) {
        // Were hashes to panic, doing it again would abort.
        while !self.hashing && self.removed_in_run && self.step <= self.table.mask() {
            self.visit(&mut |_, _| true);
        }
    }
}

/// The hole that an erasure leaves, on its way to the end of the run. When a callback panics, the rest of the way is gone without
/// one, or entries behind the hole could not be found any more.
struct Gap<'a, K: DenseKey, V> {
    table: &'a mut Table<K, V>,
    hole: usize,
    /// The next bucket to look at.
    index: usize,
    /// A key is being hashed.
    hashing: bool,
}

impl<K: DenseKey, V> Gap<'_, K, V> {
    /// Looks at one bucket; whether the run goes on.
    #[inline(always)]
    fn step(&mut self, on_moved: &mut impl FnMut(&K, &mut V)) -> bool {
        let mask = self.table.mask();
        let (hole, index) = (self.hole, self.index);
        // SAFETY: indices are masked, used slots are initialised, and the load limit leaves an unused bucket to stop at.
        unsafe {
            if !self.table.used(index) {
                return false;
            }
            let candidate = self.table.slot(index);
            self.hashing = true;
            let home = candidate.as_ref().key.mix() as usize & mask;
            self.hashing = false;
            self.index = (index + 1) & mask;
            // It moves into the hole when its home is not cyclically inside (hole, index]: the distance from home to index is
            // then at least that from hole to index.
            if index.wrapping_sub(home) & mask >= index.wrapping_sub(hole) & mask {
                let mut target = self.table.slot(hole);
                target.copy_from_nonoverlapping(candidate, 1);
                // The bits are right before the callback runs.
                self.table.set_used(hole);
                self.table.set_unused(index);
                self.hole = index;
                let Slot { key, value } = target.as_mut();
                on_moved(key, value);
            }
            true
        }
    }
}

impl<K: DenseKey, V> Drop for Gap<'_, K, V> {
    #[inline(always)]
    fn drop(&mut self) {
        // Were hashes to panic, doing it again would abort. After a regular end there is nothing left to do.
        while !self.hashing && self.step(&mut |_, _| ()) {}
    }
}
