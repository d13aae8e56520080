//! The slow twin: live ranges in the plainest way there is, to compare with.
//!
//! For each register, from each use, one slot at a time backward until a definition, over every predecessor; joins by the
//! textbook definition of dominance (a block dominates what cannot be reached without it) and of dominance frontiers;
//! values by going round until nothing changes. Quadratic in nearly everything, and shares nothing with the engine but
//! the numbering of slots.

use super::live_intervals::{Segment, ValueKind, ValueNumber};
use super::program::Program;
use super::slot_indexes::{Moment, STEP, Slot};

/// The interval of one register: segments and values.
pub type Interval = (Vec<Segment>, Vec<ValueNumber>);

/// A program with every slot spelled out.
#[derive(Debug)]
pub struct Twin<'a, P> {
    program: &'a P,
    /// For each number: the block that starts, or the instruction.
    places: Vec<(Option<u32>, Option<u32>)>,
    /// Positions of block starts, and of the end.
    starts: Vec<usize>,
    reachable: Vec<bool>,
    /// `dominates[a][b]`, found when first needed.
    dominates: Option<Vec<Vec<bool>>>,
}

fn reach(program: &impl Program, without: Option<u32>) -> Vec<bool> {
    let mut seen = vec![false; program.block_count()];
    let mut stack = vec![0u32];
    while let Some(block) = stack.pop() {
        if Some(block) == without || seen[block as usize] {
            continue;
        }
        seen[block as usize] = true;
        stack.extend_from_slice(program.successors().of(block));
    }
    seen
}

impl<'a, P: Program> Twin<'a, P> {
    /// Spells out a program.
    pub fn new(program: &'a P) -> Twin<'a, P> {
        let mut places = Vec::new();
        let mut starts = Vec::new();
        for block in 0..program.block_count() as u32 {
            starts.push(places.len());
            places.push((Some(block), None));
            for instruction in program.instructions(block) {
                places.push((None, Some(instruction)));
            }
        }
        starts.push(places.len());
        Twin {
            reachable: reach(program, None),
            program,
            places,
            starts,
            dominates: None,
        }
    }

    fn accesses(&self, position: usize, entity: u32) -> (bool, Option<Moment>) {
        let Some(instruction) = self.places[position].1 else {
            return (false, None);
        };
        let mut found = (false, None);
        for access in self.program.accesses(instruction) {
            if access.entity() == entity {
                found.0 |= access.uses();
                if access.defines() {
                    found.1 = Some(Moment::Register);
                }
            }
        }
        found
    }

    /// Marks what is live before `point` (a position times four and a moment), backward to the definitions.
    fn mark(&self, live: &mut [bool], entity: u32, point: usize) {
        let mut stack = vec![point];
        while let Some(mut point) = stack.pop() {
            loop {
                // `point` itself is not live: the one before it is, if it is in the same block.
                if point == 0 {
                    break;
                }
                let before = point - 1;
                if live[before] {
                    break;
                }
                live[before] = true;
                let position = before / 4;
                let definition = self.accesses(position, entity).1;
                if definition.is_some_and(|moment| moment as usize == before % 4) {
                    break;
                }
                if before % 4 == 0
                    && let Some(block) = self.places[position].0
                {
                    if !self.program.entry_definitions(block).contains(&entity) {
                        for &from in self.program.predecessors().of(block) {
                            if self.reachable[from as usize] {
                                stack.push(self.starts[from as usize + 1] * 4);
                            }
                        }
                    }
                    break;
                }
                point = before;
            }
        }
    }

    fn slot(point: usize) -> Slot {
        let moment = [
            Moment::Block,
            Moment::EarlyClobber,
            Moment::Register,
            Moment::Dead,
        ][point % 4];
        Slot::new((point / 4) as u32 * STEP, moment)
    }

    fn dominates(&mut self) -> &Vec<Vec<bool>> {
        let program = self.program;
        let reachable = &self.reachable;
        self.dominates.get_or_insert_with(|| {
            (0..program.block_count() as u32)
                .map(|block| {
                    let rest = reach(program, Some(block));
                    rest.iter()
                        .zip(reachable)
                        .map(|(&still, &was)| was && !still)
                        .collect()
                })
                .collect()
        })
    }

    /// Blocks where values of a register join.
    fn joins(&mut self, defining: &[u32], is_live_in: &[bool]) -> Vec<bool> {
        let program = self.program;
        let reachable = self.reachable.clone();
        let dominates = self.dominates();
        let mut joins = vec![false; program.block_count()];
        let mut work = defining.to_vec();
        while let Some(block) = work.pop() {
            for target in 0..program.block_count() as u32 {
                let strictly = dominates[block as usize][target as usize] && block != target;
                let in_frontier = !strictly
                    && program.predecessors().of(target).iter().any(|&from| {
                        reachable[from as usize] && dominates[block as usize][from as usize]
                    });
                if in_frontier && is_live_in[target as usize] && !joins[target as usize] {
                    joins[target as usize] = true;
                    work.push(target);
                }
            }
        }
        joins
    }

    /// The interval of one thing.
    pub fn interval(&mut self, entity: u32) -> Interval {
        let program = self.program;
        let blocks = program.block_count();
        let points = self.places.len() * 4;
        let mut live = vec![false; points];
        let mut definitions: Vec<(usize, ValueKind)> = Vec::new();
        let mut defining: Vec<u32> = Vec::new();
        for block in (0..blocks as u32).filter(|&block| self.reachable[block as usize]) {
            if program.entry_definitions(block).contains(&entity) {
                definitions.push((self.starts[block as usize] * 4, ValueKind::Parameter));
                defining.push(block);
            }
            for position in self.starts[block as usize] + 1..self.starts[block as usize + 1] {
                let (uses, defines) = self.accesses(position, entity);
                if uses {
                    self.mark(&mut live, entity, position * 4 + Moment::Register as usize);
                }
                if let Some(moment) = defines {
                    definitions.push((position * 4 + moment as usize, ValueKind::Instruction));
                    defining.push(block);
                }
            }
            if program.exit_uses(block).contains(&entity) {
                self.mark(&mut live, entity, self.starts[block as usize + 1] * 4);
            }
        }
        for &(point, _) in &definitions {
            if !live[point] {
                live[point..point / 4 * 4 + Moment::Dead as usize].fill(true);
            }
        }
        let is_live_in: Vec<bool> = (0..blocks)
            .map(|block| {
                let point = self.starts[block] * 4;
                live[point] && !definitions.iter().any(|definition| definition.0 == point)
            })
            .collect();
        let joins = if definitions.is_empty() || is_live_in.iter().all(|&is| !is) {
            vec![false; blocks]
        } else {
            self.joins(&defining, &is_live_in)
        };
        let mut all = definitions;
        for block in 0..blocks {
            if is_live_in[block] && (joins[block] || block == 0) {
                let kind = if joins[block] {
                    ValueKind::Phi
                } else {
                    ValueKind::LiveIn
                };
                all.push((self.starts[block] * 4, kind));
            }
        }
        all.sort_unstable_by_key(|value| value.0);
        let segments = self.segments(&live, &all);
        let values = all
            .iter()
            .map(|&(point, kind)| ValueNumber {
                definition: Self::slot(point),
                kind,
            })
            .collect();
        (segments, values)
    }

    /// Runs of live slots with one value.
    fn segments(&self, live: &[bool], values: &[(usize, ValueKind)]) -> Vec<Segment> {
        let blocks = self.program.block_count();
        // The value at the end of each block, until nothing changes.
        let mut at_end: Vec<Option<u32>> = vec![None; blocks];
        let mut by_point: Vec<Option<u32>> = vec![None; live.len()];
        for (value, &(point, _)) in values.iter().enumerate() {
            by_point[point] = Some(value as u32);
        }
        let mut changed = true;
        let mut value_of = vec![None; live.len()];
        while changed {
            changed = false;
            for block in 0..blocks {
                let mut value = self
                    .program
                    .predecessors()
                    .of(block as u32)
                    .iter()
                    .find_map(|&from| at_end[from as usize]);
                for point in self.starts[block] * 4..self.starts[block + 1] * 4 {
                    value = by_point[point].or(value);
                    if live[point] {
                        value_of[point] = value;
                    } else {
                        value = None;
                    }
                }
                if at_end[block] != value {
                    at_end[block] = value;
                    changed = true;
                }
            }
        }
        let mut segments: Vec<Segment> = Vec::new();
        for point in 0..live.len() {
            if !live[point] {
                continue;
            }
            let value = value_of[point].expect("what is live has a value");
            let (start, end) = (Self::slot(point), Self::slot(point + 1));
            match segments.last_mut() {
                Some(last) if last.end == start && last.value == value => last.end = end,
                _ => segments.push(Segment { start, end, value }),
            }
        }
        segments
    }
}
