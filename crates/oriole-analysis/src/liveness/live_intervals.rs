//! Where each register or value is live, and which of its values is.
//!
//! ## Example
//! ```text
//! 0   block 0
//! 4   mov %r1, 0              %r1: [4r,12B:0) [12B,16r:1) [16r,24B:2)
//! 8   mov %r2, %n                  0 @ 4r   1 @ 12B phi   2 @ 16r
//! 12  L:
//! 16  add %r1, %r1, 1
//! 20  @p bra L
//! 24  …
//! ```
//! An interval is a list of segments `[start, end)`, sorted and disjoint, each with a value number. A value number is a
//! definition: an instruction, a block parameter, a join of several values (PHI), or what was there before the function
//! began. Neighbouring segments of one value are one segment. A result nobody reads is live from the moment it exists to the
//! next: it takes a register too.
//!
//! ## Method
//! One walk backward through the layout finds all segments. Between a block and the next in layout only what changes is
//! touched: what is live out above and not live in below, and the other way round, found a word of the live sets at a time.
//! Registers with one definition that reaches all their uses, nearly all there are, need nothing more. For the others values
//! are told apart as [`joins`](super::joins) says: their segments are cut where values join, and where no control goes from
//! a block to the next. All is linear in the instructions and the boundaries where something changes.
//!
//! Results are in three arrays, 12 bytes a segment and 8 a value. Nothing changes them: after a change of the function they are
//! computed again.

use super::deep_nests::Changes;
use super::joins::{DEFINITION, Joins, origin};
use super::live_sets::{LiveSets, Method, Words};
use super::program::Program;
use super::slot_indexes::{Moment, Slot, SlotIndexes};

/// What defines a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An instruction.
    Instruction,
    /// The start of a block: an SSA parameter.
    Parameter,
    /// The start of a block where several values meet.
    Phi,
    /// Nothing in the function: it is read before it is written.
    LiveIn,
}

/// A value of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueNumber {
    /// Where it begins.
    pub definition: Slot,
    /// What begins it.
    pub kind: ValueKind,
}

/// A stretch of code in which one value is live.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// The first slot.
    pub start: Slot,
    /// The slot behind the last.
    pub end: Slot,
    /// Which value, as an index in the interval's values.
    pub value: u32,
}

impl std::fmt::Debug for Segment {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "[{:?},{:?}:{})",
            self.start, self.end, self.value
        )
    }
}

/// The live intervals of everything in a program.
#[derive(Clone, Debug)]
pub struct LiveIntervals {
    slots: SlotIndexes,
    sets: LiveSets,
    segment_starts: Vec<u32>,
    segments: Vec<Segment>,
    value_starts: Vec<u32>,
    values: Vec<ValueNumber>,
}

/// An end that means "not open".
const CLOSED: u32 = 0;

struct Raw {
    entity: u32,
    origin: u32,
    start: Slot,
    end: Slot,
}

struct Walk<'a, P> {
    program: &'a P,
    slots: &'a SlotIndexes,
    sets: &'a LiveSets,
    /// Bits of globals with several values.
    complex: &'a [u64],
    /// Where these join.
    joins: &'a Words,
    /// Position of each block in postorder.
    positions: Vec<u32>,
    /// What changes between blocks, if it was found beforehand.
    changes: Option<Changes>,
    /// End of the segment that is being walked back, in bits of a slot.
    open: Vec<u32>,
    /// Where each global with one value is defined.
    definition: Vec<u32>,
    raw: Vec<Raw>,
    /// The block whose segments are found.
    block: u32,
    /// Scratch, a word each: what is live out above a boundary, live in below, and joins below; zero in between.
    out: Vec<u64>,
    inside: Vec<u64>,
    joining: Vec<u64>,
    /// Words that are not zero.
    list: Vec<u32>,
}

impl<P: Program> Walk<'_, P> {
    fn run(&mut self) {
        let (program, slots) = (self.program, self.slots);
        for block in (0..program.block_count() as u32).rev() {
            // What is closed at the boundary belongs to the block below.
            self.block = block + 1;
            self.boundary(block);
            self.block = block;
            if !self.sets.is_reachable(block) {
                continue;
            }
            for instruction in program.instructions(block).rev() {
                let at = slots.slot(instruction, Moment::Block);
                let accesses = program.accesses(instruction);
                for &access in accesses {
                    if access.defines() {
                        self.define(access.entity(), at.at(Moment::Register));
                    }
                }
                for &access in accesses {
                    let open = &mut self.open[access.entity() as usize];
                    if access.uses() && *open == CLOSED {
                        *open = at.at(Moment::Register).bits();
                    }
                }
            }
            for &entity in program.entry_definitions(block) {
                self.define(entity, slots.start(block));
            }
        }
        if program.block_count() > 0 {
            self.close_live_in_of_entry();
        }
    }

    fn define(&mut self, entity: u32, start: Slot) {
        let end = std::mem::replace(&mut self.open[entity as usize], CLOSED);
        let end = if end == CLOSED {
            start.at(Moment::Dead)
        } else {
            slot_from_bits(end)
        };
        self.raw.push(Raw {
            entity,
            origin: DEFINITION,
            start,
            end,
        });
        if let Some(bit) = self.sets.bit(entity) {
            self.definition[bit as usize] = start.bits();
        }
    }

    fn close(&mut self, bit: u32, start: Slot, is_join: bool) {
        let entity = self.sets.entity(bit);
        let end = std::mem::replace(&mut self.open[entity as usize], CLOSED);
        debug_assert!(end != CLOSED);
        self.raw.push(Raw {
            entity,
            origin: origin(self.block, is_join),
            start,
            end: slot_from_bits(end),
        });
    }

    fn close_live_in_of_entry(&mut self) {
        let (sets, start) = (self.sets, self.slots.start(0));
        let mut bits = Vec::new();
        sets.for_each_live_in(0, |bit| bits.push(bit));
        for bit in bits {
            let is_join = self.joins.word(0, bit / 64) >> (bit % 64) & 1 != 0;
            self.close(bit, start, is_join);
        }
    }

    /// Between the end of `above` and the start of the block below it in layout.
    fn boundary(&mut self, above: u32) {
        let (program, sets, joins) = (self.program, self.sets, self.joins);
        let at = self.slots.end(above);
        if let Some(changes) = self.changes.take() {
            for change in changes.of(above) {
                if change.closes {
                    self.close(change.bit, at, change.is_join);
                }
                if change.opens {
                    self.open[sets.entity(change.bit) as usize] = at.bits();
                }
            }
            self.changes = Some(changes);
            return;
        }
        let below = (above as usize + 1 < program.block_count()).then_some(above + 1);
        let is_reachable = sets.is_reachable(above);
        let successors: &[u32] = if is_reachable {
            program.successors().of(above)
        } else {
            &[]
        };
        let exits: &[u32] = if is_reachable {
            program.exit_uses(above)
        } else {
            &[]
        };
        let falls_through = falls_through(program, sets, &self.positions, above);
        if let Some(words) = sets.sparse() {
            for &successor in successors {
                for (index, word) in words.of(successor) {
                    let out = &mut self.out[index as usize];
                    if *out == 0 {
                        self.list.push(index);
                    }
                    *out |= word;
                }
            }
            if let Some(below) = below {
                for (index, word) in words.of(below) {
                    if self.out[index as usize] == 0 {
                        self.list.push(index);
                    }
                    self.inside[index as usize] = word;
                }
            }
        } else {
            for &successor in successors {
                let row = sets.row(successor).expect("dense");
                for (word, &other) in self.out.iter_mut().zip(row) {
                    *word |= other;
                }
            }
            match below {
                Some(below) => self.inside.copy_from_slice(sets.row(below).expect("dense")),
                None => self.inside.fill(0),
            }
        }
        for &entity in exits {
            let bit = sets.bit(entity).expect("what is read at an exit is global");
            let index = bit as usize / 64;
            if self.out[index] | self.inside[index] == 0 && sets.is_sparse() {
                self.list.push(index as u32);
            }
            self.out[index] |= 1 << (bit % 64);
        }
        if let Some(below) = below {
            for (index, word) in joins.of(below) {
                self.joining[index as usize] = word;
            }
        }
        if sets.is_sparse() {
            let mut list = std::mem::take(&mut self.list);
            for &index in &list {
                self.boundary_word(index as usize, at, falls_through);
            }
            list.clear();
            self.list = list;
        } else {
            for index in 0..sets.word_count() {
                self.boundary_word(index, at, falls_through);
            }
        }
    }

    /// Closes and opens what changes at a boundary, of one word of globals, and makes the scratch words zero again.
    fn boundary_word(&mut self, index: usize, at: Slot, falls_through: bool) {
        let out = std::mem::take(&mut self.out[index]);
        let inside = std::mem::take(&mut self.inside[index]);
        let joining = std::mem::take(&mut self.joining[index]);
        let cut = if falls_through {
            joining
        } else {
            self.complex[index]
        };
        let mut closes = inside & (!out | cut);
        while closes != 0 {
            let low = closes.trailing_zeros();
            self.close(index as u32 * 64 + low, at, joining >> low & 1 != 0);
            closes &= closes - 1;
        }
        let mut opens = out & (!inside | cut);
        while opens != 0 {
            let entity = self.sets.entity(index as u32 * 64 + opens.trailing_zeros());
            self.open[entity as usize] = at.bits();
            opens &= opens - 1;
        }
    }
}

/// Whether control goes from a block to the next in layout. Where it does not, values with several definitions may differ. Where
/// it goes back in depth-first order they do not, but a segment should begin in a block that nothing else in it dominates.
fn falls_through(program: &impl Program, sets: &LiveSets, positions: &[u32], above: u32) -> bool {
    let below = above + 1;
    (below as usize) < program.block_count()
        && sets.is_reachable(above)
        && program.successors().of(above).contains(&below)
        && positions[above as usize] > positions[below as usize]
}

fn slot_from_bits(bits: u32) -> Slot {
    let moment = match bits & 3 {
        0 => Moment::Block,
        1 => Moment::EarlyClobber,
        2 => Moment::Register,
        _ => Moment::Dead,
    };
    Slot::new(bits >> 2, moment)
}

impl LiveIntervals {
    /// The intervals of a program.
    pub fn of(program: &impl Program) -> LiveIntervals {
        LiveIntervals::with(program, Method::Automatic)
    }

    /// The intervals of a program, with live sets computed in a given way.
    pub fn with(program: &impl Program, method: Method) -> LiveIntervals {
        let slots = SlotIndexes::of(program);
        let (sets, defined) = LiveSets::with_definitions(program, method);
        let bits = sets.bit_count();
        let complex = complex_globals(&sets);
        let entities = program.entity_count();
        let mut dominators = complex
            .iter()
            .any(|&word| word != 0)
            .then(|| Joins::new(program));
        let joins = match (&dominators, sets.runs()) {
            (_, Some(runs)) => runs.joins(program.block_count()),
            (Some(dominators), None) => dominators.place(program, &sets, &complex, &defined),
            (None, None) => Words::new(program.block_count(), &[]),
        };
        let positions = sets.positions();
        let changes = Changes::new(program, &sets, &defined, &complex, |above| {
            falls_through(program, &sets, &positions, above)
        });
        drop(defined);
        let mut walk = Walk {
            program,
            slots: &slots,
            sets: &sets,
            complex: &complex,
            joins: &joins,
            positions,
            changes,
            open: vec![CLOSED; entities],
            definition: vec![u32::MAX; bits],
            raw: Vec::with_capacity(program.instruction_count()),
            block: 0,
            out: vec![0; sets.word_count()],
            inside: vec![0; sets.word_count()],
            joining: vec![0; sets.word_count()],
            list: Vec::new(),
        };
        walk.run();
        let Walk {
            raw, definition, ..
        } = walk;
        drop(joins);
        let (starts, sorted) = sort_by_entity(raw, entities);
        let mut intervals = LiveIntervals {
            slots,
            sets,
            segment_starts: Vec::with_capacity(entities + 1),
            segments: Vec::with_capacity(sorted.len()),
            value_starts: Vec::with_capacity(entities + 1),
            values: Vec::with_capacity(sorted.len()),
        };
        for entity in 0..entities as u32 {
            intervals
                .segment_starts
                .push(intervals.segments.len() as u32);
            intervals.value_starts.push(intervals.values.len() as u32);
            let range = starts[entity as usize] as usize..starts[entity as usize + 1] as usize;
            if range.is_empty() {
                continue;
            }
            let raw = &sorted[range];
            match intervals.sets.bit(entity) {
                // Never live across blocks: every definition is a value of its own.
                None => {
                    for (value, segment) in raw.iter().enumerate() {
                        intervals.segments.push(Segment {
                            value: value as u32,
                            ..*segment
                        });
                        intervals.values.push(ValueNumber {
                            definition: segment.start,
                            kind: kind_at(segment.start),
                        });
                    }
                }
                Some(bit) if complex[bit as usize / 64] >> (bit % 64) & 1 == 0 => {
                    let first = intervals.segments.len();
                    for &segment in raw {
                        // A block parameter begins where a block ends that the value is live out of, if that is laid out
                        // before the block and comes behind it.
                        match intervals.segments[first..].last_mut() {
                            Some(last) if last.end == segment.start => last.end = segment.end,
                            _ => intervals.segments.push(Segment {
                                value: 0,
                                ..segment
                            }),
                        }
                    }
                    let definition = match definition[bit as usize] {
                        u32::MAX => None,
                        bits => Some(slot_from_bits(bits)),
                    };
                    intervals.values.push(ValueNumber {
                        definition: definition.unwrap_or_else(|| intervals.slots.start(0)),
                        kind: definition.map_or(ValueKind::LiveIn, kind_at),
                    });
                }
                Some(_) => {
                    let dominators = dominators.as_mut().expect("made for complex registers");
                    dominators.resolve(
                        &intervals.slots,
                        raw,
                        &mut intervals.segments,
                        &mut intervals.values,
                    );
                }
            }
        }
        intervals
            .segment_starts
            .push(intervals.segments.len() as u32);
        intervals.value_starts.push(intervals.values.len() as u32);
        intervals.segments.shrink_to_fit();
        intervals.values.shrink_to_fit();
        intervals
    }

    /// The slots segments are made of.
    pub fn slots(&self) -> &SlotIndexes {
        &self.slots
    }

    /// The live-in and live-out sets.
    pub fn sets(&self) -> &LiveSets {
        &self.sets
    }

    /// Leaves only what is live at the start of blocks.
    pub fn into_sets(self) -> LiveSets {
        self.sets
    }

    /// How many things have an interval.
    pub fn entity_count(&self) -> usize {
        self.segment_starts.len() - 1
    }

    /// The segments of an interval, in order.
    pub fn segments(&self, entity: u32) -> &[Segment] {
        let at = entity as usize;
        &self.segments[self.segment_starts[at] as usize..self.segment_starts[at + 1] as usize]
    }

    /// The values of an interval, in order of their definitions.
    pub fn values(&self, entity: u32) -> &[ValueNumber] {
        let at = entity as usize;
        &self.values[self.value_starts[at] as usize..self.value_starts[at + 1] as usize]
    }

    /// Bytes kept, without the live sets.
    pub fn bytes(&self) -> usize {
        self.slots.position_count() * 8
            + (self.segment_starts.len() + self.value_starts.len()) * 4
            + self.segments.len() * size_of::<Segment>()
            + self.values.len() * size_of::<ValueNumber>()
    }

    /// The segment that covers a slot.
    pub fn segment_at(&self, entity: u32, slot: Slot) -> Option<Segment> {
        let segments = self.segments(entity);
        let behind = segments.partition_point(|segment| segment.start <= slot);
        let segment = *segments.get(behind.checked_sub(1)?)?;
        (slot < segment.end).then_some(segment)
    }

    /// The value that is live at a slot.
    pub fn value_at(&self, entity: u32, slot: Slot) -> Option<u32> {
        self.segment_at(entity, slot).map(|segment| segment.value)
    }

    /// Whether something is live at a slot.
    pub fn is_live_at(&self, entity: u32, slot: Slot) -> bool {
        self.segment_at(entity, slot).is_some()
    }

    /// Whether something comes into a block from its predecessors.
    pub fn is_live_in(&self, entity: u32, block: u32) -> bool {
        let start = self.slots.start(block);
        self.segment_at(entity, start).is_some_and(|segment| {
            let value = self.values(entity)[segment.value as usize];
            value.definition != start || value.kind != ValueKind::Parameter
        })
    }

    /// Whether something is live at the end of a block.
    pub fn is_live_out(&self, entity: u32, block: u32) -> bool {
        let end = self.slots.end(block);
        let segments = self.segments(entity);
        let behind = segments.partition_point(|segment| segment.start < end);
        behind > 0 && segments[behind - 1].end >= end
    }
}

/// Whether two sorted lists of segments have a slot in common.
pub fn overlap(mut one: &[Segment], mut other: &[Segment]) -> bool {
    while let ([first, rest @ ..], [second, others @ ..]) = (one, other) {
        if first.end <= second.start {
            one = rest;
        } else if second.end <= first.start {
            other = others;
        } else {
            return true;
        }
    }
    false
}

/// The bits of registers with several values, which are told apart by where they join.
fn complex_globals(sets: &LiveSets) -> Vec<u64> {
    let mut complex = vec![0u64; sets.word_count()];
    for entity in sets.globals() {
        let bit = sets.bit(entity).expect("a global");
        if sets.is_complex(bit, sets.is_live_in(entity, 0)) {
            complex[bit as usize / 64] |= 1 << (bit % 64);
        }
    }
    complex
}

fn kind_at(definition: Slot) -> ValueKind {
    if definition.moment() == Moment::Block {
        ValueKind::Parameter
    } else {
        ValueKind::Instruction
    }
}

/// Sorts segments found backward by entity and then forward; their origins stand in place of values.
fn sort_by_entity(raw: Vec<Raw>, entities: usize) -> (Vec<u32>, Vec<Segment>) {
    let mut starts = vec![0u32; entities + 1];
    for segment in &raw {
        starts[segment.entity as usize + 1] += 1;
    }
    for entity in 0..entities {
        starts[entity + 1] += starts[entity];
    }
    let mut next: Vec<u32> = starts[1..].to_vec();
    let none = Slot::new(0, Moment::Block);
    let mut sorted = vec![
        Segment {
            start: none,
            end: none,
            value: 0
        };
        raw.len()
    ];
    for Raw {
        entity,
        origin,
        start,
        end,
    } in raw
    {
        let place = &mut next[entity as usize];
        *place -= 1;
        sorted[*place as usize] = Segment {
            start,
            end,
            value: origin,
        };
    }
    (starts, sorted)
}

impl PartialEq for LiveIntervals {
    fn eq(&self, other: &LiveIntervals) -> bool {
        self.slots == other.slots
            && self.entity_count() == other.entity_count()
            && (0..self.entity_count() as u32).all(|entity| {
                self.segments(entity) == other.segments(entity)
                    && self.values(entity) == other.values(entity)
            })
    }
}
