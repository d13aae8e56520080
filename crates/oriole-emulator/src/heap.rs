//! The device heap: what `malloc` and `free` of a kernel do.
//!
//! Allocations lie 16 bytes apart at least, so that an access past one is never in the next. Freed memory is handed out again,
//! oldest first, only when there is no other.

use std::collections::{BTreeMap, VecDeque};

/// Alignment of allocations, and the least distance between two.
const GAP: u64 = 16;

#[derive(Clone, Copy, Debug)]
struct Allocation {
    bytes: u64,
    /// Bytes up to the next.
    extent: u64,
    is_freed: bool,
}

/// The allocations of a heap, by offset.
#[derive(Clone, Debug, Default)]
pub(crate) struct Heap {
    capacity: u64,
    end: u64,
    allocations: BTreeMap<u64, Allocation>,
    freed: VecDeque<u64>,
}

impl Heap {
    pub(crate) fn new(capacity: u64) -> Heap {
        Heap {
            capacity,
            end: GAP,
            ..Heap::default()
        }
    }

    /// The offset of new memory, if there is some left.
    pub(crate) fn allocate(&mut self, bytes: u64) -> Option<u64> {
        let extent = bytes
            .max(1)
            .checked_next_multiple_of(GAP)?
            .checked_add(GAP)?;
        let mut allocation = Allocation {
            bytes,
            extent,
            is_freed: false,
        };
        let end = self.end.checked_add(extent)?;
        if end <= self.capacity {
            let offset = self.end;
            self.end = end;
            self.allocations.insert(offset, allocation);
            return Some(offset);
        }
        let index = self
            .freed
            .iter()
            .position(|offset| self.allocations[offset].extent >= extent)?;
        let offset = self.freed.remove(index)?;
        allocation.extent = self.allocations[&offset].extent;
        self.allocations.insert(offset, allocation);
        Some(offset)
    }

    /// Frees an allocation.
    ///
    /// # Errors
    /// What is wrong with the offset.
    pub(crate) fn free(&mut self, offset: u64) -> Result<(), String> {
        match self.allocations.get_mut(&offset) {
            None => Err("`free` of what `malloc` did not give".to_string()),
            Some(allocation) if allocation.is_freed => {
                Err("`free` of what was freed before".to_string())
            }
            Some(allocation) => {
                allocation.is_freed = true;
                self.freed.push_back(offset);
                Ok(())
            }
        }
    }

    /// Whether an access lies in one allocation.
    ///
    /// # Errors
    /// Where it lies instead.
    pub(crate) fn check(&self, offset: u64, size: u32) -> Result<(), String> {
        let Some((&start, allocation)) = self.allocations.range(..=offset).next_back() else {
            return Err("in heap memory that was never allocated".to_string());
        };
        let Allocation {
            bytes,
            extent,
            is_freed,
        } = *allocation;
        if offset >= start + extent {
            return Err("in heap memory that was never allocated".to_string());
        }
        if offset + u64::from(size) > start + bytes {
            let beyond = offset.saturating_sub(start + bytes);
            return Err(format!(
                "{beyond} bytes past the end of {bytes} allocated bytes"
            ));
        }
        if is_freed {
            return Err(format!(
                "{} bytes into {bytes} bytes that were freed",
                offset - start
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocations_end_where_they_end() {
        let mut heap = Heap::new(144);
        let (a, b) = (heap.allocate(20).unwrap(), heap.allocate(16).unwrap());
        assert!(heap.check(a, 4).is_ok() && heap.check(a + 16, 4).is_ok());
        assert!(heap.check(a + 20, 4).unwrap_err().contains("0 bytes past"));
        assert!(heap.check(a + 18, 4).is_err());
        assert!(heap.check(b, 16).is_ok());
        assert!(heap.check(143, 1).is_err());
        heap.free(a).unwrap();
        assert!(heap.check(a, 4).unwrap_err().contains("freed"));
        assert!(heap.free(a).is_err() && heap.free(a + 4).is_err());
        // What was freed is used again when nothing else is left.
        assert_eq!(heap.allocate(17), Some(96));
        assert_eq!(heap.allocate(20), Some(a));
        assert_eq!(heap.allocate(1), None);
        assert_eq!(heap.allocate(u64::MAX), None);
    }
}
