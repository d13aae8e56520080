//! The state of an execution: the lanes at one instruction, and all that the instruction can touch.

use crate::execute::source;
use crate::launch::Group;
use crate::program::Lanes;
use crate::warp::{Fragment, Warp};

/// The lanes that execute an instruction, and all that it can touch.
pub(crate) struct Execution<'a> {
    pub(crate) warp: &'a mut Warp,
    /// The lanes at the instruction, whether or not the guard holds.
    pub(crate) fragment: &'a mut Fragment,
    pub(crate) group: &'a mut Group,
    /// The warp's block, by its number in the group.
    pub(crate) block: usize,
    /// The constants of the function.
    pub(crate) constants: &'a [Lanes],
    /// The lanes that execute the instruction.
    pub(crate) active: u32,
}

impl Execution<'_> {
    /// The lanes of a slot.
    #[inline(always)]
    pub(crate) fn slot(&self, slot: u32) -> &Lanes {
        let registers = &self.warp.registers[self.fragment.base as usize..];
        source(registers, self.constants, slot)
    }

    /// The thread of a lane, by its number in the block.
    pub(crate) fn thread(&self, lane: usize) -> u16 {
        (self.warp.index * 32) as u16 + lane as u16
    }
}
