//! The rows of the table by name, as a hash table made at compile time: whoever reads one small file does not wait for it.

use super::{Entry, GROUPS};
use crate::opcode::Opcode;

/// The most dotted words in a name.
pub(super) const MAXIMUM_NAME_WORDS: usize = 5;

/// Places in the table: a power of two, at least twice as many as there are names.
const PLACES: usize = 1024;

type Place = Option<(&'static str, &'static Entry)>;

static INDEX: [Place; PLACES] = index();

const fn index() -> [Place; PLACES] {
    let mut index: [Place; PLACES] = [None; PLACES];
    let mut count = 0;
    let mut group = 0;
    while group < GROUPS.len() {
        let mut row = 0;
        while row < GROUPS[group].len() {
            let entry = &GROUPS[group][row];
            let mut name = 0;
            while name < entry.names.len() {
                insert(&mut index, entry.names[name], entry);
                name += 1;
                count += 1;
            }
            row += 1;
        }
        group += 1;
    }
    assert!(2 * count <= PLACES, "the table of names is too full");
    index
}

/// The first row of each opcode.
static ROWS: [Option<&'static Entry>; Opcode::ALL.len()] = {
    let mut rows: [Option<&'static Entry>; Opcode::ALL.len()] = [None; Opcode::ALL.len()];
    let mut group = 0;
    while group < GROUPS.len() {
        let mut row = 0;
        while row < GROUPS[group].len() {
            let entry = &GROUPS[group][row];
            if rows[entry.opcode as usize].is_none() {
                rows[entry.opcode as usize] = Some(entry);
            }
            row += 1;
        }
        group += 1;
    }
    rows
};

/// The first row of an opcode; only [`Opcode::Unknown`] has none.
#[inline]
pub(crate) fn row_of(opcode: Opcode) -> Option<&'static Entry> {
    ROWS[opcode as usize]
}

const fn insert(index: &mut [Place; PLACES], name: &'static str, entry: &'static Entry) {
    let bytes = name.as_bytes();
    let mut hash = START;
    let mut at = 0;
    while at < bytes.len() {
        hash = mix(hash, bytes[at]);
        at += 1;
    }
    let mut place = hash as usize % PLACES;
    while index[place].is_some() {
        place = (place + 1) % PLACES;
    }
    index[place] = Some((name, entry));
}

/// The hash of no bytes.
const START: u32 = 0x811C_9DC5;

/// The hash of one byte more (FNV-1a, but for the last step: its low bits depend on all bytes).
const fn mix(hash: u32, byte: u8) -> u32 {
    (hash ^ byte as u32).wrapping_mul(0x0100_0193)
}

/// The row of this name, whose hash is given.
fn row(name: &str, hash: u32) -> Option<&'static Entry> {
    let mut place = hash as usize % PLACES;
    while let Some((other, entry)) = INDEX[place] {
        if other == name {
            return Some(entry);
        }
        place = (place + 1) % PLACES;
    }
    None
}

/// The row with the longest name that begins `text`, and the words after it.
pub(crate) fn find(text: &str) -> Option<(&'static Entry, &str)> {
    // The ends of the first words, and the hashes of the text up to there.
    let mut ends = [(0, 0); MAXIMUM_NAME_WORDS];
    let mut count = 0;
    let mut hash = START;
    for (end, &byte) in text.as_bytes().iter().enumerate() {
        if byte == b'.' {
            ends[count] = (end, hash);
            count += 1;
            if count == MAXIMUM_NAME_WORDS {
                break;
            }
        }
        hash = mix(hash, byte);
    }
    if count < MAXIMUM_NAME_WORDS {
        ends[count] = (text.len(), hash);
        count += 1;
    }
    ends[..count].iter().rev().find_map(|&(end, hash)| {
        let entry = row(&text[..end], hash)?;
        Some((entry, text[end..].strip_prefix('.').unwrap_or("")))
    })
}
