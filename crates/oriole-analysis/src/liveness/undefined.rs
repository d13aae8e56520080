//! Registers that are read where nothing has written them.
//!
//! ## Example
//! ```text
//! ld.global.u32 %r1, [%rd1];
//! setp.lt.u32 %p1, %r1, 5;
//! @%p1 ld.global.u32 %r2, [%rd1+16];      %r2 is live from here on
//! @%p1 st.global.u32 [%rd1+32], %r2;
//! ```
//! A guarded instruction reads its old result, but nothing has written `%r2` before. Any register will do for such a read, so
//! none has to be kept.
//!
//! ## Method
//! Few registers are live at the start of a function: the *suspects*, taken 64 at a time. A forward problem finds the blocks
//! that some definition of them reaches. Reads that none reaches are taken out of the program. A definition may reach a block
//! from some predecessors only. The register is then defined anew at the start of the block, and those predecessors read it at
//! their end: it is a block parameter with undefined arguments from the others. Parameters of the function are defined so at the
//! start of the entry.

use super::lists::Lists;
use super::live_sets::{ByWord, LiveSets};
use super::program::{Access, AccessKind, Program, Tables};
use oriole_ir::graph::postorder;

/// No suspect.
const NONE: u32 = u32::MAX;

/// An access to a suspect.
struct Touch {
    bit: u32,
    block: u32,
    instruction: u32,
    /// Its place among all accesses.
    place: u32,
    access: Access,
}

/// Changes of a program.
#[derive(Default)]
struct Changes {
    /// Accesses that read nothing, by their places among all.
    reads: Vec<u32>,
    /// Instructions that read them and do not write them, with the registers.
    undefined: Vec<(u32, u32)>,
    /// Blocks at whose start registers are defined.
    parameters: Vec<(u32, u32)>,
    /// Blocks at whose end they are read.
    arguments: Vec<(u32, u32)>,
}

/// Takes out the reads of registers that no definition reaches: of those that `may_be_suspect`, and that are not `is_given` before
/// the function begins. Returns the instructions that read such registers and do not write them, in order.
pub(super) fn take_out(
    tables: &mut Tables,
    may_be_suspect: impl Fn(u32) -> bool,
    is_given: impl Fn(u32) -> bool,
) -> Vec<(u32, u32)> {
    if tables.block_count() == 0 {
        return Vec::new();
    }
    let sets = LiveSets::of(&*tables);
    let mut registers = sets.live_in(0);
    registers.retain(|&register| may_be_suspect(register));
    if registers.is_empty() {
        return Vec::new();
    }
    registers.sort_unstable();
    let mut changes = Finding::new(tables, &sets, registers).find(is_given);
    let mut undefined = std::mem::take(&mut changes.undefined);
    undefined.sort_unstable();
    apply(tables, changes);
    undefined
}

struct Finding<'a> {
    tables: &'a Tables,
    sets: &'a LiveSets,
    /// The suspects, by their bits.
    registers: Vec<u32>,
    /// Blocks that control reaches.
    reached: Vec<u32>,
    /// Accesses to them, by words of their bits, in order of the program.
    touches: Vec<Touch>,
    /// Definitions, by bits and blocks.
    definitions: ByWord,
}

impl<'a> Finding<'a> {
    fn new(tables: &'a Tables, sets: &'a LiveSets, registers: Vec<u32>) -> Finding<'a> {
        let mut bits = vec![NONE; tables.entity_count()];
        for (bit, &register) in (0..).zip(&registers) {
            bits[register as usize] = bit;
        }
        let reached = postorder(tables.successors(), 0);
        let mut touches = Vec::new();
        let mut place = 0;
        for block in 0..tables.block_count() as u32 {
            for instruction in tables.instructions(block) {
                for &access in tables.accesses(instruction) {
                    let bit = bits[access.entity() as usize];
                    if bit != NONE && sets.is_reachable(block) {
                        touches.push(Touch {
                            bit,
                            block,
                            instruction,
                            place,
                            access,
                        });
                    }
                    place += 1;
                }
            }
        }
        touches.sort_by_key(|touch| touch.bit / 64);
        let defining = touches.iter().filter(|touch| touch.access.defines());
        let words = registers.len().div_ceil(64);
        let definitions = ByWord::new(words, defining.map(|touch| (touch.bit, touch.block)));
        Finding {
            tables,
            sets,
            registers,
            reached,
            touches,
            definitions,
        }
    }

    fn find(&self, is_given: impl Fn(u32) -> bool) -> Changes {
        let mut changes = Changes::default();
        let blocks = self.tables.block_count();
        let mut defined = vec![0u64; blocks];
        let mut into = vec![0u64; blocks];
        for touches in self.touches.chunk_by(|a, b| a.bit / 64 == b.bit / 64) {
            let word = touches[0].bit as usize / 64;
            let first = word * 64;
            let last = self.registers.len().min(first + 64);
            let given = (0..)
                .zip(&self.registers[first..last])
                .filter(|&(_, &register)| is_given(register))
                .fold(0u64, |given, (low, _)| given | 1 << low);
            for &(bit, block) in self.definitions.of(word) {
                defined[block as usize] |= 1 << (bit % 64);
            }
            self.reach(&defined, given, &mut into);
            self.reads(touches, &into, &mut changes);
            self.joins(first, &defined, &into, &mut changes);
            for &(_, block) in self.definitions.of(word) {
                defined[block as usize] = 0;
            }
            into.fill(0);
        }
        changes
    }

    /// Finds the blocks into which definitions of the registers of a word reach.
    fn reach(&self, defined: &[u64], given: u64, into: &mut [u64]) {
        into[0] = given;
        let is_source = |&block: &u32| into[block as usize] | defined[block as usize] != 0;
        let mut waiting: Vec<u32> = self.reached.iter().copied().filter(is_source).collect();
        while let Some(block) = waiting.pop() {
            let out = into[block as usize] | defined[block as usize];
            for &next in self.tables.successors().of(block) {
                let before = into[next as usize];
                into[next as usize] |= out;
                if out & !before & !defined[next as usize] != 0 {
                    waiting.push(next);
                }
            }
        }
    }

    /// Finds the reads that no definition reaches.
    fn reads(&self, touches: &[Touch], into: &[u64], changes: &mut Changes) {
        for own in touches.chunk_by(|a, b| a.block == b.block) {
            let mut written = into[own[0].block as usize];
            for own in own.chunk_by(|a, b| a.instruction == b.instruction) {
                let unwritten = own
                    .iter()
                    .filter(|touch| touch.access.uses() && written >> (touch.bit % 64) & 1 == 0);
                for touch in unwritten {
                    changes.reads.push(touch.place);
                    if !touch.access.defines() {
                        let register = touch.access.entity();
                        changes.undefined.push((touch.instruction, register));
                    }
                }
                for touch in own.iter().filter(|touch| touch.access.defines()) {
                    written |= 1 << (touch.bit % 64);
                }
            }
        }
    }

    /// Finds the blocks that definitions reach from some predecessors only. Before the entry there is one more, from which none does.
    fn joins(&self, first: usize, defined: &[u64], into: &[u64], changes: &mut Changes) {
        for &block in &self.reached {
            let here = into[block as usize];
            let predecessors = self.tables.predecessors().of(block).iter().copied();
            let predecessors = predecessors.filter(|&from| self.sets.is_reachable(from));
            let out = |from: u32| into[from as usize] | defined[from as usize];
            let from_all = match block {
                0 => 0,
                _ => predecessors.clone().fold(!0, |all, from| all & out(from)),
            };
            let mut mixed = here & !from_all;
            while mixed != 0 {
                let low = mixed.trailing_zeros();
                mixed &= mixed - 1;
                let register = self.registers[first + low as usize];
                if !self.sets.is_live_in(register, block) {
                    continue;
                }
                changes.parameters.push((block, register));
                let defining = predecessors
                    .clone()
                    .filter(|&from| out(from) >> low & 1 != 0);
                changes
                    .arguments
                    .extend(defining.map(|from| (from, register)));
            }
        }
    }
}

fn apply(tables: &mut Tables, mut changes: Changes) {
    changes.reads.sort_unstable();
    let mut reads = changes.reads.into_iter().peekable();
    let mut accesses = Lists::with_capacity(tables.accesses.len(), tables.accesses.item_count());
    let mut place = 0;
    for instruction in 0..tables.accesses.len() as u32 {
        for &access in tables.accesses.of(instruction) {
            let reads_nothing = reads.next_if_eq(&place).is_some();
            place += 1;
            if !reads_nothing {
                accesses.push(access);
            } else if access.defines() {
                accesses.push(Access::new(access.entity(), AccessKind::Define));
            }
        }
        accesses.close();
    }
    tables.accesses = accesses;
    add(&mut tables.parameters, changes.parameters);
    add(&mut tables.arguments, changes.arguments);
}

/// Adds to the lists of blocks.
fn add(lists: &mut Lists<u32>, mut more: Vec<(u32, u32)>) {
    if more.is_empty() {
        return;
    }
    more.sort_unstable();
    more.dedup();
    let mut more = more.into_iter().peekable();
    let mut longer = Lists::with_capacity(lists.len(), lists.item_count() + more.len());
    for block in 0..lists.len() as u32 {
        longer.extend(lists.of(block).iter().copied());
        while let Some((_, register)) = more.next_if(|own| own.0 == block) {
            longer.push(register);
        }
        longer.close();
    }
    *lists = longer;
}
