//! What each instruction did: executions, lanes, sectors and wavefronts.
//!
//! Sectors and wavefronts are counted as [`oriole_isa::memory_cost`] says.

/// Counts of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstructionCounters {
    /// Warps that executed it.
    pub executions: u64,
    /// Active lanes, over all executions.
    pub lanes: u64,
    /// 32-byte sectors of global memory.
    pub sectors: u64,
    /// The sectors that the same number of bytes needs at least.
    pub ideal_sectors: u64,
    /// Wavefronts of shared memory.
    pub wavefronts: u64,
    /// The wavefronts needed at least.
    pub ideal_wavefronts: u64,
}

impl InstructionCounters {
    pub(crate) fn add(&mut self, other: &InstructionCounters) {
        let InstructionCounters {
            executions,
            lanes,
            sectors,
            ideal_sectors,
            wavefronts,
            ideal_wavefronts,
        } = other;
        self.executions += executions;
        self.lanes += lanes;
        self.sectors += sectors;
        self.ideal_sectors += ideal_sectors;
        self.wavefronts += wavefronts;
        self.ideal_wavefronts += ideal_wavefronts;
    }
}

/// Counts by function and operation; empty when nothing is counted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counters(pub(crate) Vec<Vec<InstructionCounters>>);

impl Counters {
    pub(crate) fn add(&mut self, other: &Counters) {
        if self.0.is_empty() {
            self.0.clone_from(&other.0);
            return;
        }
        for (mine, theirs) in self.0.iter_mut().flatten().zip(other.0.iter().flatten()) {
            mine.add(theirs);
        }
    }
}
