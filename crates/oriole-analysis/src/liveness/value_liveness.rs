//! The pressure of a small function in SSA form and where its values die, for passes that ask about a few of them.
//!
//! ## Method
//! Each value has one definition, so no values have to be told apart and no segments to be sorted. Live sets are rows of bits, of the
//! values only that are read outside of their block; one walk backward through each block finds the pressure at its instructions and the
//! last reader of each value there. That says the same as [`LiveIntervals`](super::LiveIntervals) and
//! [`Pressure`](super::Pressure), in a fifth of the steps.
//!
//! ## Not done
//! Functions with pinned registers, which have several values, or with blocks that control does not reach, and those for which rows of
//! bits would be many.

use oriole_ir::{Block, Definition, Function, Instruction, Value};
use oriole_isa::ScalarType;

/// The most words in all rows of live sets.
const MOST_WORDS: usize = 1 << 17;

/// The most blocks. A question may walk over all that read a value.
const MOST_BLOCKS: usize = 1 << 12;

/// A number of nothing.
const NONE: u32 = u32::MAX;

/// Behind all instructions of a block: where edges read their arguments.
const END: u32 = u32::MAX;

/// The last reader of a value in a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Death {
    /// The block, by its place in the layout.
    block: u32,
    /// The number of the reader, or [`END`].
    reader: u32,
    /// The next death of the value, or [`NONE`].
    next: u32,
}

/// Where the values of a function are live, and how many registers they take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueLiveness {
    /// The number of each instruction in order of the layout, or [`NONE`].
    numbers: Vec<u32>,
    /// The number of the first instruction of each block.
    starts: Vec<u32>,
    /// The place of the block of each value that is read outside of it, and its bit.
    bits: Vec<u32>,
    /// How many words a row has.
    words: usize,
    /// What is live at the start of each block.
    live_in: Vec<u64>,
    /// What is live at the start of a block that each block leads to.
    live_out: Vec<u64>,
    /// The last block in the layout that each value is live at the start of, by its bit.
    last_entered: Vec<u32>,
    /// The first death of each value, or [`NONE`].
    first_death: Vec<u32>,
    deaths: Vec<Death>,
    /// Data registers that are live at each instruction, before or behind it.
    along: Vec<u32>,
}

/// How many data registers a value takes.
fn units(function: &Function, value: Value) -> u32 {
    let data = &function.values()[value];
    match data.scalar_type {
        ScalarType::Pred => 0,
        _ if data.definition == Definition::Undefined => 0,
        scalar_type => scalar_type.bits().div_ceil(32),
    }
}

fn set_bits(row: &[u64]) -> impl Iterator<Item = usize> + '_ {
    row.iter().enumerate().flat_map(|(index, &word)| {
        let mut word = word;
        std::iter::from_fn(move || {
            let low = (word != 0).then(|| word.trailing_zeros() as usize)?;
            word &= word - 1;
            Some(index * 64 + low)
        })
    })
}

impl ValueLiveness {
    /// The liveness of a function; nothing if it is not a small one.
    pub fn of(function: &Function) -> Option<ValueLiveness> {
        if function.registers().values().any(|data| data.pinned) || !is_reached(function) {
            return None;
        }
        let order = function.block_order();
        let mut places = vec![NONE; function.blocks().len()];
        for (place, block) in order.iter().enumerate() {
            places[block.index()] = place as u32;
        }
        let mut liveness = ValueLiveness {
            numbers: vec![NONE; function.instruction_bound()],
            starts: Vec::with_capacity(order.len()),
            bits: vec![NONE; function.values().len()],
            words: 0,
            live_in: Vec::new(),
            live_out: Vec::new(),
            last_entered: Vec::new(),
            first_death: vec![NONE; function.values().len()],
            deaths: Vec::with_capacity(function.values().len()),
            along: Vec::with_capacity(function.instruction_bound()),
        };
        let globals = liveness.read(function);
        liveness.words = globals.values.len().div_ceil(64);
        if order.len() > MOST_BLOCKS || liveness.words * order.len() > MOST_WORDS {
            return None;
        }
        liveness.find_live_sets(function, &places, &globals);
        liveness.find_last_entered(globals.values.len());
        liveness.walk(function, &globals);
        Some(liveness)
    }

    /// Numbers the instructions, and finds the values that are read outside of their block.
    fn read(&mut self, function: &Function) -> Globals {
        let mut globals = Globals::default();
        let mut count = 0;
        for (place, &block) in function.block_order().iter().enumerate() {
            self.starts.push(count);
            let mut read = |value: Value| {
                let from = function.defining_block(value);
                // Nothing defines an undefined value: it is live nowhere.
                if from.is_none() || from == Some(block) {
                    return;
                }
                let bit = &mut self.bits[value.index()];
                if *bit == NONE {
                    *bit = globals.values.len() as u32;
                    globals.values.push(value);
                }
                globals.exposed.push((place as u32, *bit));
            };
            for instruction in function.instructions_of(block) {
                self.numbers[instruction.index()] = count;
                count += 1;
                function.uses(instruction).for_each(&mut read);
            }
            for &edge in function.edges(block) {
                let arguments = function.arguments(edge).iter();
                arguments.copied().for_each(&mut read);
            }
        }
        self.along.resize(count as usize, 0);
        globals
    }

    /// Solves the equations of liveness.
    fn find_live_sets(&mut self, function: &Function, places: &[u32], globals: &Globals) {
        let (order, words) = (function.block_order(), self.words);
        self.live_in = vec![0; order.len() * words];
        self.live_out = vec![0; order.len() * words];
        let mut defined: Vec<u64> = vec![0; order.len() * words];
        for &(place, bit) in &globals.exposed {
            self.live_in[place as usize * words + bit as usize / 64] |= 1 << (bit % 64);
        }
        for (bit, &value) in globals.values.iter().enumerate() {
            let block = function.defining_block(value).expect("it is read");
            let place = places[block.index()] as usize;
            defined[place * words + bit / 64] |= 1 << (bit % 64);
        }
        if words == 0 {
            return;
        }
        // When a block was last looked at, and when more was last found to be live at its start.
        let (mut seen, mut grown): (Vec<u32>, Vec<u32>) =
            (vec![0; order.len()], vec![1; order.len()]);
        let (mut now, mut is_changed) = (1, true);
        while std::mem::take(&mut is_changed) {
            for (place, &block) in order.iter().enumerate().rev() {
                let mut is_behind = seen[place] == 0;
                for edge in function.edges(block) {
                    let target = places[edge.target.index()] as usize;
                    if grown[target] <= seen[place] {
                        continue;
                    }
                    is_behind = true;
                    for word in 0..words {
                        self.live_out[place * words + word] |= self.live_in[target * words + word];
                    }
                }
                if !is_behind {
                    continue;
                }
                now += 1;
                seen[place] = now;
                let row = place * words..(place + 1) * words;
                let behind = self.live_out[row.clone()].iter().zip(&defined[row.clone()]);
                let mut more = 0;
                for (live_in, (live_out, defined)) in self.live_in[row].iter_mut().zip(behind) {
                    let passing = live_out & !defined;
                    more |= passing & !*live_in;
                    *live_in |= passing;
                }
                if more != 0 {
                    now += 1;
                    grown[place] = now;
                    is_changed = true;
                }
            }
        }
    }

    /// Finds the last block that each value is live at the start of.
    fn find_last_entered(&mut self, values: usize) {
        self.last_entered = vec![0; values];
        let mut seen: Vec<u64> = vec![0; self.words];
        // There are no rows without words.
        let rows = self.live_in.chunks(self.words.max(1)).enumerate();
        for (place, row) in rows.rev() {
            for (index, (&word, seen)) in row.iter().zip(&mut seen).enumerate() {
                for bit in set_bits(&[word & !*seen]) {
                    self.last_entered[index * 64 + bit] = place as u32;
                }
                *seen |= word;
            }
        }
    }

    /// Walks backward through each block.
    fn walk(&mut self, function: &Function, globals: &Globals) {
        let widths = Widths::of(function, globals, self.words);
        let mut live = LiveValues {
            globals: vec![0; self.words],
            locals: vec![false; function.values().len()],
        };
        for (place, &block) in function.block_order().iter().enumerate() {
            let row = place * self.words..(place + 1) * self.words;
            live.globals.copy_from_slice(&self.live_out[row]);
            let mut now = widths.units(&live.globals);
            for &edge in function.edges(block) {
                for &argument in function.arguments(edge) {
                    now += self.read_at(function, &mut live, argument, place, END);
                }
            }
            for instruction in function.instructions_backwards(block) {
                let number = self.numbers[instruction.index()];
                let mut behind = now;
                for result in function.results(instruction) {
                    // One that nobody reads takes a register for a moment.
                    match live.remove(result, self.bits[result.index()]) {
                        true => now -= units(function, result),
                        false => behind += units(function, result),
                    }
                }
                for value in function.uses(instruction) {
                    now += self.read_at(function, &mut live, value, place, number);
                }
                self.along[number as usize] = behind.max(now);
            }
            for &parameter in &function.blocks()[block].parameters {
                live.remove(parameter, self.bits[parameter.index()]);
            }
        }
    }

    /// Notes a reader of a value, and gives the registers that the value takes if no later one in the block reads it.
    fn read_at(
        &mut self,
        function: &Function,
        live: &mut LiveValues,
        value: Value,
        block: usize,
        reader: u32,
    ) -> u32 {
        let is_undefined = function.values()[value].definition == Definition::Undefined;
        if is_undefined || !live.insert(value, self.bits[value.index()]) {
            return 0;
        }
        let first = &mut self.first_death[value.index()];
        let next = std::mem::replace(first, self.deaths.len() as u32);
        self.deaths.push(Death {
            block: block as u32,
            reader,
            next,
        });
        units(function, value)
    }

    /// The data registers that are live at each instruction, before or behind it, in order of the layout.
    pub fn along(&self) -> &[u32] {
        &self.along
    }

    /// The most of them.
    pub fn peak(&self) -> u32 {
        self.along.iter().copied().max().unwrap_or(0)
    }

    /// The number of an instruction in order of the layout, if it was there.
    pub fn number(&self, instruction: Instruction) -> Option<u32> {
        let number = *self.numbers.get(instruction.index())?;
        (number != NONE).then_some(number)
    }

    /// Whether a value, defined before an instruction, is needed there or behind.
    pub fn is_live_before(&self, value: Value, number: u32) -> bool {
        let block = self.block_at(number);
        let is_last = |death: Death| death.reader >= number;
        self.is_in(&self.live_out, value, block) || self.death(value, block).is_some_and(is_last)
    }

    /// The last instruction in order of the layout at which a value that `definer` gives is live, if it is not live at the end of
    /// the block of that.
    pub fn last_instruction(&self, value: Value, definer: u32) -> Option<u32> {
        let last = match self.bits.get(value.index()) {
            None | Some(&NONE) => 0,
            Some(&bit) => self.last_entered[bit as usize] as usize,
        };
        let block = last.max(self.block_at(definer));
        if self.is_in(&self.live_out, value, block) {
            return None;
        }
        match self.death(value, block) {
            Some(death) => (death.reader != END).then_some(death.reader),
            None => Some(definer),
        }
    }

    /// The place of the block of an instruction.
    fn block_at(&self, number: u32) -> usize {
        self.starts.partition_point(|&start| start <= number) - 1
    }

    fn is_in(&self, rows: &[u64], value: Value, block: usize) -> bool {
        match self.bits.get(value.index()) {
            None | Some(&NONE) => false,
            Some(&bit) => rows[block * self.words + bit as usize / 64] >> (bit % 64) & 1 != 0,
        }
    }

    /// The last reader of a value in a block.
    fn death(&self, value: Value, block: usize) -> Option<Death> {
        let mut next = *self.first_death.get(value.index())?;
        while next != NONE {
            let death = self.deaths[next as usize];
            if death.block == block as u32 {
                return Some(death);
            }
            next = death.next;
        }
        None
    }
}

/// Values that are read outside of their block.
#[derive(Default)]
struct Globals {
    /// Those values, each at the place of its bit.
    values: Vec<Value>,
    /// The places of blocks, and the bits of what they read that others define.
    exposed: Vec<(u32, u32)>,
}

/// What is live at a point of a block.
struct LiveValues {
    /// Of the values that are read outside of their block, by their bits.
    globals: Vec<u64>,
    /// Of the others.
    locals: Vec<bool>,
}

impl LiveValues {
    /// Makes a value live; whether it was not.
    fn insert(&mut self, value: Value, bit: u32) -> bool {
        match bit {
            NONE => !std::mem::replace(&mut self.locals[value.index()], true),
            bit => {
                let (word, mask) = (&mut self.globals[bit as usize / 64], 1 << (bit % 64));
                let is_new = *word & mask == 0;
                *word |= mask;
                is_new
            }
        }
    }

    /// Makes a value dead; whether it was live.
    fn remove(&mut self, value: Value, bit: u32) -> bool {
        match bit {
            NONE => std::mem::take(&mut self.locals[value.index()]),
            bit => {
                let (word, mask) = (&mut self.globals[bit as usize / 64], 1 << (bit % 64));
                let is_live = *word & mask != 0;
                *word &= !mask;
                is_live
            }
        }
    }
}

/// The values that are read outside of their block, by how many registers they take.
struct Widths {
    /// A row of bits for each power of two that is part of a width.
    rows: [Vec<u64>; 3],
}

impl Widths {
    fn of(function: &Function, globals: &Globals, words: usize) -> Widths {
        let mut rows = [vec![0; words], vec![0; words], vec![0; words]];
        for (bit, &value) in globals.values.iter().enumerate() {
            let units = units(function, value);
            debug_assert!(units < 1 << rows.len());
            for (power, row) in rows.iter_mut().enumerate() {
                row[bit / 64] |= u64::from(units >> power & 1) << (bit % 64);
            }
        }
        Widths { rows }
    }

    /// How many registers the values of a row take together.
    fn units(&self, row: &[u64]) -> u32 {
        let counted = self.rows.iter().enumerate().map(|(power, own)| {
            let common = row.iter().zip(own).map(|(live, own)| live & own);
            common.map(u64::count_ones).sum::<u32>() << power
        });
        counted.sum()
    }
}

/// Whether control can come to every block.
fn is_reached(function: &Function) -> bool {
    let mut seen = vec![false; function.blocks().len()];
    let mut stack: Vec<Block> = vec![function.entry()];
    let mut count = 0;
    while let Some(block) = stack.pop() {
        if std::mem::replace(&mut seen[block.index()], true) {
            continue;
        }
        count += 1;
        stack.extend(function.edges(block).iter().map(|edge| edge.target));
    }
    count == function.block_order().len()
}
