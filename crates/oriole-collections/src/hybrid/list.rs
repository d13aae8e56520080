//! The list form of the hybrid design: entries one after the other, found by comparing all wide tags at once.
//!
//! Lists of more than sixteen slots have the rest of their tags behind the slots.

use super::{LIST_MAX, Table, cold};
use crate::Lookup;
use crate::group::{Wide, WideTags, move_tag};
use crate::raw::Slot;
use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::ptr::NonNull;

/// Slots of the longest list with all tags in the table's header.
pub(super) const SHORT_MAX: usize = 16;

/// What lies behind the slots of the longest list.
struct Behind<K, V>(std::marker::PhantomData<(K, V)>);

impl<K, V> Behind<K, V> {
    const TAGS_AT: usize =
        (LIST_MAX * size_of::<Slot<K, V>>()).next_multiple_of(align_of::<WideTags>());
    /// Groups of eight tags.
    const GROUPS: usize = (LIST_MAX - SHORT_MAX).div_ceil(8);
    const LAYOUT: Layout = tagged_layout::<K, V>(Self::TAGS_AT, Self::GROUPS);
}

/// The allocation of so many bytes for slots and so many groups of wide tags after them.
pub(super) const fn tagged_layout<K, V>(tags_at: usize, groups: usize) -> Layout {
    let (slot, tags) = (align_of::<Slot<K, V>>(), align_of::<WideTags>());
    let bytes = tags_at + groups * size_of::<WideTags>();
    match Layout::from_size_align(bytes, if slot > tags { slot } else { tags }) {
        Ok(layout) => layout,
        Err(_) => panic!("slot too large"),
    }
}

impl<K, V> Table<K, V> {
    /// Slots of the two shortest lists: four and eight, and those that fit where another table has a byte for each of its
    /// buckets and sixteen more.
    const FIRST: usize = Self::slots_in(4, 4 + 16, 8);
    const SECOND: usize = Self::slots_in(8, 8 + 16, SHORT_MAX - 1);

    /// As many slots as `slots` and so many bytes take, at most `most`.
    const fn slots_in(slots: usize, bytes: usize, most: usize) -> usize {
        let more = match size_of::<Slot<K, V>>() {
            0 => 0,
            size => bytes / size,
        };
        if slots + more < most {
            slots + more
        } else {
            most
        }
    }

    /// Slots of a list for so many entries.
    pub(super) const fn list_slots(entries: usize) -> usize {
        if entries == 0 {
            0
        } else if entries <= Self::FIRST {
            Self::FIRST
        } else if entries <= Self::SECOND {
            Self::SECOND
        } else if entries <= SHORT_MAX {
            SHORT_MAX
        } else {
            LIST_MAX
        }
    }

    /// The allocation of a list.
    #[inline(always)]
    pub(super) const fn list_layout(slots: usize) -> Layout {
        match slots {
            0..=SHORT_MAX => {
                let slot = Layout::new::<Slot<K, V>>();
                // SAFETY: the alignment is that of a type, the size that of at most sixteen of its values, which
                // `Behind::LAYOUT` finds possible for more of them.
                unsafe { Layout::from_size_align_unchecked(slots * slot.size(), slot.align()) }
            }
            _ => Behind::<K, V>::LAYOUT,
        }
    }

    /// # Safety
    ///
    /// The offset must be within the allocation.
    #[inline(always)]
    pub(super) unsafe fn behind<T>(&self, at: usize) -> *mut T {
        // SAFETY: the caller vouches for the offset.
        unsafe { self.slots.as_ptr().cast::<u8>().add(at).cast() }
    }

    /// The entry that a list of at most sixteen slots has for a query.
    #[inline(always)]
    pub(super) fn find_in_short_list<Q: Lookup<K> + ?Sized>(
        &self,
        query: &Q,
        hash: u64,
    ) -> Option<NonNull<Slot<K, V>>> {
        debug_assert!(self.buckets as usize <= SHORT_MAX);
        let wanted = Wide::of(hash);
        // SAFETY: the table is a list, so these are its tags.
        unsafe {
            let tags = &self.tags.list;
            if self.len <= 8 {
                return self.entry_among(wanted.pairs(&tags[0]).into(), 2, query);
            }
            self.entry_among(wanted.among(tags).bits().into(), 1, query)
        }
    }

    /// The entry that a list of more than sixteen slots has for a query.
    #[inline(always)]
    pub(super) fn find_in_long_list<Q: Lookup<K> + ?Sized>(
        &self,
        query: &Q,
        hash: u64,
    ) -> Option<NonNull<Slot<K, V>>> {
        debug_assert!(self.is_list() && self.buckets as usize > SHORT_MAX);
        let wanted = Wide::of(hash);
        // SAFETY: the table is such a list, so the later tags lie behind its slots.
        unsafe {
            let later =
                self.behind::<[WideTags; Behind::<(), ()>::GROUPS]>(Behind::<K, V>::TAGS_AT);
            let matching = u64::from(wanted.among(&self.tags.list).bits())
                | u64::from(wanted.among(&*later).bits()) << 16;
            self.entry_among(matching, 1, query)
        }
    }

    /// The first of a list's entries at these positions, of which each has so many bits, that the query matches.
    #[inline(always)]
    unsafe fn entry_among<Q: Lookup<K> + ?Sized>(
        &self,
        positions: u64,
        bits: usize,
        query: &Q,
    ) -> Option<NonNull<Slot<K, V>>> {
        if positions == 0 {
            return None;
        }
        let index = positions.trailing_zeros() as usize / bits;
        // The tag of a slot without an entry is zero, as that of a key may be; such slots are behind those with one.
        if index >= self.len as usize {
            cold();
            return None;
        }
        // SAFETY: the caller knows the table to be a list, whose slots below `len` are entries.
        let slot = unsafe { self.slot(index) };
        // SAFETY: as above.
        if query.matches(unsafe { &slot.as_ref().key }) {
            return Some(slot);
        }
        // That there is more than one is rare, and a loop for it would cost every lookup.
        cold();
        for later in index + 1..self.len as usize {
            // SAFETY: as above.
            let slot = unsafe { self.slot(later) };
            // SAFETY: as above.
            if positions >> (later * bits) & 1 != 0 && query.matches(unsafe { &slot.as_ref().key })
            {
                return Some(slot);
            }
        }
        None
    }

    /// The eight tags of a list that the slot's is among.
    #[inline(always)]
    unsafe fn tags_around(&mut self, index: usize) -> &mut WideTags {
        // SAFETY: the caller knows the table to be a list of more than `index` slots.
        unsafe {
            if index < SHORT_MAX {
                return self.tags.list.get_unchecked_mut(index / 8);
            }
            let later: *mut WideTags = self.behind(Behind::<K, V>::TAGS_AT);
            &mut *later.add((index - SHORT_MAX) / 8)
        }
    }

    /// The tags of a list, and then anything.
    #[inline(always)]
    pub(super) fn list_tags(&self) -> [u16; 8 * (2 + Behind::<(), ()>::GROUPS)] {
        let mut groups = [WideTags::NONE; 2 + Behind::<(), ()>::GROUPS];
        // SAFETY: the table is a list; a long one has more tags behind the slots.
        unsafe {
            groups[..2].copy_from_slice(&self.tags.list);
            if self.buckets as usize > SHORT_MAX {
                let later =
                    self.behind::<[WideTags; Behind::<(), ()>::GROUPS]>(Behind::<K, V>::TAGS_AT);
                groups[2..].copy_from_slice(&*later);
            }
            std::mem::transmute(groups)
        }
    }

    /// Gives the slot of a list with at most sixteen its tag.
    ///
    /// # Safety
    ///
    /// The table must be such a list of more than `index` slots.
    #[inline(always)]
    pub(super) unsafe fn set_short_tag(&mut self, index: usize, tag: Wide) {
        debug_assert!(index < SHORT_MAX);
        // SAFETY: the caller vouches for the index.
        tag.store(
            unsafe { self.tags.list.get_unchecked_mut(index / 8) },
            index % 8,
        );
    }

    /// Gives the slot of a list with more than sixteen its tag.
    ///
    /// # Safety
    ///
    /// The table must be such a list of more than `index` slots.
    #[inline(always)]
    pub(super) unsafe fn set_long_tag(&mut self, index: usize, tag: Wide) {
        // SAFETY: the caller vouches for the table and the index.
        tag.store(unsafe { self.tags_around(index) }, index % 8);
    }

    /// Gives a list's slot the tag of a hash.
    ///
    /// # Safety
    ///
    /// The table must be a list of more than `index` slots.
    #[inline(always)]
    pub(super) unsafe fn set_list_tag(&mut self, index: usize, hash: u64) {
        // SAFETY: the caller vouches for the table and the index.
        unsafe {
            if self.buckets as usize <= SHORT_MAX {
                self.set_short_tag(index, Wide::of(hash));
            } else {
                self.set_long_tag(index, Wide::of(hash));
            }
        }
    }

    /// Moves a list's last tag to where an entry was erased. The length is already the lesser one.
    ///
    /// # Safety
    ///
    /// The table must be a list and `hole` at most its length.
    #[inline(always)]
    pub(super) unsafe fn move_last_tag(&mut self, hole: usize) {
        let last = self.len as usize;
        // SAFETY: the caller vouches for the table and the index.
        unsafe {
            if self.buckets as usize <= SHORT_MAX {
                move_tag(&mut self.tags.list, last, hole);
            } else {
                let tag = Wide::tag(self.tags_around(last).0[last % 8]);
                self.set_long_tag(hole, tag);
                self.set_long_tag(last, Wide::tag(0));
            }
        }
    }

    /// Moves the tags of a list after `index` down by one. The length is already the lesser one.
    ///
    /// # Safety
    ///
    /// The table must be a list and `index` at most its length.
    pub(super) unsafe fn shift_tags(&mut self, index: usize) {
        let last = self.len as usize;
        // SAFETY: the caller vouches for the table and the index.
        unsafe {
            for position in index..last {
                let next = position + 1;
                self.tags_around(position).0[position % 8] = self.tags_around(next).0[next % 8];
            }
            self.tags_around(last).0[last % 8] = 0;
        }
    }

    /// A list without entries.
    pub(super) fn allocate_list(slots: usize) -> Self {
        let mut table = <Self as crate::raw::RawTable<K, V>>::EMPTY;
        table.resize_list(slots);
        table
    }

    /// Makes all that lies behind the slots of a long list zero.
    #[inline(always)]
    unsafe fn clear_behind(&mut self) {
        // SAFETY: the caller knows the table to be a list of more than sixteen slots.
        unsafe {
            self.behind::<WideTags>(Behind::<K, V>::TAGS_AT)
                .write_bytes(0, Behind::<K, V>::GROUPS);
        }
    }

    /// Makes all tags of a list zero.
    pub(super) fn clear_list_tags(&mut self) {
        self.tags.list = [WideTags::NONE; 2];
        if self.buckets as usize > SHORT_MAX {
            // SAFETY: the list is a long one.
            unsafe { self.clear_behind() };
        }
    }

    /// Changes the number of slots of a list; no hash is computed. `realloc` would take glibc's slow path for blocks this
    /// small.
    #[inline(never)]
    pub(super) fn resize_list(&mut self, slots: usize) {
        let layout = Self::list_layout(slots);
        let old = self.slots;
        let (old_slots, len) = (self.buckets as usize, self.len as usize);
        debug_assert!(self.is_list() && len <= slots && slots <= LIST_MAX);
        // SAFETY: the layout is not empty where it is allocated; both allocations have room for the entries, which are copied
        // before the old one is freed. The tags in the header stay.
        unsafe {
            self.slots = if layout.size() == 0 {
                NonNull::dangling()
            } else {
                let Some(base) = NonNull::new(alloc(layout)) else {
                    handle_alloc_error(layout)
                };
                base.cast()
            };
            // Lists grow when they are full: copies of a known size need no call.
            match len {
                0 => (),
                _ if len == Self::FIRST => {
                    self.slots.copy_from_nonoverlapping(old, Self::FIRST);
                }
                _ if len == Self::SECOND => {
                    self.slots.copy_from_nonoverlapping(old, Self::SECOND);
                }
                _ => self.slots.copy_from_nonoverlapping(old, len),
            }
            if slots > SHORT_MAX {
                // It was a shorter one, with all its tags in the header.
                debug_assert!(old_slots <= SHORT_MAX);
                self.clear_behind();
            }
            self.buckets = slots as u32;
            let layout = Self::list_layout(old_slots);
            if layout.size() != 0 {
                dealloc(old.as_ptr().cast(), layout);
            }
        }
    }
}
