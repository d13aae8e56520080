//! Counting what tables do: by table type and by the place in the program that made the table.
//!
//! With the feature `instrument` every map and set keeps counts of its own (hits and misses with the buckets they inspected,
//! insertions, erasures, growths, peak bytes) and adds them to a registry when it is dropped. `report` writes the registry
//! as the table that LLVM's redesign started from. Without the feature all of this is empty and costs nothing.
//!
//! Two environment variables, looked at by the first table a program drops or uses, serve any program without a change to it:
//! `ORIOLE_TABLE_REPORT=path` (such as `/dev/stderr`) writes the report there when the process ends, and
//! `ORIOLE_TABLE_TRACE=path` records every operation, for `collections-bench replay`.
//!
//! A lookup through an insertion (`insert`, `entry`, `get_or_insert_with`) of a key that is present counts as a hit, one of a
//! key that is missing as an insertion, as in LLVM's counts. Erasing a missing key counts as a miss. A vacant entry that is
//! not filled is not counted.
//!
//! ## Trace format
//!
//! `ORTRACE1`, then records. Each starts with a kind byte and the table's number (`u32`, little-endian). Kind 0 declares a
//! table: the bytes of its key and value (`u16` each), then its name (`u16` length and bytes). Kinds 1 hit, 2 miss, 3 insert
//! and 4 erase are followed by the key's hash (`u64`), 7 reserve by the number of entries (`u64`); 5 clear and 6 drop by
//! nothing. [`read_trace`] reads it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// What a table is, for reports.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(feature = "instrument"), allow(dead_code))]
pub(crate) struct Description {
    pub(crate) kind: &'static str,
    pub(crate) design: &'static str,
    pub(crate) key: &'static str,
    pub(crate) value: &'static str,
    pub(crate) key_bytes: usize,
    pub(crate) value_bytes: usize,
}

/// Whether this build counts.
pub const ENABLED: bool = cfg!(feature = "instrument");

/// One operation of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A table's first appearance.
    Table {
        /// Its number.
        table: u32,
        /// Size of a key.
        key_bytes: u16,
        /// Size of a value.
        value_bytes: u16,
        /// Its type and place of creation.
        name: String,
    },
    /// A lookup that found its key.
    Hit(u32, u64),
    /// A lookup that did not.
    Miss(u32, u64),
    /// An insertion of a missing key.
    Insert(u32, u64),
    /// An erasure of a present key.
    Erase(u32, u64),
    /// All entries removed.
    Clear(u32),
    /// The table's end.
    Drop(u32),
    /// Room made for so many more entries.
    Reserve(u32, u64),
}

const MAGIC: &[u8; 8] = b"ORTRACE1";

/// Reads a trace; an incomplete last record is left out.
pub fn read_trace(bytes: &[u8]) -> Result<Vec<Event>, String> {
    let mut rest = bytes
        .strip_prefix(MAGIC)
        .ok_or("not a table trace: it does not start with ORTRACE1")?;
    let mut events = Vec::new();
    while let Some((event, after)) = read_event(rest)? {
        events.push(event);
        rest = after;
    }
    Ok(events)
}

/// The first event and what follows it; `None` when there is no complete one.
fn read_event(bytes: &[u8]) -> Result<Option<(Event, &[u8])>, String> {
    let word = |at: usize, length: usize| {
        bytes.get(at..at + length).map(|part| {
            let mut whole = [0; 8];
            whole[..length].copy_from_slice(part);
            u64::from_le_bytes(whole)
        })
    };
    let (Some(&kind), Some(table)) = (bytes.first(), word(1, 4)) else {
        return Ok(None);
    };
    let table = table as u32;
    let keyed =
        |make: fn(u32, u64) -> Event| word(5, 8).map(|hash| (make(table, hash), &bytes[13..]));
    Ok(match kind {
        0 => {
            let (Some(key), Some(value), Some(length)) = (word(5, 2), word(7, 2), word(9, 2))
            else {
                return Ok(None);
            };
            let end = 11 + length as usize;
            bytes.get(11..end).map(|name| {
                let event = Event::Table {
                    table,
                    key_bytes: key as u16,
                    value_bytes: value as u16,
                    name: String::from_utf8_lossy(name).into_owned(),
                };
                (event, &bytes[end..])
            })
        }
        1 => keyed(Event::Hit),
        2 => keyed(Event::Miss),
        3 => keyed(Event::Insert),
        4 => keyed(Event::Erase),
        5 => Some((Event::Clear(table), &bytes[5..])),
        6 => Some((Event::Drop(table), &bytes[5..])),
        7 => keyed(Event::Reserve),
        other => return Err(format!("unknown kind {other} in a table trace")),
    })
}

#[cfg(feature = "instrument")]
mod enabled;
#[cfg(feature = "instrument")]
pub(crate) use enabled::Tally;
#[cfg(feature = "instrument")]
pub use enabled::{Totals, report, reset, totals, trace_to};

#[cfg(not(feature = "instrument"))]
mod disabled {
    use super::Description;

    /// Nothing, in builds that do not count.
    pub(crate) struct Tally;

    impl Tally {
        #[inline(always)]
        pub(crate) const fn new(_: fn() -> Description) -> Self {
            Self
        }
        #[inline(always)]
        pub(crate) fn measure<R: Default>(&self, _: impl FnOnce() -> R) -> R {
            R::default()
        }
        #[inline(always)]
        pub(crate) fn find(&self, _: bool, _: impl FnOnce() -> usize, _: impl FnOnce() -> u64) {}
        #[inline(always)]
        pub(crate) fn insert(
            &mut self,
            _: usize,
            _: impl FnOnce() -> u64,
            _: bool,
            _: impl FnOnce() -> usize,
        ) {
        }
        #[inline(always)]
        pub(crate) fn erase(&mut self, _: bool, _: usize, _: impl FnOnce() -> u64) {}
        #[inline(always)]
        pub(crate) fn reserve(&mut self, _: usize, _: impl FnOnce() -> usize) {}
        #[inline(always)]
        pub(crate) fn clear(&mut self) {}
    }
}
#[cfg(not(feature = "instrument"))]
pub(crate) use disabled::Tally;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_trace_reads_up_to_the_cut() {
        let mut bytes = MAGIC.to_vec();
        bytes.extend([0, 7, 0, 0, 0, 4, 0, 8, 0, 2, 0, b'a', b'b']);
        bytes.extend([3, 7, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8]);
        bytes.extend([7, 7, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend([6, 7, 0, 0, 0]);
        let whole = read_trace(&bytes).expect("well formed");
        assert_eq!(whole.len(), 4);
        assert_eq!(whole[2], Event::Reserve(7, 9));
        assert_eq!(whole[1], Event::Insert(7, 0x0807_0605_0403_0201));
        assert_eq!(read_trace(&bytes[..bytes.len() - 1]).expect("cut").len(), 3);
        assert!(read_trace(b"something").is_err());
        bytes.extend([9, 0, 0, 0, 0]);
        assert!(read_trace(&bytes).is_err());
    }
}
