//! What must hold of live intervals.
//!
//! 1. Segments are not empty, sorted, disjoint, and no two that touch have one value.
//! 2. Every value is live where it is defined, and every segment has a value. (A join may stand inside a segment: below a
//!    block that jumps back to it.)
//! 3. Every read in reachable code is covered by exactly one segment that ends no sooner.
//! 4. Every definition in reachable code is a value.
//! 5. What comes into a block without a definition there is live out of every reachable predecessor, with the same value.
//! 6. A PHI-definition has two different values coming in, itself not counted, and starts where its block does.
//! 7. The numbers of slots rise.

use super::live_intervals::{LiveIntervals, ValueKind};
use super::program::Program;
use super::slot_indexes::{Moment, Slot};

/// What is wrong with intervals: nothing, if they are the program's.
pub fn verify(program: &impl Program, intervals: &LiveIntervals) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Err(message) = intervals.slots().verify() {
        wrong.push(message);
    }
    for entity in 0..intervals.entity_count() as u32 {
        shape(intervals, entity, &mut wrong);
        flow(program, intervals, entity, &mut wrong);
    }
    covered(program, intervals, &mut wrong);
    wrong
}

fn shape(intervals: &LiveIntervals, entity: u32, wrong: &mut Vec<String>) {
    let segments = intervals.segments(entity);
    let values = intervals.values(entity);
    for segment in segments {
        if segment.start >= segment.end || segment.value as usize >= values.len() {
            wrong.push(format!(
                "{entity}: the segment {segment:?} is empty or has no value"
            ));
        }
    }
    for pair in segments.windows(2) {
        let touching = pair[0].end == pair[1].start && pair[0].value == pair[1].value;
        if pair[0].end > pair[1].start || touching {
            wrong.push(format!(
                "{entity}: {:?} and {:?} are not apart",
                pair[0], pair[1]
            ));
        }
    }
    for (number, value) in values.iter().enumerate() {
        if intervals.value_at(entity, value.definition) != Some(number as u32) {
            wrong.push(format!(
                "{entity}: value {number} is not live where it is defined"
            ));
        }
    }
    if values
        .windows(2)
        .any(|pair| pair[0].definition >= pair[1].definition)
    {
        wrong.push(format!("{entity}: values are out of order"));
    }
}

/// The value at the end of a block.
fn value_out(intervals: &LiveIntervals, entity: u32, block: u32) -> Option<u32> {
    let end = intervals.slots().end(block);
    let segments = intervals.segments(entity);
    let behind = segments.partition_point(|segment| segment.start < end);
    let last = segments.get(behind.checked_sub(1)?)?;
    (last.end >= end).then_some(last.value)
}

fn flow(program: &impl Program, intervals: &LiveIntervals, entity: u32, wrong: &mut Vec<String>) {
    let slots = intervals.slots();
    for segment in intervals.segments(entity) {
        let first = slots.block_at(segment.start);
        for block in first..program.block_count() as u32 {
            let start = slots.start(block);
            if start >= segment.end {
                break;
            }
            if start < segment.start {
                continue;
            }
            let value = intervals.values(entity)[segment.value as usize];
            let defined_here = value.definition == start;
            if defined_here && value.kind == ValueKind::Parameter {
                continue;
            }
            let mut incoming: Vec<u32> = Vec::new();
            for &from in program.predecessors().of(block) {
                if !intervals.sets().is_reachable(from) {
                    continue;
                }
                match value_out(intervals, entity, from) {
                    Some(value) => incoming.push(value),
                    None => wrong.push(format!(
                        "{entity}: live into block {block} but not out of block {from}"
                    )),
                }
            }
            if defined_here {
                if value.kind == ValueKind::Phi {
                    incoming.retain(|&other| other != segment.value);
                    incoming.sort_unstable();
                    incoming.dedup();
                    // Into the entry there also comes what was there before.
                    if incoming.len() + usize::from(block == 0) < 2 {
                        wrong.push(format!("{entity}: nothing joins at block {block}"));
                    }
                }
            } else if incoming.iter().any(|&other| other != segment.value) {
                wrong.push(format!("{entity}: other values come into block {block}"));
            }
        }
    }
}

fn covered(program: &impl Program, intervals: &LiveIntervals, wrong: &mut Vec<String>) {
    let slots = intervals.slots();
    let before = |slot: Slot| slot.at(Moment::EarlyClobber);
    for block in 0..program.block_count() as u32 {
        if !intervals.sets().is_reachable(block) {
            continue;
        }
        for instruction in program.instructions(block) {
            let at = slots.slot(instruction, Moment::Register);
            for access in program.accesses(instruction) {
                let entity = access.entity();
                if access.uses() && intervals.segment_at(entity, before(at)).is_none() {
                    wrong.push(format!(
                        "{entity}: dead where instruction {instruction} reads it"
                    ));
                }
                if access.defines()
                    && intervals
                        .values(entity)
                        .binary_search_by_key(&at, |value| value.definition)
                        .is_err()
                {
                    wrong.push(format!(
                        "{entity}: instruction {instruction} defines no value"
                    ));
                }
            }
        }
        for &entity in program.exit_uses(block) {
            if !intervals.is_live_out(entity, block) {
                wrong.push(format!(
                    "{entity}: dead at the end of block {block}, which reads it"
                ));
            }
        }
    }
}
