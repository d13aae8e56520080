//! Numbers for the places of a function: where blocks start, and four moments of every instruction.
//!
//! A [`Slot`] is `number << 2 | moment`. Blocks have a number of their own before their first instruction, so each block
//! owns the slots from its start to the start of the next. Neighbours are [`STEP`] apart. Numbers never change: after a change of the
//! function they are made again, in one walk, with all that is computed from them.

use super::program::Program;

/// The moments of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Moment {
    /// Before it; the start of a block.
    Block = 0,
    /// Its early results exist, its operands are still needed.
    EarlyClobber = 1,
    /// Its operands are not needed any more, its results exist.
    Register = 2,
    /// Results that nobody reads are gone.
    Dead = 3,
}

/// A place in a function.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Slot(u32);

/// How far apart the numbers of neighbours are.
pub const STEP: u32 = 4;

impl Slot {
    /// The moment of a number.
    #[inline]
    pub fn new(number: u32, moment: Moment) -> Slot {
        debug_assert!(number < 1 << 30);
        Slot(number << 2 | moment as u32)
    }

    /// The number of the instruction or block start.
    #[inline]
    pub fn number(self) -> u32 {
        self.0 >> 2
    }

    /// The moment.
    #[inline]
    pub fn moment(self) -> Moment {
        match self.0 & 3 {
            0 => Moment::Block,
            1 => Moment::EarlyClobber,
            2 => Moment::Register,
            _ => Moment::Dead,
        }
    }

    /// Another moment of the same number.
    #[inline]
    pub fn at(self, moment: Moment) -> Slot {
        Slot(self.0 & !3 | moment as u32)
    }

    /// The bits: `number << 2 | moment`.
    pub fn bits(self) -> u32 {
        self.0
    }
}

impl std::fmt::Debug for Slot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let moment = ["B", "e", "r", "d"][(self.0 & 3) as usize];
        write!(formatter, "{}{moment}", self.number())
    }
}

/// What stands at a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The start of a block.
    Block(u32),
    /// An instruction.
    Instruction(u32),
    /// The end of the function.
    End,
}

const BLOCK_BIT: u32 = 1 << 31;

/// The numbers of a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlotIndexes {
    /// Number of each instruction.
    numbers: Vec<u32>,
    /// Start of each block, and the end of the function.
    starts: Vec<u32>,
    /// Blocks and instructions in order.
    order: Vec<u32>,
}

impl SlotIndexes {
    /// Numbers a program.
    pub fn of(program: &impl Program) -> SlotIndexes {
        let count = program.block_count();
        let instructions = program.instruction_count();
        assert!(
            instructions + count < (1 << 30) / STEP as usize,
            "functions stay below 2^28 instructions"
        );
        let mut numbers = Vec::with_capacity(instructions);
        let mut starts = Vec::with_capacity(count + 1);
        let mut order = Vec::with_capacity(instructions + count);
        let mut number = 0;
        for block in 0..count as u32 {
            starts.push(number);
            order.push(block | BLOCK_BIT);
            number += STEP;
            for instruction in program.instructions(block) {
                numbers.push(number);
                order.push(instruction);
                number += STEP;
            }
        }
        starts.push(number);
        SlotIndexes {
            numbers,
            starts,
            order,
        }
    }

    /// The slot where a block starts.
    #[inline]
    pub fn start(&self, block: u32) -> Slot {
        Slot::new(self.starts[block as usize], Moment::Block)
    }

    /// The slot where a block ends: where the next one starts.
    #[inline]
    pub fn end(&self, block: u32) -> Slot {
        Slot::new(self.starts[block as usize + 1], Moment::Block)
    }

    /// A moment of an instruction.
    #[inline]
    pub fn slot(&self, instruction: u32, moment: Moment) -> Slot {
        Slot::new(self.numbers[instruction as usize], moment)
    }

    /// The block a slot is in; the last one for the end of the function.
    pub fn block_at(&self, slot: Slot) -> u32 {
        let behind = self.starts.partition_point(|&start| start <= slot.number());
        (behind as u32 - 1).min(self.starts.len() as u32 - 2)
    }

    /// Position of a number among blocks and instructions in order.
    pub(crate) fn position(&self, number: u32) -> usize {
        (number / STEP) as usize
    }

    /// How many blocks and instructions there are.
    pub(crate) fn position_count(&self) -> usize {
        self.order.len()
    }

    /// What stands at a position.
    pub(crate) fn place_at(&self, position: usize) -> Place {
        match self.order.get(position) {
            Some(&entry) if entry & BLOCK_BIT != 0 => Place::Block(entry & !BLOCK_BIT),
            Some(&entry) => Place::Instruction(entry),
            None => Place::End,
        }
    }

    /// What stands at a slot, if its number is in use.
    pub fn place(&self, slot: Slot) -> Option<Place> {
        let number = slot.number();
        let is_used = number.is_multiple_of(STEP) && self.position(number) <= self.order.len();
        is_used.then(|| self.place_at(self.position(number)))
    }

    /// What is wrong with the numbers: nothing, unless something was broken from outside.
    pub fn verify(&self) -> Result<(), String> {
        let mut blocks = 0;
        for position in 0..self.order.len() {
            if let Place::Block(block) = self.place_at(position) {
                if block != blocks {
                    return Err(format!("block {block} stands where block {blocks} should"));
                }
                blocks += 1;
            }
            let start = match self.place_at(position) {
                Place::Block(block) => self.starts[block as usize],
                Place::Instruction(instruction) => self.numbers[instruction as usize],
                Place::End => return Err(format!("nothing stands at position {position}")),
            };
            if self.position(start) != position {
                return Err(format!("number {start} is not found again"));
            }
        }
        if blocks as usize + 1 != self.starts.len() {
            return Err("a block is missing".to_owned());
        }
        if self
            .order
            .first()
            .is_some_and(|&first| first & BLOCK_BIT == 0)
        {
            return Err("an instruction stands before the first block".to_owned());
        }
        Ok(())
    }
}
