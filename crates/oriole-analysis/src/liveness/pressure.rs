//! Register pressure: how much of each register file is taken, instruction by instruction.
//!
//! At an instruction two moments count: before it, when its operands are needed, and behind it, when its results exist.
//! Its pressure is the higher one. Widths are in 32-bit registers; predicates are counted apart.

use super::live_intervals::LiveIntervals;
use super::program::{Program, RegisterFile};
use super::slot_indexes::{Moment, Place, Slot};

/// The place of highest pressure in one register file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Peak {
    /// Registers or predicates taken.
    pub units: u32,
    /// The first instruction where so many are; nothing for an empty function.
    pub instruction: Option<u32>,
    /// The moment that was counted.
    pub slot: Slot,
}

/// The pressure of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pressure {
    data: Vec<u32>,
    predicates: Vec<u32>,
    peaks: [Peak; 2],
}

fn file_index(file: RegisterFile) -> usize {
    match file {
        RegisterFile::Data => 0,
        RegisterFile::Predicate => 1,
    }
}

/// By how much each file is taken more or less, at two points a position: before, with early results, and behind.
fn changes(
    program: &impl Program,
    intervals: &LiveIntervals,
    units: impl Fn(u32) -> u32,
) -> [Vec<i32>; 2] {
    let slots = intervals.slots();
    let point = |slot: Slot| {
        slots.position(slot.number()) * 2
            + match slot.moment() {
                Moment::Block | Moment::EarlyClobber => 0,
                Moment::Register => 1,
                Moment::Dead => 2,
            }
    };
    let count = slots.position_count() * 2 + 2;
    let mut changes = [vec![0i32; count], vec![0i32; count]];
    for entity in 0..intervals.entity_count() as u32 {
        let units = units(entity) as i32;
        if units == 0 {
            continue;
        }
        let changes = &mut changes[file_index(program.file(entity))];
        for segment in intervals.segments(entity) {
            changes[point(segment.start)] += units;
            changes[point(segment.end)] -= units;
        }
    }
    changes
}

impl Pressure {
    /// Adds up intervals.
    pub fn of(program: &impl Program, intervals: &LiveIntervals) -> Pressure {
        Pressure::weighted(program, intervals, |entity| program.units(entity))
    }

    /// Adds up intervals with other widths than the program's.
    pub fn weighted(
        program: &impl Program,
        intervals: &LiveIntervals,
        units: impl Fn(u32) -> u32,
    ) -> Pressure {
        let slots = intervals.slots();
        let changes = changes(program, intervals, units);
        let nowhere = Slot::new(0, Moment::Block);
        let nothing = Peak {
            units: 0,
            instruction: None,
            slot: nowhere,
        };
        let mut pressure = Pressure {
            data: vec![0; program.instruction_count()],
            predicates: vec![0; program.instruction_count()],
            peaks: [nothing; 2],
        };
        let mut now = [0i32; 2];
        for position in 0..slots.position_count() {
            let Place::Instruction(instruction) = slots.place_at(position) else {
                for file in 0..2 {
                    now[file] += changes[file][position * 2] + changes[file][position * 2 + 1];
                }
                continue;
            };
            for (file, moments) in [&mut pressure.data, &mut pressure.predicates]
                .into_iter()
                .enumerate()
            {
                for moment in 0..2 {
                    now[file] += changes[file][position * 2 + moment];
                    let units = now[file] as u32;
                    moments[instruction as usize] = moments[instruction as usize].max(units);
                    let peak = &mut pressure.peaks[file];
                    if units > peak.units || peak.instruction.is_none() {
                        let at = [Moment::EarlyClobber, Moment::Register][moment];
                        *peak = Peak {
                            units,
                            instruction: Some(instruction),
                            slot: slots.slot(instruction, at),
                        };
                    }
                }
            }
        }
        pressure
    }

    /// How much of a file comes into each block from its predecessors.
    pub fn into_blocks(
        program: &impl Program,
        intervals: &LiveIntervals,
        file: RegisterFile,
    ) -> Vec<u32> {
        Pressure::into_blocks_weighted(program, intervals, file, |entity| program.units(entity))
    }

    /// Likewise, with other widths than the program's.
    pub fn into_blocks_weighted(
        program: &impl Program,
        intervals: &LiveIntervals,
        file: RegisterFile,
        units: impl Fn(u32) -> u32,
    ) -> Vec<u32> {
        let slots = intervals.slots();
        let changes = changes(program, intervals, &units);
        let changes = &changes[file_index(file)];
        let mut blocks = vec![0; program.block_count()];
        let (mut now, mut next) = (0i32, 0);
        for (block, into) in blocks.iter_mut().enumerate() {
            let start = slots.position(slots.start(block as u32).number()) * 2;
            now += changes[next..=start].iter().sum::<i32>();
            next = start + 1;
            let defined: u32 = program
                .entry_definitions(block as u32)
                .iter()
                .filter(|&&entity| program.file(entity) == file)
                .map(|&entity| units(entity))
                .sum();
            *into = (now as u32).saturating_sub(defined);
        }
        blocks
    }

    /// The highest pressure in a file.
    pub fn peak(&self, file: RegisterFile) -> Peak {
        self.peaks[file_index(file)]
    }

    /// The pressure at an instruction.
    pub fn at(&self, file: RegisterFile, instruction: u32) -> u32 {
        match file {
            RegisterFile::Data => self.data[instruction as usize],
            RegisterFile::Predicate => self.predicates[instruction as usize],
        }
    }

    /// The pressure of all instructions, in order.
    pub fn along(&self, file: RegisterFile) -> &[u32] {
        match file {
            RegisterFile::Data => &self.data,
            RegisterFile::Predicate => &self.predicates,
        }
    }

    /// What is live at a slot in a file, in order of numbers.
    pub fn live_at(
        program: &impl Program,
        intervals: &LiveIntervals,
        file: RegisterFile,
        slot: Slot,
    ) -> Vec<u32> {
        (0..intervals.entity_count() as u32)
            .filter(|&entity| program.file(entity) == file && intervals.is_live_at(entity, slot))
            .collect()
    }
}
