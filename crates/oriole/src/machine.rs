//! What `ptxas` makes of a module, and whether optimizing it made that worse.
//!
//! PTX is not what runs. [`Assembler`] assembles a text with the real `ptxas` and counts what comes out; [`keep_better`] does so to a
//! module before and after it was optimized, and puts back functions that got worse. What is worse is said in one place,
//! [`Measurement::compare`].

mod assembler;
mod code;
mod cubin;
mod selection;

pub use assembler::{Assembler, AssemblerError, MachineCode, Properties, find_ptxas};
pub use oriole_analysis::launch::occupancy::Occupancy;
pub use selection::{Comparison, Selection, SelectionError, keep_better};

use crate::Module;
use oriole_analysis::launch::{DEFAULT_THREADS, Resources, occupancy::Demand};
use oriole_ir::FunctionId;
use oriole_isa::Target;
use oriole_syntax::scopes::Globals;
use std::collections::BTreeMap;
use std::fmt;

/// Registers that a function may need more without being worse.
const MOST_REGISTERS_MORE: u32 = 4;
/// Percent of instructions that a function may have more without being worse.
const MOST_PERCENT_MORE: u64 = 3;

/// The machine code of a kernel or function, and how well it fills a multiprocessor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measurement {
    /// The machine code.
    pub code: MachineCode,
    /// The occupancy of a kernel by blocks as large as its directives allow, or of 256 threads if they do not say, without
    /// dynamic shared memory.
    pub occupancy: Option<Occupancy>,
}

/// In which way machine code is worse than other machine code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Worse {
    /// More bytes are spilled.
    Spills,
    /// Fewer warps are resident.
    Occupancy,
    /// More than four registers more are needed, and no more warps are resident.
    Registers,
    /// There are more than 3 % more instructions.
    Instructions,
    /// There are more than 3 % more instructions if each counts ten times for each loop around it.
    LoopInstructions,
}

impl fmt::Display for Worse {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Worse::Spills => "it spills more",
            Worse::Occupancy => "fewer warps are resident",
            Worse::Registers => "it needs more registers",
            Worse::Instructions => "it has more instructions",
            Worse::LoopInstructions => "its loops have more instructions",
        })
    }
}

impl Measurement {
    /// The measurements of the machine code that a module was assembled to.
    pub fn all(module: &Module, target: Target, codes: Vec<MachineCode>) -> Vec<Measurement> {
        let (globals, _) = Globals::of(module);
        let declared = oriole_translate::module_of(module, &globals);
        let functions = module.functions.iter().enumerate();
        let kernels: BTreeMap<&str, FunctionId> = functions
            .filter(|(_, function)| function.body.is_some())
            .map(|(index, function)| (module.text(function.name), FunctionId::from_index(index)))
            .collect();
        let measured = |code: MachineCode| {
            let kernel = kernels.get(code.name.as_str()).filter(|_| code.is_kernel);
            let occupancy = kernel.and_then(|&kernel| {
                let limits = target.limits();
                let directives = Resources::of_directives(declared.bounds(kernel), limits.as_ref());
                let demand = demand(&directives, &code);
                Occupancy::of(target, demand)
            });
            Measurement { code, occupancy }
        };
        codes.into_iter().map(measured).collect()
    }

    /// Warps that a multiprocessor holds.
    fn warps(&self) -> u32 {
        self.occupancy.map_or(0, |occupancy| occupancy.warps)
    }

    /// In which way this is worse than something else, if it is. Of several ways the first of [`Worse`]. Where `ptxas` unrolled more, the
    /// instructions of loops for each access decide.
    pub fn compare(&self, before: &Measurement) -> Option<Worse> {
        let (now, then) = (&self.code, &before.code);
        let has_grown =
            |now: u128, then: u128| now * 100 > then * u128::from(100 + MOST_PERCENT_MORE);
        let per_access = |own: &MachineCode, other: &MachineCode| {
            u128::from(own.weighted) * u128::from(other.accesses)
        };
        // Nothing that is done to a function gives it accesses: `ptxas` unrolled a loop that it did not unroll before.
        let is_unrolled = then.accesses > 0 && now.accesses > then.accesses;
        if now.spills() > then.spills() {
            Some(Worse::Spills)
        } else if self.warps() < before.warps() {
            Some(Worse::Occupancy)
        } else if is_unrolled {
            has_grown(per_access(now, then), per_access(then, now))
                .then_some(Worse::LoopInstructions)
        } else if now.registers > then.registers + MOST_REGISTERS_MORE
            && self.warps() <= before.warps()
        {
            Some(Worse::Registers)
        } else if has_grown(now.instructions.into(), then.instructions.into()) {
            Some(Worse::Instructions)
        } else if has_grown(now.weighted.into(), then.weighted.into()) {
            Some(Worse::LoopInstructions)
        } else {
            None
        }
    }
}

/// What a block needs that is as large as the directives of its kernel allow.
fn demand(resources: &Resources, code: &MachineCode) -> Demand {
    let required = resources.required_block.map(|sizes| {
        let product = |all: u32, own: u32| all.saturating_mul(own);
        sizes.into_iter().fold(1, product)
    });
    let threads = required.or(resources.maximum_threads);
    Demand {
        registers: code.registers,
        threads: threads.unwrap_or(DEFAULT_THREADS).min(1 << 16),
        shared: code.shared.min(1 << 24),
        barriers: code.barriers,
        tensor_columns: resources.tensor_columns,
        opt_in: true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(change: impl FnOnce(&mut MachineCode)) -> Measurement {
        let mut code = MachineCode {
            name: "k".to_owned(),
            is_kernel: true,
            instructions: 100,
            weighted: 1000,
            registers: 32,
            spill_stores: 8,
            spill_loads: 8,
            ..MachineCode::default()
        };
        change(&mut code);
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n.maxntid 128, 1, 1\n{\nret;\n}\n";
        let module = crate::parse("k.ptx", text).unwrap();
        Measurement::all(&module, Target::new(8, 0), vec![code]).remove(0)
    }

    #[test]
    fn each_way_of_being_worse_has_its_bound() {
        let before = measured(|_| {});
        let compare = |change: fn(&mut MachineCode)| measured(change).compare(&before);
        assert_eq!(compare(|_| {}), None);
        assert_eq!(compare(|code| code.spill_loads = 9), Some(Worse::Spills));
        assert_eq!(compare(|code| code.registers = 64), Some(Worse::Occupancy));
        assert_eq!(compare(|code| code.instructions = 103), None);
        assert_eq!(
            compare(|code| code.instructions = 104),
            Some(Worse::Instructions)
        );
        assert_eq!(
            compare(|code| code.weighted = 1031),
            Some(Worse::LoopInstructions)
        );
        // Four times the accesses, with three times the instructions, and with five times.
        let with_access = measured(|code| code.accesses = 10);
        let unrolled = |weighted: u64| {
            measured(|code| {
                (code.instructions, code.registers) = (250, 32);
                (code.accesses, code.weighted) = (40, weighted);
            })
        };
        assert_eq!(unrolled(3000).compare(&with_access), None);
        let worse = unrolled(5000).compare(&with_access);
        assert_eq!(worse, Some(Worse::LoopInstructions));
        // As many warps fit with 27 as with 32 registers.
        let few = measured(|code| code.registers = 27);
        assert_eq!(before.compare(&few), Some(Worse::Registers));
        assert_eq!(
            measured(|code| code.registers = 31).compare(&few),
            None,
            "four more are no matter"
        );
    }

    #[test]
    fn blocks_are_as_large_as_the_directives_allow() {
        let occupancy = measured(|_| {}).occupancy.unwrap();
        assert_eq!((occupancy.blocks, occupancy.warps), (16, 64));
        assert!(measured(|code| code.is_kernel = false).occupancy.is_none());
    }
}
