//! The address map, and global memory.
//!
//! Every buffer and every module variable is a region of its own, 64 GiB of addresses apart, so that the first byte past
//! one is never another's. Below the first region lie windows of generic addresses for the memories that have addresses of
//! their own:
//!
//! | generic addresses | memory |
//! |---|---|
//! | `0x1_0000_0000` … | shared memory: the block's own at offset 0, that of block *r* of the cluster at `(r + 1) << 24` |
//! | `0x2_0000_0000` … | the thread's local memory |
//! | `0x3_0000_0000` … | the kernel's parameters |
//! | `0x4_0000_0000` … | functions, 16 bytes apart |
//! | `(n + 1) << 36` … | region *n* of global or constant memory |
//!
//! Blocks run on several threads and share global memory, so it is made of atomic words and needs no lock. Accesses of one
//! or two bytes change their word by compare and swap.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::heap::Heap;
use crate::trap::{Fault, Outcome, TrapKind};

pub(crate) const REGION_SHIFT: u32 = 36;
pub(crate) const SHARED_WINDOW: u64 = 0x1_0000_0000;
pub(crate) const LOCAL_WINDOW: u64 = 0x2_0000_0000;
pub(crate) const PARAMETER_WINDOW: u64 = 0x3_0000_0000;
pub(crate) const CODE_WINDOW: u64 = 0x4_0000_0000;
pub(crate) const CODE_STRIDE: u64 = 16;
/// Shared addresses of other blocks of the cluster carry their rank, plus one, above this bit.
pub(crate) const CLUSTER_SHIFT: u32 = 24;
/// Parameters of functions, as opposed to kernels, are in the frame, from this `.param` address on.
pub(crate) const FRAME_PARAMETERS: u64 = 0x1000_0000;

/// A buffer or a module variable.
#[derive(Debug)]
pub(crate) struct Region {
    pub(crate) name: String,
    pub(crate) words: Box<[AtomicU32]>,
    /// How many may be accessed without a further look: all, or none of a heap.
    pub(crate) bytes: u64,
    pub(crate) writable: bool,
    /// The allocations, if it is the heap.
    pub(crate) heap: Option<Mutex<Heap>>,
}

impl Clone for Region {
    fn clone(&self) -> Region {
        Region {
            name: self.name.clone(),
            words: self
                .words
                .iter()
                .map(|word| AtomicU32::new(word.load(Relaxed)))
                .collect(),
            bytes: self.bytes,
            writable: self.writable,
            heap: self
                .heap
                .as_ref()
                .and_then(|heap| heap.lock().ok().map(|heap| Mutex::new(heap.clone()))),
        }
    }
}

impl Region {
    pub(crate) fn new(name: impl Into<String>, bytes: u64, writable: bool) -> Region {
        let words = bytes.div_ceil(16) as usize * 4;
        Region {
            name: name.into(),
            words: (0..words).map(|_| AtomicU32::new(0)).collect(),
            bytes,
            writable,
            heap: None,
        }
    }

    /// A region in which only what `malloc` gave may be accessed.
    pub(crate) fn new_heap(bytes: u64) -> Region {
        Region {
            bytes: 0,
            heap: Some(Mutex::new(Heap::new(bytes))),
            ..Region::new("(heap)", bytes, true)
        }
    }

    /// One, two, four or eight bytes at an aligned offset that lies inside.
    #[inline]
    pub(crate) fn load(&self, offset: u64, size: u32) -> u64 {
        let index = (offset >> 2) as usize;
        let word = self.words[index].load(Relaxed);
        match size {
            1 => (word >> (8 * (offset & 3)) & 0xff).into(),
            2 => (word >> (8 * (offset & 2)) & 0xffff).into(),
            4 => word.into(),
            _ => u64::from(word) | u64::from(self.words[index + 1].load(Relaxed)) << 32,
        }
    }

    /// Stores one, two, four or eight bytes.
    #[inline]
    pub(crate) fn store(&self, offset: u64, size: u32, value: u64) {
        let index = (offset >> 2) as usize;
        match size {
            4 => self.words[index].store(value as u32, Relaxed),
            8 => {
                self.words[index].store(value as u32, Relaxed);
                self.words[index + 1].store((value >> 32) as u32, Relaxed);
            }
            _ => {
                let (shift, mask) = match size {
                    1 => (8 * (offset & 3) as u32, 0xffu32),
                    _ => (8 * (offset & 2) as u32, 0xffff),
                };
                let value = (value as u32 & mask) << shift;
                let replace = |word: u32| Some(word & !(mask << shift) | value);
                let _ = self.words[index].fetch_update(Relaxed, Relaxed, replace);
            }
        }
    }

    pub(crate) fn write_bytes(&self, start: u64, data: &[u8]) {
        let mut index = 0;
        while index < data.len() {
            let offset = start + index as u64;
            if offset & 3 == 0 && data.len() - index >= 4 {
                let word = u32::from_le_bytes([
                    data[index],
                    data[index + 1],
                    data[index + 2],
                    data[index + 3],
                ]);
                self.words[(offset >> 2) as usize].store(word, Relaxed);
                index += 4;
            } else {
                self.store(offset, 1, data[index].into());
                index += 1;
            }
        }
    }

    pub(crate) fn read_bytes(&self) -> Vec<u8> {
        let mut data = Vec::with_capacity(self.words.len() * 4);
        for word in &self.words {
            data.extend_from_slice(&word.load(Relaxed).to_le_bytes());
        }
        data.truncate(self.bytes as usize);
        data
    }
}

/// All regions.
#[derive(Clone, Debug, Default)]
pub(crate) struct GlobalMemory {
    pub(crate) regions: Vec<Region>,
}

impl GlobalMemory {
    pub(crate) fn add(&mut self, region: Region) -> u64 {
        self.regions.push(region);
        (self.regions.len() as u64) << REGION_SHIFT
    }

    /// Bytes of all regions.
    pub(crate) fn total_bytes(&self) -> u64 {
        self.regions
            .iter()
            .map(|region| region.words.len() as u64 * 4)
            .sum()
    }

    pub(crate) fn base(index: usize) -> u64 {
        (index as u64 + 1) << REGION_SHIFT
    }

    /// The region of an access of `size` bytes, and the offset in it.
    #[inline]
    pub(crate) fn locate(
        &self,
        address: u64,
        size: u32,
        write: bool,
        lane: u32,
    ) -> Outcome<(&Region, u64)> {
        let index = (address >> REGION_SHIFT).wrapping_sub(1) as usize;
        let offset = address & ((1 << REGION_SHIFT) - 1);
        match self.regions.get(index) {
            Some(region)
                if offset + u64::from(size) <= region.bytes
                    && offset & u64::from(size - 1) == 0 =>
            {
                if write && !region.writable {
                    return Err(Fault::at(
                        TrapKind::ReadOnly,
                        format!("store to the constant `{}`", region.name),
                        lane,
                        address,
                    ));
                }
                Ok((region, offset))
            }
            found => self.locate_slowly(address, size, write, lane, found),
        }
    }

    /// The heap, or a fault.
    #[cold]
    fn locate_slowly<'a>(
        &'a self,
        address: u64,
        size: u32,
        write: bool,
        lane: u32,
        found: Option<&'a Region>,
    ) -> Outcome<(&'a Region, u64)> {
        if let Some(region) = found
            && let Some(heap) = &region.heap
            && let Ok(heap) = heap.lock()
        {
            let offset = address & ((1 << REGION_SHIFT) - 1);
            let verb = if write { "store" } else { "load" };
            let wrong = |kind: TrapKind, why: String| {
                let message = format!("{verb} of {size} bytes at address {address:#x}, {why}");
                Err(Fault::at(kind, message, lane, address))
            };
            return match heap.check(offset, size) {
                Err(why) => wrong(TrapKind::InvalidAccess, why),
                Ok(()) if offset & u64::from(size - 1) != 0 => {
                    wrong(TrapKind::Misaligned, "in the heap".to_string())
                }
                Ok(()) => Ok((region, offset)),
            };
        }
        Err(self.fault(address, size, write, lane, found))
    }

    fn fault(
        &self,
        address: u64,
        size: u32,
        write: bool,
        lane: u32,
        found: Option<&Region>,
    ) -> Box<Fault> {
        let verb = if write { "store" } else { "load" };
        let offset = address & ((1 << REGION_SHIFT) - 1);
        // A little below a region is where a negative index lands.
        let next = address.wrapping_add(1 << 30) >> REGION_SHIFT;
        let (kind, place) = match found {
            Some(region) if offset + u64::from(size) > region.bytes => (
                TrapKind::OutOfBounds,
                match offset.checked_sub(region.bytes) {
                    Some(beyond) => format!(
                        "{beyond} bytes past the end of `{}`, which has {}",
                        region.name, region.bytes
                    ),
                    None => format!(
                        "across the end of `{}`, which has {} bytes",
                        region.name, region.bytes
                    ),
                },
            ),
            Some(region) => (
                TrapKind::Misaligned,
                format!("at offset {offset} of `{}`", region.name),
            ),
            None => match self.regions.get(next.wrapping_sub(1) as usize) {
                Some(region) if next != address >> REGION_SHIFT => {
                    let before = (next << REGION_SHIFT) - address;
                    (
                        TrapKind::OutOfBounds,
                        format!("{before} bytes before `{}`", region.name),
                    )
                }
                _ => (
                    TrapKind::OutOfBounds,
                    "in no buffer or variable".to_string(),
                ),
            },
        };
        Fault::at(
            kind,
            format!("{verb} of {size} bytes at address {address:#x}, {place}"),
            lane,
            address,
        )
    }
}

/// Memory of one owner, in 32-bit words: shared memory of a block.
#[derive(Clone, Debug, Default)]
pub(crate) struct Words(pub(crate) Vec<u32>);

impl Words {
    pub(crate) fn new(bytes: u64) -> Words {
        Words(vec![0; bytes.div_ceil(16) as usize * 4])
    }

    #[inline]
    pub(crate) fn load(&self, offset: u64, size: u32) -> u64 {
        let index = (offset >> 2) as usize;
        let word = self.0[index];
        match size {
            1 => (word >> (8 * (offset & 3)) & 0xff).into(),
            2 => (word >> (8 * (offset & 2)) & 0xffff).into(),
            4 => word.into(),
            _ => u64::from(word) | u64::from(self.0[index + 1]) << 32,
        }
    }

    #[inline]
    pub(crate) fn store(&mut self, offset: u64, size: u32, value: u64) {
        let index = (offset >> 2) as usize;
        match size {
            4 => self.0[index] = value as u32,
            8 => {
                self.0[index] = value as u32;
                self.0[index + 1] = (value >> 32) as u32;
            }
            _ => {
                let (shift, mask) = match size {
                    1 => (8 * (offset & 3) as u32, 0xffu32),
                    _ => (8 * (offset & 2) as u32, 0xffff),
                };
                self.0[index] = self.0[index] & !(mask << shift) | (value as u32 & mask) << shift;
            }
        }
    }
}

/// The local memories of the 32 threads of a warp, interleaved by words as on the machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalMemory {
    words: Vec<u32>,
    /// Bytes that exist for each thread.
    pub(crate) bytes: u64,
    shadow: Option<LocalShadow>,
}

/// The state of local memory that checks need.
#[derive(Clone, Debug, Default)]
struct LocalShadow {
    /// Undefined bits of the words.
    undefined: Vec<u32>,
    /// Lanes for which a byte is between variables.
    outside: Vec<u32>,
}

/// Loads one, two, four or eight bytes of a lane from interleaved words.
#[inline]
fn load_interleaved(words: &[u32], lane: u32, offset: u64, size: u32) -> u64 {
    let index = (offset >> 2) as usize * 32 + lane as usize;
    let word = words[index];
    match size {
        1 => (word >> (8 * (offset & 3)) & 0xff).into(),
        2 => (word >> (8 * (offset & 2)) & 0xffff).into(),
        4 => word.into(),
        _ => u64::from(word) | u64::from(words[index + 32]) << 32,
    }
}

#[inline]
fn store_interleaved(words: &mut [u32], lane: u32, offset: u64, size: u32, value: u64) {
    let index = (offset >> 2) as usize * 32 + lane as usize;
    match size {
        4 => words[index] = value as u32,
        8 => {
            words[index] = value as u32;
            words[index + 32] = (value >> 32) as u32;
        }
        _ => {
            let (shift, mask) = match size {
                1 => (8 * (offset & 3) as u32, 0xffu32),
                _ => (8 * (offset & 2) as u32, 0xffff),
            };
            words[index] = words[index] & !(mask << shift) | (value as u32 & mask) << shift;
        }
    }
}

impl LocalMemory {
    /// From now on remembers what is undefined.
    pub(crate) fn watch(&mut self) {
        let (words, bytes) = (self.words.len(), self.bytes as usize);
        self.shadow.get_or_insert_with(|| LocalShadow {
            undefined: vec![u32::MAX; words],
            outside: vec![0; bytes],
        });
    }

    /// Forgets what some lanes have in a frame.
    pub(crate) fn forget(&mut self, offset: u64, end: u64, lanes: u32) {
        if let Some(shadow) = &mut self.shadow {
            for outside in &mut shadow.outside[offset as usize..end as usize] {
                *outside &= !lanes;
            }
            for word in shadow.undefined[offset as usize * 8..end as usize * 8].chunks_mut(32) {
                for (lane, bits) in word.iter_mut().enumerate() {
                    if lanes >> lane & 1 != 0 {
                        *bits = u32::MAX;
                    }
                }
            }
        }
    }

    /// Puts bytes between variables.
    pub(crate) fn exclude(&mut self, offset: u64, end: u64, lanes: u32) {
        if let Some(shadow) = &mut self.shadow {
            for outside in &mut shadow.outside[offset as usize..end as usize] {
                *outside |= lanes;
            }
        }
    }

    /// Some of these bytes are between variables.
    pub(crate) fn is_outside(&self, lane: u32, offset: u64, size: u32) -> bool {
        self.shadow.as_ref().is_some_and(|shadow| {
            shadow.outside[offset as usize..][..size as usize]
                .iter()
                .any(|lanes| lanes >> lane & 1 != 0)
        })
    }

    /// The undefined bits of one, two, four or eight bytes.
    pub(crate) fn load_undefined(&self, lane: u32, offset: u64, size: u32) -> u64 {
        let undefined = self.shadow.as_ref().map(|shadow| &shadow.undefined);
        undefined.map_or(0, |words| load_interleaved(words, lane, offset, size))
    }

    pub(crate) fn store_undefined(&mut self, lane: u32, offset: u64, size: u32, bits: u64) {
        if let Some(shadow) = &mut self.shadow {
            store_interleaved(&mut shadow.undefined, lane, offset, size, bits);
        }
    }

    /// Copies a word with what is undefined in it.
    pub(crate) fn copy_word(&mut self, lane: u32, from: u64, to: u64) {
        let value = self.load(lane, from, 4);
        self.store(lane, to, 4, value);
        let bits = self.load_undefined(lane, from, 4);
        self.store_undefined(lane, to, 4, bits);
    }

    pub(crate) fn grow(&mut self, bytes: u64) {
        if bytes > self.bytes {
            self.bytes = bytes.next_multiple_of(16);
            self.words.resize(self.bytes as usize / 4 * 32, 0);
            if let Some(shadow) = &mut self.shadow {
                shadow.undefined.resize(self.words.len(), u32::MAX);
                shadow.outside.resize(self.bytes as usize, 0);
            }
        }
    }

    #[inline]
    pub(crate) fn load(&self, lane: u32, offset: u64, size: u32) -> u64 {
        load_interleaved(&self.words, lane, offset, size)
    }

    #[inline]
    pub(crate) fn store(&mut self, lane: u32, offset: u64, size: u32, value: u64) {
        store_interleaved(&mut self.words, lane, offset, size, value);
    }
}
