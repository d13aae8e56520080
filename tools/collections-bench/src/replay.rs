//! Replays a trace recorded by an instrumented program (`ORIOLE_TABLE_TRACE`) on every contender.
//!
//! Hashes are turned back into keys where that is possible, so that keys keep their order and spacing. Tables of narrow keys
//! are replayed as maps from `u32`, all others as maps from pointers.

#![allow(clippy::print_stdout)] // a benchmark's output is its purpose

use crate::contender::*;
use crate::keys::{Key, Pointer};
use crate::sections::{race_replay_narrow, race_replay_wide};
use oriole_collections::instrument::{Event, read_trace};
use oriole_collections::key::{unmix_address, unmix32};
use std::collections::BTreeMap;

fn hash_of(event: &Event) -> Option<(u32, u8, u64)> {
    match *event {
        Event::Hit(table, hash) | Event::Miss(table, hash) => Some((table, FIND, hash)),
        Event::Insert(table, hash) => Some((table, INSERT, hash)),
        Event::Erase(table, hash) => Some((table, ERASE, hash)),
        Event::Clear(table) => Some((table, CLEAR, 0)),
        Event::Drop(table) => Some((table, DROP, 0)),
        Event::Reserve(table, additional) => Some((table, RESERVE, additional)),
        Event::Table { .. } => None,
    }
}

fn build<K: Key>(
    events: &[Event],
    chosen: impl Fn(u32) -> bool,
    key: impl Fn(u64) -> K,
) -> Replay<K> {
    let mut replay = Replay {
        kinds: Vec::new(),
        tables: Vec::new(),
        keys: Vec::new(),
        table_count: 0,
    };
    let mut numbers: BTreeMap<u32, u32> = BTreeMap::new();
    let mut free = Vec::new();
    for (table, kind, hash) in events.iter().filter_map(hash_of) {
        if !chosen(table) {
            continue;
        }
        let number = *numbers.entry(table).or_insert_with(|| {
            free.pop().unwrap_or_else(|| {
                replay.table_count += 1;
                replay.table_count as u32 - 1
            })
        });
        replay.kinds.push(kind);
        replay.tables.push(number);
        replay.keys.push(if kind == RESERVE {
            K::from_word(hash)
        } else {
            key(hash)
        });
        if kind == DROP {
            numbers.remove(&table);
            free.push(number);
        }
    }
    replay
}

/// Replays one file.
pub fn run(path: &str, rounds: usize) {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let events = read_trace(&bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut narrow: BTreeMap<u32, bool> = BTreeMap::new();
    let (mut finds, mut inserts, mut erases) = (0usize, 0usize, 0usize);
    for event in &events {
        match event {
            Event::Hit(..) | Event::Miss(..) => finds += 1,
            Event::Insert(..) => inserts += 1,
            Event::Erase(..) => erases += 1,
            _ => (),
        }
        if let Some((table, kind, hash)) = hash_of(event) {
            let fits = kind >= CLEAR || unmix32(hash).is_some_and(|key| key < u32::MAX - 1);
            *narrow.entry(table).or_insert(true) &= fits;
        }
    }
    println!(
        "\n### Trace of {} tables: {finds} lookups, {inserts} insertions, {erases} erasures, ns per operation\n",
        narrow.len()
    );
    let is_narrow = |table: u32| narrow.get(&table).copied().unwrap_or(false);
    let small = build(&events, is_narrow, |hash| unmix32(hash).unwrap_or(0));
    race_replay_narrow("narrow keys", &small, rounds);
    let wide = build(
        &events,
        |table| !is_narrow(table),
        |hash| {
            let address = unmix_address(hash);
            Pointer(if address < 1 << 47 {
                address
            } else {
                hash >> 8
            })
        },
    );
    race_replay_wide("wide keys", &wide, rounds);
}
