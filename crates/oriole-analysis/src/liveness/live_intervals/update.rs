//! Changes of live intervals: each of one interval, and the others stay as they are.

use super::{
    LiveIntervals, Owned, Segment, ValueKind, ValueNumber, kind_at, moment_of, slot_from_bits,
};
use crate::liveness::joins::{Joins, Walk as JoinWalk, origin};
use crate::liveness::program::Program;
use crate::liveness::slot_indexes::{Moment, Renumbering, Slot, SlotIndexes};
use std::collections::BTreeMap;

impl LiveIntervals {
    fn edit(&mut self, entity: u32) -> &mut Owned {
        let owned = Owned {
            segments: self.segments(entity).to_vec(),
            values: self.values(entity).to_vec(),
        };
        self.edited.entry(entity).or_insert(owned)
    }

    /// Adds a value that nothing reads yet, and gives its number. A value defined there already stays.
    pub fn create_dead_def(&mut self, entity: u32, definition: Slot) -> u32 {
        let owned = self.edit(entity);
        let place = owned
            .values
            .partition_point(|value| value.definition < definition);
        if owned
            .values
            .get(place)
            .is_some_and(|value| value.definition == definition)
        {
            return place as u32;
        }
        owned.values.insert(
            place,
            ValueNumber {
                definition,
                kind: kind_at(definition),
            },
        );
        for segment in &mut owned.segments {
            segment.value += u32::from(segment.value as usize >= place);
        }
        self.add_segment(
            entity,
            Segment {
                start: definition,
                end: definition.at(Moment::Dead),
                value: place as u32,
            },
        );
        place as u32
    }

    /// Makes a value live in a stretch, joining it with what touches it. Where another value was live it is not any more.
    pub fn add_segment(&mut self, entity: u32, segment: Segment) {
        let owned = self.edit(entity);
        let mut result = Vec::with_capacity(owned.segments.len() + 2);
        let mut new = segment;
        for &old in &owned.segments {
            if old.end < new.start || old.start > new.end {
                result.push(old);
            } else if old.value == new.value {
                new.start = new.start.min(old.start);
                new.end = new.end.max(old.end);
            } else {
                for (start, end) in [
                    (old.start, old.end.min(new.start)),
                    (old.start.max(new.end), old.end),
                ] {
                    if start < end {
                        result.push(Segment {
                            start,
                            end,
                            value: old.value,
                        });
                    }
                }
            }
        }
        result.push(new);
        result.sort_unstable_by_key(|segment| segment.start);
        owned.segments = result;
    }

    /// Makes an interval reach further uses (slots at which it is read, block ends included), joining values where they
    /// meet on the way. Whether it was extended: it is live somewhere it was not.
    pub fn extend_to_uses(&mut self, program: &impl Program, entity: u32, uses: &[Slot]) -> bool {
        let reach = |intervals: &LiveIntervals| -> u64 {
            let segments = intervals.segments(entity).iter();
            let lengths = segments.map(|it| u64::from(it.end.bits() - it.start.bits()));
            lengths.sum()
        };
        let before = reach(self);
        // What is live stays live: each block's part of a segment counts as a use where it ends.
        let mut all: Vec<Slot> = Vec::new();
        for segment in self.segments(entity) {
            let mut block = self.slots.block_at(segment.start);
            while self.slots.end(block) < segment.end {
                all.push(self.slots.end(block));
                block += 1;
            }
            if segment.end.moment() != Moment::Dead {
                all.push(segment.end);
            }
        }
        all.extend_from_slice(uses);
        let definitions = self.definitions(entity);
        self.compute(program, entity, &definitions, &all);
        reach(self) > before
    }

    /// Cuts an interval down to its definitions and these uses, and gives the definitions that nothing reads any more.
    pub fn shrink(&mut self, program: &impl Program, entity: u32, uses: &[Slot]) -> Vec<Slot> {
        let definitions = self.definitions(entity);
        self.compute(program, entity, &definitions, uses);
        self.segments(entity)
            .iter()
            .filter(|segment| segment.end == segment.start.at(Moment::Dead))
            .map(|segment| segment.start)
            .collect()
    }

    fn definitions(&self, entity: u32) -> Vec<Slot> {
        self.values(entity)
            .iter()
            .filter(|value| matches!(value.kind, ValueKind::Instruction | ValueKind::Parameter))
            .map(|value| value.definition)
            .collect()
    }

    /// Computes intervals again from what the program says now: after instructions were moved, deleted or renamed, for
    /// everything they mention or mentioned. `instruction` gives the name under which the slots know an instruction.
    pub fn update(
        &mut self,
        program: &impl Program,
        entities: &[u32],
        instruction: impl Fn(u32) -> u32,
    ) {
        let mut wanted: BTreeMap<u32, (Vec<Slot>, Vec<Slot>)> = BTreeMap::new();
        for &entity in entities {
            wanted.insert(entity, (Vec::new(), Vec::new()));
        }
        for block in 0..program.block_count() as u32 {
            if !self.sets.is_reachable(block) {
                continue;
            }
            let (start, end) = (self.slots.start(block), self.slots.end(block));
            for &entity in program.entry_definitions(block) {
                if let Some((definitions, _)) = wanted.get_mut(&entity) {
                    definitions.push(start);
                }
            }
            for &entity in program.exit_uses(block) {
                if let Some((_, uses)) = wanted.get_mut(&entity) {
                    uses.push(end);
                }
            }
            for number in program.instructions(block) {
                for &access in program.accesses(number) {
                    if let Some((definitions, uses)) = wanted.get_mut(&access.entity()) {
                        let name = instruction(number);
                        if access.uses() {
                            uses.push(self.slots.slot(name, Moment::Register));
                        }
                        if access.defines() {
                            definitions.push(self.slots.slot(name, moment_of(access)));
                        }
                    }
                }
            }
        }
        for &entity in entities {
            if let Some((definitions, uses)) = wanted.remove(&entity) {
                self.compute(program, entity, &definitions, &uses);
            }
        }
    }

    /// The numbers of instructions, to insert and remove some. Renumberings are to be applied.
    pub fn slots_mut(&mut self) -> &mut SlotIndexes {
        &mut self.slots
    }

    /// Follows a renumbering.
    pub fn apply(&mut self, renumbering: &Renumbering) {
        if renumbering.is_empty() {
            return;
        }
        let repair = |segments: &mut [Segment], values: &mut [ValueNumber]| {
            for segment in segments {
                segment.start = renumbering.apply(segment.start);
                segment.end = renumbering.apply(segment.end);
            }
            for value in values {
                value.definition = renumbering.apply(value.definition);
            }
        };
        repair(&mut self.segments, &mut self.values);
        for owned in self.edited.values_mut() {
            repair(&mut owned.segments, &mut owned.values);
        }
    }

    /// One interval from definitions and uses.
    fn compute(
        &mut self,
        program: &impl Program,
        entity: u32,
        definitions: &[Slot],
        uses: &[Slot],
    ) {
        // What happens in each block, in order; at one number a use comes before a definition.
        let mut events: Vec<(u32, Slot, bool)> = Vec::new();
        for &slot in definitions {
            events.push((self.slots.block_at(slot), slot, true));
        }
        for &slot in uses {
            let inside = slot_from_bits(slot.bits() - 1);
            events.push((self.slots.block_at(inside), slot, false));
        }
        events.retain(|event| self.sets.is_reachable(event.0));
        events.sort_unstable();
        events.dedup();
        let blocks = program.block_count();
        let mut live_in = vec![false; blocks];
        let mut defines = vec![false; blocks];
        let mut stack = Vec::new();
        for group in events.chunk_by(|a, b| a.0 == b.0) {
            let block = group[0].0;
            defines[block as usize] = group.iter().any(|event| event.2);
            if !group[0].2 {
                stack.push(block);
            }
        }
        while let Some(block) = stack.pop() {
            if std::mem::replace(&mut live_in[block as usize], true) {
                continue;
            }
            for &from in program.predecessors().of(block) {
                if self.sets.is_reachable(from) && !defines[from as usize] {
                    stack.push(from);
                }
            }
        }
        let parameter = definitions
            .iter()
            .copied()
            .find(|slot| slot.moment() == Moment::Block);
        let mut dominators = parameter.is_none().then(|| Joins::new(program));
        let joins = dominators.as_ref().map(|dominators| {
            let mut walk = JoinWalk::new(program, dominators);
            let defining = (0..blocks as u32).filter(|&block| defines[block as usize]);
            walk.place(program, defining, |block| live_in[block as usize]);
            walk
        });
        let mut raw = Vec::new();
        let mut at = 0;
        for block in 0..blocks as u32 {
            let first = at;
            while at < events.len() && events[at].0 == block {
                at += 1;
            }
            let is_live_out = self.sets.is_reachable(block)
                && program
                    .successors()
                    .of(block)
                    .iter()
                    .any(|&next| live_in[next as usize]);
            let mut end = is_live_out.then(|| self.slots.end(block));
            let mut found = Vec::new();
            for &(_, slot, is_definition) in events[first..at].iter().rev() {
                if is_definition {
                    let end = end.take().unwrap_or(slot.at(Moment::Dead));
                    found.push(Segment {
                        start: slot,
                        end,
                        value: origin(block, false),
                    });
                } else {
                    end = end.or(Some(slot));
                }
            }
            if live_in[block as usize] {
                let is_join = joins.as_ref().is_some_and(|joins| joins.is_join(block));
                found.push(Segment {
                    start: self.slots.start(block),
                    end: end.expect("live-in blocks read or pass on"),
                    value: origin(block, is_join),
                });
            }
            raw.extend(found.into_iter().rev());
        }
        let mut owned = Owned::default();
        if let Some(dominators) = &mut dominators {
            dominators.resolve(&self.slots, &raw, &mut owned.segments, &mut owned.values);
        } else if let Some(definition) = parameter {
            // A parameter is its value's only definition.
            owned.values.push(ValueNumber {
                definition,
                kind: ValueKind::Parameter,
            });
            for segment in raw {
                let segment = Segment {
                    value: 0,
                    ..segment
                };
                match owned.segments.last_mut() {
                    Some(last) if last.end == segment.start => last.end = segment.end,
                    _ => owned.segments.push(segment),
                }
            }
        }
        self.edited.insert(entity, owned);
    }
}
