//! Counts of what costs registers, over the instructions of a function.

use super::facts::{Fact, Facts};
use oriole_ir::{Block, Function, Instruction, Operand, SymbolKind};
use oriole_isa::{Flag, Opcode, ScalarType, Space};

/// The counts.
#[derive(Default)]
pub(super) struct Counts {
    pub(super) loads_global: u32,
    pub(super) loads_shared: u32,
    pub(super) loads_local: u32,
    pub(super) stores: u32,
    pub(super) widest_load: u32,
    pub(super) divisions_32: u32,
    pub(super) divisions_64: u32,
    pub(super) divisions_f32: u32,
    pub(super) divisions_f64: u32,
    pub(super) roots: u32,
    pub(super) transcendental: u32,
    pub(super) doubles: u32,
    pub(super) halves: u32,
    pub(super) calls: u32,
    pub(super) fragments: u32,
    pub(super) barriers: u32,
    pub(super) atomics: u32,
    pub(super) shuffles: u32,
    pub(super) special: u32,
    pub(super) block_values: u32,
    pub(super) largest_block: u32,
    pub(super) run_of_loads: u32,
    pub(super) conversions: u32,
    pub(super) wide_values: u32,
    pub(super) branches: u32,
    pub(super) loads_generic: u32,
    pub(super) widest_store: u32,
    pub(super) float_work: u32,
    pub(super) integer_work: u32,
    pub(super) selections: u32,
    pub(super) textures: u32,
    pub(super) guards: u32,
    pub(super) block_loads: u32,
    pub(super) matrix_products: u32,
    pub(super) matrix_loads: u32,
    pub(super) asynchronous_copies: u32,
    pub(super) integers_64: u32,
    pub(super) carries: u32,
    pub(super) vector_loads: u32,
    pub(super) vector_stores: u32,
    pub(super) wide_products: u32,
    pub(super) comparisons: u32,
    pub(super) logic: u32,
}

impl Counts {
    /// Counts a block; registers its loads fill.
    pub(super) fn block(&mut self, function: &Function, facts: &Facts, block: Block) -> u32 {
        let mut size = 0;
        let mut loads = 0;
        let mut run = 0;
        self.block_values += function.blocks()[block].parameters.len() as u32;
        self.branches += u32::from(function.blocks()[block].edges.len() > 1);
        for instruction in function.instructions_of(block) {
            size += 1;
            let results: u32 = function
                .results(instruction)
                .map(|value| function.values()[value].scalar_type.bits().div_ceil(32))
                .sum();
            if facts.is(instruction, Fact::LOAD) {
                run += results;
                loads += results;
                self.run_of_loads = self.run_of_loads.max(run);
            } else if !function.format(instruction).effects.writes.is_empty() {
                run = 0;
            }
            self.instruction(function, instruction, results);
        }
        self.largest_block = self.largest_block.max(size);
        self.block_loads = self.block_loads.max(loads);
        loads
    }

    fn instruction(&mut self, function: &Function, instruction: Instruction, results: u32) {
        let format = function.format(instruction);
        let mnemonic = &format.mnemonic;
        let first = mnemonic.first_type();
        let float = first.is_some_and(|own| own.is_float());
        let bits = first.map_or(32, |own| own.bits());
        self.calls += u32::from(format.effects.is_call);
        self.doubles += u32::from(first == Some(ScalarType::F64));
        self.halves += u32::from(
            float && bits == 16 || bits == 32 && first.is_some_and(|own| own.lanes() == 2),
        );
        self.wide_values += u32::from(results == 2);
        self.guards += u32::from(format.is_guarded() && !format.is_terminator());
        let removable = format.effects.is_removable_if_converged();
        self.float_work += u32::from(removable && float);
        self.integer_work += u32::from(removable && !float);
        self.integers_64 += u32::from(removable && !float && bits == 64);
        self.carries += u32::from(format.effects.reads_carry || format.effects.writes_carry);
        match mnemonic.opcode() {
            Opcode::Tex | Opcode::Tld4 | Opcode::Suld => self.textures += 1,
            Opcode::Selp | Opcode::Slct | Opcode::Min | Opcode::Max => self.selections += 1,
            Opcode::Ld | Opcode::Ldu => {
                self.widest_load = self.widest_load.max(results);
                self.vector_loads += u32::from(results >= 4);
                match mnemonic.space() {
                    Some(Space::Param) => {}
                    Some(Space::Local) => self.loads_local += 1,
                    Some(Space::Shared | Space::SharedCluster) => self.loads_shared += 1,
                    Some(Space::Generic) | None => self.loads_generic += 1,
                    _ => self.loads_global += 1,
                }
            }
            Opcode::St => match mnemonic.space() {
                Some(Space::Local) => self.loads_local += 1,
                Some(Space::Param) => {}
                _ => {
                    self.stores += 1;
                    let width = mnemonic.vector_width() * bits.div_ceil(32);
                    self.widest_store = self.widest_store.max(width);
                    self.vector_stores += u32::from(width >= 4);
                }
            },
            Opcode::Div | Opcode::Rem => match (float, bits) {
                (false, 64) => self.divisions_64 += 1,
                (false, _) => self.divisions_32 += 1,
                (true, 64) => self.divisions_f64 += 1,
                (true, _) => {
                    self.divisions_f32 += u32::from(!mnemonic.has(Flag::Approximate));
                }
            },
            Opcode::Sqrt | Opcode::Rcp | Opcode::Rsqrt => {
                self.roots += u32::from(!mnemonic.has(Flag::Approximate) || bits == 64);
            }
            Opcode::Sin | Opcode::Cos | Opcode::Lg2 | Opcode::Ex2 | Opcode::Tanh => {
                self.transcendental += 1;
            }
            Opcode::Mma
            | Opcode::MmaSp
            | Opcode::WmmaMma
            | Opcode::WmmaLoad
            | Opcode::Ldmatrix
            | Opcode::WgmmaMmaAsync
            | Opcode::WgmmaMmaAsyncSp
            | Opcode::Tcgen05Ld => {
                let width = function.leaves(instruction).len() as u32;
                self.fragments = self.fragments.max(width);
                if matches!(mnemonic.opcode(), Opcode::Ldmatrix | Opcode::WmmaLoad) {
                    self.matrix_loads += 1;
                } else {
                    self.matrix_products += 1;
                }
            }
            Opcode::BarSync | Opcode::BarrierSync | Opcode::BarRed | Opcode::BarrierRed => {
                self.barriers += 1;
            }
            Opcode::Atom | Opcode::Red => self.atomics += 1,
            Opcode::Shfl | Opcode::VoteSync | Opcode::Vote | Opcode::Redux => self.shuffles += 1,
            Opcode::Cvt => self.conversions += 1,
            Opcode::Mul | Opcode::Mad if bits == 32 && results == 2 => self.wide_products += 1,
            Opcode::CpAsync | Opcode::CpAsyncBulk | Opcode::CpAsyncBulkTensor => {
                self.asynchronous_copies += 1;
            }
            Opcode::Setp | Opcode::Set => self.comparisons += 1,
            Opcode::And
            | Opcode::Or
            | Opcode::Xor
            | Opcode::Not
            | Opcode::Lop3
            | Opcode::Shf
            | Opcode::Shl
            | Opcode::Shr
            | Opcode::Prmt => self.logic += 1,
            Opcode::Mov => {
                let special = function.leaves(instruction).iter().any(|leaf| {
                    matches!(leaf, Operand::Symbol(symbol)
                        if matches!(function.symbols()[*symbol].kind, SymbolKind::Special(_)))
                });
                self.special += u32::from(special);
            }
            _ => {}
        }
    }
}
