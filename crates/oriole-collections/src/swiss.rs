//! The swiss design, which is the default: sixteen one-byte tags compared at once, and small tables that grow without hashing.
//!
//! One allocation holds the slots and then a tag byte for each bucket. A tag is eight bits of the key's hash, or one of two values
//! that mean "unused" and "erased". Power-of-two buckets, at least four.
//!
//! **Four or sixteen buckets** are one window, in which every key is at home: a lookup compares all tags at once. They fill to 4 and 15
//! entries, which keep their buckets when the table grows from one to the other, so that growing is a plain copy.
//!
//! **From 64 buckets on** a key's home is the low bits of its hash, and its window the sixteen buckets from there on; the first
//! sixteen tags are repeated at the end so that a window may start anywhere. Lookups examine the window at home, then those 16,
//! 48, 96, … buckets on, until one holds the key or has an unused bucket. Load at most 7/8.
//!
//! **Erasing** moves nothing. As long as every entry lies in its first window, an erased bucket is simply unused again. Once one had to
//! go to a later window, lookups rely on every window *before* the one an entry lies in having no unused bucket: a
//! bucket that is part of a full window then gets an erased mark, which lookups pass over and insertions fill. Such marks count
//! towards the load until a rehash takes them away.
//!
//! **Keys chosen to collide.** An insertion that meets far more windows and false matches than chance would allow makes the table draw
//! a secret (`secret.rs`) and hash everything anew with [`DenseKey::mix_keyed`], or, where erased marks are many, only rids it of
//! them. Which keys a table has, and how it answers, does not depend on the secret; its iteration order does.
//!
//! **What it costs in code.** Lookups inline the first window only. Later windows are a call, and all that does not depend on the
//! entries' types is there once for all tables (`header.rs`).

mod header;
mod iter;

use iter::Compact;
pub use iter::RawIter;

use crate::group::{Narrow, UNUSED, WIDTH, fetch, tag_of};
use crate::raw::{Found, RawTable, Slot, TryReserveError, Unowned, Vacant, drop_all};
use crate::{DenseKey, Lookup};
use core::marker::PhantomData;
use core::ptr::NonNull;
use header::{Crowd, Header, MOVED, Shape};

crate::raw::aliases!("the swiss design");

/// The table: 32 bytes.
pub struct Table<K, V> {
    header: Header,
    owned: PhantomData<Slot<K, V>>,
}

// SAFETY: the table owns its slots exclusively, like a `Vec` of them.
unsafe impl<K: Send, V: Send> Send for Table<K, V> {}
// SAFETY: shared access only reads the slots, like a `Vec` of them.
unsafe impl<K: Sync, V: Sync> Sync for Table<K, V> {}

/// Hashes a key, by a secret unless that is zero.
///
/// # Safety
///
/// The pointer must be to a key or to a slot that begins with one.
unsafe fn hash_slot<K: DenseKey>(key: *const u8, secret: u64) -> u64 {
    // SAFETY: the caller vouches for the key.
    let key = unsafe { &*key.cast::<K>() };
    match secret {
        0 => key.mix(),
        secret => key.mix_keyed(secret),
    }
}

impl<K, V> Table<K, V> {
    const SHAPE: Shape = Shape {
        stride: Slot::<K, V>::STRIDE,
        align: align_of::<Slot<K, V>>(),
    };

    /// # Safety
    ///
    /// The index must be below the number of buckets.
    #[inline(always)]
    unsafe fn slot(&self, index: usize) -> NonNull<Slot<K, V>> {
        debug_assert!(index < self.header.buckets());
        // SAFETY: the slots lie before the tags, the first one last.
        unsafe {
            self.header
                .tags
                .sub((index + 1) * Slot::<K, V>::STRIDE)
                .cast()
        }
    }

    #[inline(always)]
    fn hash_of<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> u64 {
        match self.header.secret() {
            Some(secret) => Self::hash_keyed(query, secret),
            None => query.lookup_mix(),
        }
    }

    #[cold]
    #[inline(never)]
    fn hash_keyed<Q: Lookup<K> + ?Sized>(query: &Q, secret: u64) -> u64 {
        query.lookup_keyed(secret)
    }

    /// The bucket of a query, where that is in its first window; else whether that window is full.
    #[inline(always)]
    fn find_first<Q: Lookup<K> + ?Sized>(&self, query: &Q, hash: u64) -> Result<usize, bool> {
        let home = hash as usize & self.header.home_mask as usize;
        // SAFETY: home is masked; a bucket whose tag matches is used.
        unsafe {
            let group = self.header.window(home);
            let mut matching = group.matching(Narrow::of(hash));
            while matching != 0 {
                let index = home + matching.trailing_zeros() as usize;
                let index = index & self.header.mask as usize;
                if query.matches(&self.slot(index).as_ref().key) {
                    return Ok(index);
                }
                crate::cold();
                matching &= matching - 1;
            }
            Err(group.unused() == 0)
        }
    }

    /// The entry of a query that is not in its first window, which is full.
    #[cold]
    #[inline(never)]
    fn find_later<Q: Lookup<K> + ?Sized>(
        &self,
        query: &Q,
        hash: u64,
    ) -> Option<NonNull<Slot<K, V>>> {
        self.search(query, hash, WIDTH, &mut Crowd::default()).ok()
    }

    /// As `find_later`, and takes the entry out.
    #[cold]
    #[inline(never)]
    fn take_later<Q: Lookup<K> + ?Sized>(&mut self, query: &Q, hash: u64) -> Option<Slot<K, V>> {
        let slot = self.find_later(query, hash)?;
        // SAFETY: the bucket was just found.
        Some(unsafe { self.take_at(self.position(slot)) })
    }

    /// Takes the entry of a bucket out.
    ///
    /// # Safety
    ///
    /// The bucket must be used.
    #[inline(always)]
    unsafe fn take_at(&mut self, index: usize) -> Slot<K, V> {
        // SAFETY: the caller vouches that the bucket is used; it is free before anybody can look.
        unsafe {
            let erased = self.slot(index).read();
            self.header.erase(index);
            erased
        }
    }

    /// As `find_later`, with the place for one that is missing, or [`MOVED`] where the search took too long and entries were
    /// moved.
    ///
    /// Returned in two registers: a larger answer would lie in memory, also where this is not called.
    #[cold]
    #[inline(never)]
    fn find_later_or_vacant<Q: Lookup<K> + ?Sized>(
        &mut self,
        query: &Q,
        hash: u64,
    ) -> (Option<NonNull<Slot<K, V>>>, usize)
    where
        K: DenseKey,
    {
        let mut crowd = Crowd::default();
        match self.search(query, hash, 0, &mut crowd) {
            Ok(slot) => (Some(slot), 0),
            Err(index) => {
                let header = &mut self.header;
                // SAFETY: shape and hash are those of the slots.
                let index =
                    unsafe { header.relieve(crowd, Self::SHAPE, hash_slot::<K>, hash, index) };
                (None, index)
            }
        }
    }

    /// The entry of a query, or the bucket where one would go, from the first window on or from a later one.
    #[inline(always)]
    fn search<Q: Lookup<K> + ?Sized>(
        &self,
        query: &Q,
        hash: u64,
        mut step: usize,
        crowd: &mut Crowd,
    ) -> Result<NonNull<Slot<K, V>>, usize> {
        let wanted = Narrow::of(hash);
        let (mask, home_mask) = (self.header.mask as usize, self.header.home_mask as usize);
        let mut position = (hash as usize).wrapping_add(step) & home_mask;
        let mut vacant = None;
        loop {
            // SAFETY: the position is masked; a bucket whose tag matches is used; the load limit leaves an unused tag.
            unsafe {
                let group = self.header.window(position);
                let mut matching = group.matching(wanted);
                crowd.meet();
                while matching != 0 {
                    crowd.meet();
                    let slot = self.slot((position + matching.trailing_zeros() as usize) & mask);
                    if query.matches(&slot.as_ref().key) {
                        return Ok(slot);
                    }
                    matching &= matching - 1;
                }
                let free = group.free();
                if free != 0 {
                    let first = (position + free.trailing_zeros() as usize) & mask;
                    let index = *vacant.get_or_insert(first);
                    if group.unused() != 0 {
                        return Err(index);
                    }
                }
            }
            step += WIDTH;
            position = (position + step) & home_mask;
        }
    }

    #[cold]
    #[inline(never)]
    fn drop_slots(&mut self) {
        let table = core::mem::replace(self, Self::EMPTY);
        let old = Unowned::<K, V, Self>::new(table);
        // SAFETY: the table is unowned, so its slots are dropped here and nowhere else.
        unsafe { old.table.drop_entries() };
    }
}

impl<K, V> Drop for Table<K, V> {
    #[inline]
    fn drop(&mut self) {
        if self.header.mask != 0 {
            if core::mem::needs_drop::<Slot<K, V>>() {
                self.drop_slots();
            } else {
                // SAFETY: the shape is that of the slots.
                unsafe { self.header.free(Self::SHAPE) };
            }
        }
    }
}

// SAFETY: pointers handed out come from used buckets, whose tags are set only where a slot was written, and cleared before a slot
// is moved out or dropped. No user code runs in between.
unsafe impl<K, V> RawTable<K, V> for Table<K, V> {
    const EMPTY: Self = Self {
        header: Header::EMPTY,
        owned: PhantomData,
    };
    const NAME: &'static str = "swiss";
    type RawIter = RawIter<K, V>;

    #[inline(always)]
    fn len(&self) -> usize {
        self.header.len as usize
    }

    #[inline(always)]
    fn bucket_count(&self) -> usize {
        self.header.buckets()
    }

    fn capacity(&self) -> usize {
        self.header.capacity()
    }

    fn allocated_bytes(&self) -> usize {
        self.header.allocated_bytes(Self::SHAPE)
    }

    #[inline]
    fn find<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> Option<NonNull<Slot<K, V>>>
    where
        K: DenseKey,
    {
        if self.header.len == 0 {
            // Nearly nine tenths of the misses of real runs are in tables without an entry: one comparison, and no hash.
            return None;
        }
        let hash = self.hash_of(query);
        match self.find_first(query, hash) {
            // SAFETY: the bucket was just found.
            Ok(index) => Some(unsafe { self.slot(index) }),
            Err(true) => self.find_later(query, hash),
            Err(false) => None,
        }
    }

    fn probes<Q: Lookup<K> + ?Sized>(&self, query: &Q) -> usize
    where
        K: DenseKey,
    {
        if self.len() == 0 {
            return 0;
        }
        let hash = self.hash_of(query);
        let home_mask = self.header.home_mask as usize;
        let found = self.find(query).map(|slot| self.position(slot));
        let (mut position, mut step) = (hash as usize & home_mask, 0);
        loop {
            let holds = found.is_some_and(|index| index.wrapping_sub(position) & home_mask < WIDTH);
            // SAFETY: the position is masked.
            if holds || unsafe { self.header.window(position) }.unused() != 0 {
                return step / WIDTH + 1;
            }
            step += WIDTH;
            position = (position + step) & home_mask;
        }
    }

    #[inline]
    fn find_or_vacant<Q: Lookup<K> + ?Sized>(&mut self, query: &Q) -> Found<K, V>
    where
        K: DenseKey,
    {
        loop {
            let hash = self.hash_of(query);
            let mask = self.header.mask as usize;
            let home = hash as usize & self.header.home_mask as usize;
            // The entry will most likely be here or next to here.
            fetch(
                self.header
                    .tags
                    .as_ptr()
                    .wrapping_sub((home + 1) * Slot::<K, V>::STRIDE),
            );
            // SAFETY: home is masked; a bucket whose tag matches is used.
            let index = unsafe {
                let group = self.header.window(home);
                let mut matching = group.matching(Narrow::of(hash));
                while matching != 0 {
                    let slot = self.slot((home + matching.trailing_zeros() as usize) & mask);
                    if query.matches(&slot.as_ref().key) {
                        return Ok(slot);
                    }
                    matching &= matching - 1;
                }
                // Erased buckets before the unused one are left to insertions that find no unused one.
                let unused = group.unused();
                if unused == 0 {
                    match self.find_later_or_vacant(query, hash) {
                        (Some(slot), _) => return Ok(slot),
                        // There may be a secret now.
                        (None, MOVED) => continue,
                        (None, index) => index,
                    }
                } else {
                    (home + unused.trailing_zeros() as usize) & mask
                }
            };
            return Err(Vacant { hash, index });
        }
    }

    #[inline]
    unsafe fn occupy(&mut self, vacant: Vacant, slot: Slot<K, V>) -> NonNull<Slot<K, V>>
    where
        K: DenseKey,
    {
        let Vacant { hash, mut index } = vacant;
        // SAFETY: the caller vouches for the vacancy; where there is room it is a free bucket. Hashing keys, which may panic, is
        // done before anything of this table changes.
        unsafe {
            if self.header.left == 0 {
                index = self.header.make_room(Self::SHAPE, hash_slot::<K>, hash);
            }
            let at = self.slot(index);
            self.header.left -= u32::from(self.header.tag(index) == UNUSED);
            self.header.set_tag(index, tag_of(hash));
            self.header.len += 1;
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
        // SAFETY: the caller vouches that the bucket is used.
        unsafe { self.take_at(self.position(at)) }
    }

    #[inline]
    fn take<Q: Lookup<K> + ?Sized>(
        &mut self,
        query: &Q,
        _on_moved: impl FnMut(&K, &mut V),
    ) -> Option<Slot<K, V>>
    where
        K: DenseKey,
    {
        if self.header.len == 0 {
            return None;
        }
        let hash = self.hash_of(query);
        match self.find_first(query, hash) {
            // SAFETY: the bucket was just found.
            Ok(index) => Some(unsafe { self.take_at(index) }),
            Err(true) => self.take_later(query, hash),
            Err(false) => None,
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool)
    where
        K: DenseKey,
    {
        for mut slot in Compact::<K, V>::new(&self.header) {
            // SAFETY: the iterator yields each used slot once and looks at no tag that changes again. A slot that goes is free before it is
            // dropped, so a panic in its destructor leaves the table whole.
            unsafe {
                let Slot { key, value } = slot.as_mut();
                if !keep(key, value) {
                    self.header.erase(self.position(slot));
                    slot.drop_in_place();
                }
            }
        }
    }

    fn reset(&mut self) {
        // SAFETY: the shape is that of the slots.
        unsafe { self.header.reset(Self::SHAPE) };
    }

    fn try_reserve(&mut self, additional: usize) -> Result<(), TryReserveError>
    where
        K: DenseKey,
    {
        // SAFETY: shape and hash are those of the slots.
        unsafe { self.header.reserve(Self::SHAPE, hash_slot::<K>, additional) }
    }

    fn shrink_to(&mut self, capacity: usize)
    where
        K: DenseKey,
    {
        // SAFETY: shape and hash are those of the slots.
        unsafe {
            self.header.shrink_to(Self::SHAPE, hash_slot::<K>, capacity);
        }
    }

    #[inline]
    fn raw_iter(&self) -> RawIter<K, V> {
        RawIter::new(&self.header)
    }

    fn visit(&self, visit: impl FnMut(NonNull<Slot<K, V>>)) {
        Compact::<K, V>::new(&self.header).for_each(visit);
    }

    unsafe fn drop_entries(&self) {
        // SAFETY: the caller vouches for the slots.
        unsafe { drop_all(Compact::<K, V>::new(&self.header)) };
    }

    #[inline]
    fn position(&self, slot: NonNull<Slot<K, V>>) -> usize {
        // SAFETY: `slot` points at one of this table's slots, which end at the tags.
        let bytes = unsafe { self.header.tags.offset_from_unsigned(slot.cast()) };
        bytes / Slot::<K, V>::STRIDE - 1
    }

    fn at(&self, position: usize) -> Option<NonNull<Slot<K, V>>> {
        self.header.is_used(position).then(|| {
            // SAFETY: the bucket is used, so it exists.
            unsafe { self.slot(position) }
        })
    }

    fn free_forgetting(self) {
        let mut this = core::mem::ManuallyDrop::new(self);
        // SAFETY: the shape is that of the slots.
        unsafe { this.header.free(Self::SHAPE) };
    }

    fn duplicate(&self) -> Self
    where
        K: DenseKey + Clone,
        V: Clone,
    {
        if self.len() == 0 {
            return Self::EMPTY;
        }
        let mut copy = Self {
            header: self.header.like(Self::SHAPE),
            owned: PhantomData,
        };
        for slot in Compact::<K, V>::new(&self.header) {
            let index = self.position(slot);
            // SAFETY: the copy has the same buckets; a bucket becomes used only after its slot's clone succeeded, so that a
            // clone that panics leaves nothing to drop that is not there.
            unsafe {
                copy.slot(index).write(slot.as_ref().clone());
                copy.header.set_tag(index, self.header.tag(index));
            }
            copy.header.left -= 1;
            copy.header.len += 1;
        }
        copy
    }
}
