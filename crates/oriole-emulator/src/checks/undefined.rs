//! The bits of registers that nothing has defined, lane by lane.

use crate::access::Spot;
use crate::execute::lanes_of;
use crate::program::{CONSTANT, FRAME, Lanes, NONE};
use crate::warp::{Fragment, Warp};

/// The place of a first read of something undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    pub(crate) what: What,
    pub(crate) function: u32,
    pub(crate) pc: u32,
}

/// Something undefined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// A register or predicate that is not read yet.
    Unread,
    /// A register, by its slot in the function of the origin.
    Register(u32),
    /// A predicate.
    Predicate(u32),
    Carry,
    /// Shared memory at an offset.
    Shared(u64),
    /// Local memory at an offset.
    Local(u64),
    /// A shuffle of one lane from another one that takes no part.
    Shuffle(u8, u8),
}

impl What {
    /// Memory.
    pub(crate) fn of(spot: Spot) -> What {
        match spot {
            Spot::Shared(_, offset) => What::Shared(offset),
            Spot::Local(offset) => What::Local(offset),
            Spot::Global(..) | Spot::Parameter(_) => What::Unread,
        }
    }
}

impl Origin {
    const UNREAD: Origin = Origin {
        what: What::Unread,
        function: 0,
        pc: 0,
    };
}

/// The undefined bits of a register.
#[derive(Clone, Debug)]
pub(crate) struct Undefined {
    /// Lanes with an undefined bit.
    pub(crate) lanes: u32,
    /// Lanes whose value may be the padding of a structure: it was only moved since it was found.
    pub(crate) raw: u32,
    pub(crate) origin: Origin,
    pub(crate) bits: Lanes,
}

impl Default for Undefined {
    fn default() -> Undefined {
        Undefined {
            lanes: 0,
            raw: 0,
            origin: Origin::UNREAD,
            bits: [0; 32],
        }
    }
}

impl Undefined {
    /// Forgets what lanes have in a register whose bits are given by a mask.
    pub(crate) fn forget(&mut self, lanes: u32, mask: u64) {
        for lane in lanes_of(lanes) {
            self.bits[lane] = mask;
        }
        self.lanes |= lanes;
        self.raw |= lanes;
        self.origin = Origin::UNREAD;
    }

    pub(crate) fn define(&mut self, lanes: u32) {
        for lane in lanes_of(self.lanes & lanes) {
            self.bits[lane] = 0;
        }
        self.lanes &= !lanes;
        self.raw &= !lanes;
    }

    /// Sets the undefined bits of lanes.
    pub(crate) fn set(&mut self, lanes: u32, bits: &Lanes, raw: u32, origin: Origin) {
        for lane in lanes_of(lanes) {
            self.bits[lane] = bits[lane];
            let bit = 1 << lane;
            self.lanes = self.lanes & !bit | if bits[lane] == 0 { 0 } else { bit };
        }
        self.raw = self.raw & !lanes | raw & lanes & self.lanes;
        if self.lanes & lanes != 0 {
            self.origin = origin;
        }
    }
}

/// The undefined bits of a predicate.
#[derive(Clone, Debug)]
pub(crate) struct UndefinedPredicate {
    pub(crate) lanes: u32,
    pub(crate) origin: Origin,
}

impl Default for UndefinedPredicate {
    fn default() -> UndefinedPredicate {
        UndefinedPredicate {
            lanes: 0,
            origin: Origin::UNREAD,
        }
    }
}

impl UndefinedPredicate {
    pub(crate) fn forget(&mut self, lanes: u32) {
        self.lanes |= lanes;
        self.origin = Origin::UNREAD;
    }

    pub(crate) fn set(&mut self, lanes: u32, undefined: u32, origin: Origin) {
        self.lanes = self.lanes & !lanes | undefined & lanes;
        if undefined & lanes != 0 {
            self.origin = origin;
        }
    }
}

/// All that is undefined in the registers of a warp, by slot, where that is checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct UndefinedRegisters {
    pub(crate) values: Vec<Undefined>,
    pub(crate) predicates: Vec<UndefinedPredicate>,
    /// Lanes whose carry flag is undefined.
    pub(crate) carry: u32,
}

impl Warp {
    /// The undefined bits of a register of a frame; nothing for constants and absent operands.
    pub(crate) fn undefined(&self, fragment: &Fragment, slot: u32) -> Option<&Undefined> {
        match slot == NONE || slot == FRAME || slot & CONSTANT != 0 {
            true => None,
            false => self
                .undefined
                .values
                .get(fragment.base.wrapping_add(slot) as usize),
        }
    }

    pub(crate) fn undefined_mut(
        &mut self,
        fragment: &Fragment,
        slot: u32,
    ) -> Option<&mut Undefined> {
        match slot == NONE || slot == FRAME || slot & CONSTANT != 0 {
            true => None,
            false => self
                .undefined
                .values
                .get_mut(fragment.base.wrapping_add(slot) as usize),
        }
    }
}
