//! Permutes the words of shared memory so that lanes of a warp find theirs in different banks.
//!
//! ## Example
//! A column of a tile whose rows have 128 bytes lies in one bank. With the number of the row, bits 7 to 11, added to that of the word
//! without carry, it lies in all 32:
//! ```text
//! ld.shared.f32 %f1, [%r1];              →        shr.u32 %r2, %r1, 5;
//!                                                 and.b32 %r3, %r2, 124;
//!                                                 xor.b32 %r4, %r1, %r3;
//!                                                 ld.shared.f32 %f1, [%r4];
//! ```
//! No source changes, and no memory is added but for what brings the size of an array to a multiple of 128 bytes.
//!
//! ## Soundness
//! Addresses keep their values; only where an access looks for its bytes changes. Let `f(a) = a ^ ((a >> shift) & mask)`, where the mask has bits
//! below 7 only, and what is shifted there has bits from 7 on; or the same with `a - first` shifted, where `first`, an array, is aligned to 128.
//! `f` permutes each line of 128 bytes, so it is a bijection of all of shared memory, and one that keeps together every naturally aligned group
//! of as many bytes as the mask leaves low bits alone. Every access of the kernel to shared memory goes through `f`, whatever array it reaches: if
//! all of them do, what a load reads is what was stored there before, within the bounds of an array or not. All arrays are aligned to lines and
//! consist of whole ones, so that none reaches beyond its end.
//!
//! That every access is one of those that are rewritten is required: loads, stores and atomics that name `.shared`, and `ldmatrix`, no wider than
//! the bytes that stay together. A kernel is left alone if it has anything else that may touch shared memory: calls, unknown instructions,
//! asynchronous copies, barriers in memory, matrices that are loaded as a whole, memory of other blocks, generic accesses together with a
//! conversion of a shared address to a generic one, or arrays of the module, whose size may be given at launch.
//!
//! ## Method
//! The lane patterns of all accesses (`oriole_analysis::lane_patterns`), in all warps, are the input of a search over shifts and masks
//! (`search.rs`). Taken is the one that saves most wavefronts, times how often loops run, if no access takes more than before, and if that is more than
//! the instructions that are added. If the shape of blocks is not known, it has to be so for several.
//!
//! ## Not done
//! Arrays of the module (`swizzle_shared_unchanged`), so all of Triton's; `cp.async`; permutations that differ by array; more than one shift;
//! rows that could be padded.

mod search;

use crate::knobs::Number;
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::Analyses;
use oriole_analysis::ControlFlow;
use oriole_analysis::memory_requests::{Request, requests};
use oriole_collections::DenseSet;
use oriole_ir::{
    Base, Editor, Function, FunctionKind, Instruction, Offset, Operand, ShapeKind, ShapeNode,
    Symbol, SymbolKind, Value, VariableType,
};
use oriole_isa::{Flag, Opcode, Ordering, ScalarType, Space, SpaceSet, build};
use search::Swizzle;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "swizzle-shared",
    summary: "Permute words of shared memory so that lanes find theirs in different banks",
    action: Action::Once(run, Trigger::Rewrites),
};

// Settings.
const ALWAYS: Number = Number::named("SwizzleSharedAlways");

/// The counter of kernels that were changed.
pub const SWIZZLED: &str = "swizzle-shared.kernels";

/// Bytes of all banks in a row.
const LINE: u32 = 128;
/// The most shared memory that a kernel may have without being asked for more at launch.
const MOST_BYTES: u32 = 48 << 10;
/// Accesses beyond this are not looked at.
const MOST_ACCESSES: usize = 256;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    let Some(arrays) = arrays(function) else {
        return;
    };
    let Some(accesses) = accesses(function, analyses) else {
        return;
    };
    let Some(first) = arrays.first().map(|array| array.symbol) else {
        return;
    };
    // Arrays that consist of whole lines may have been permuted before.
    let is_new = arrays.iter().any(|array| array.is_changed);
    let always = match context.knobs.number(ALWAYS) {
        number @ (1 | 2) if is_new => Some(Swizzle::widest(&accesses, number == 2)),
        _ => None,
    };
    let Some(swizzle) = always.or_else(|| search::best(function, analyses, &accesses, first))
    else {
        return;
    };
    let rewrite = Rewrite {
        counter: SWIZZLED,
        instruction: accesses[0].instruction,
        why: "lanes find their words in different banks",
        equal: None,
    };
    if !context.allows(function, rewrite) {
        return;
    }
    let count = accesses.len() as u64;
    context.statistics.add("swizzle-shared.accesses", count);
    for array in arrays {
        editor.set_variable_type(array.variable, array.closed);
    }
    for access in accesses {
        permute(editor, access.instruction, first, swizzle);
    }
}

/// An array in shared memory.
struct Array {
    symbol: Symbol,
    variable: oriole_ir::Variable,
    /// Its type if it consists of whole lines.
    closed: VariableType,
    /// Whether that is another one than it has.
    is_changed: bool,
}

/// The arrays that the kernel names, in order; nothing if one of them cannot be made to consist of whole lines.
fn arrays(function: &Function) -> Option<Vec<Array>> {
    if function.kind() != FunctionKind::Entry {
        return None;
    }
    let mut named: Vec<Array> = Vec::new();
    let mut total = 0u32;
    for &block in function.block_order() {
        for instruction in function.instructions_of(block) {
            for &operand in function.operands(instruction) {
                let Operand::Symbol(symbol) = operand else {
                    continue;
                };
                let data = function.symbols()[symbol];
                let variable = match data.kind {
                    SymbolKind::Variable(variable) => variable,
                    // A variable of the module, or a function, whose address is taken.
                    SymbolKind::Global(_) if data.space.is_none_or(is_shared) => return None,
                    _ => continue,
                };
                let own = &function.variables()[variable];
                if own.space != Some(Space::Shared) {
                    continue;
                }
                if named.iter().any(|array| array.variable == variable) {
                    continue;
                }
                let was = own.variable_type;
                let bytes = was.bytes?.checked_next_multiple_of(LINE)?;
                let closed = VariableType {
                    bytes: Some(bytes),
                    alignment: was.alignment.max(LINE),
                    ..was
                };
                // It is named from everywhere, and its declaration can be written anew.
                if data.space != Some(Space::Shared) || !closed.can_be_declared() {
                    return None;
                }
                total = total.checked_add(bytes)?;
                named.push(Array {
                    symbol,
                    variable,
                    closed,
                    is_changed: closed != was,
                });
            }
        }
    }
    (total <= MOST_BYTES && !named.is_empty()).then_some(named)
}

fn is_shared(space: Space) -> bool {
    matches!(space, Space::Shared | Space::SharedCluster)
}

/// All accesses to shared memory; nothing if there may be others than those that can be permuted.
fn accesses(function: &Function, analyses: &mut Analyses) -> Option<Vec<Request>> {
    let flow = analyses.get::<ControlFlow>(function);
    let mut all = requests(function, &flow);
    all.retain(|request| is_shared(request.space));
    let decoded: DenseSet<Instruction> = all.iter().map(|request| request.instruction).collect();
    let (mut has_generic, mut has_conversion) = (false, false);
    for &block in function.block_order() {
        for instruction in function.instructions_of(block) {
            let format = function.format(instruction);
            let effects = &format.effects;
            if format.opaque
                || effects.is_call
                || effects.asynchronous
                || effects.ordering.contains(Ordering::ASYNCHRONOUS)
            {
                return None;
            }
            let mnemonic = &format.mnemonic;
            let is_generic_address = match mnemonic.opcode() {
                Opcode::Mapa | Opcode::Getctarank => return None,
                Opcode::Cvta => {
                    mnemonic.space().is_none_or(is_shared) && !mnemonic.has(Flag::ToSpace)
                }
                _ => false,
            };
            has_conversion |= is_generic_address;
            let touched = effects.reads.union(effects.writes);
            if !touched.intersects(SpaceSet::SHARED.union(SpaceSet::REMOTE_SHARED)) {
                continue;
            }
            let access = function.access(instruction);
            if access.is_some_and(|access| access.space == Space::Generic) {
                has_generic = true;
            } else if !decoded.contains(&instruction) {
                return None;
            }
        }
    }
    if has_generic && has_conversion || all.is_empty() || all.len() > MOST_ACCESSES {
        return None;
    }
    all.iter()
        .all(|request| can_be_permuted(function, &flow, request))
        .then_some(all)
}

/// Whether the address of an access can be computed anew.
fn can_be_permuted(function: &Function, flow: &ControlFlow, request: &Request) -> bool {
    let mnemonic = &function.format(request.instruction).mnemonic;
    let is_known = matches!(
        mnemonic.opcode(),
        Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red | Opcode::Ldmatrix | Opcode::Stmatrix
    );
    let has_base = match request.address.map(|address| address.base) {
        Some(Base::Value(value)) => {
            width(function, value).is_some() && is_of_array(function, flow, value)
        }
        Some(Base::Symbol(_)) => true,
        Some(Base::Absolute) | None => false,
    };
    is_known
        && has_base
        && request.space == Space::Shared
        && request.bytes.is_power_of_two()
        && request.bytes <= 16
        && function.format(request.instruction).address.is_some()
}

/// The bits of an address, if it is an integer of 32 or 64.
fn width(function: &Function, value: Value) -> Option<u32> {
    let held = function.values()[value].scalar_type;
    let bits = held.bits();
    (!held.is_float() && held != ScalarType::Pred && matches!(bits, 32 | 64)).then_some(bits)
}

/// Values that are looked at to find the array of an address.
const MOST_VALUES: usize = 64;

/// Whether an array's address is part of what a value was computed from. An address that comes from elsewhere may lie in memory that is
/// given at launch, which may end inside a line.
fn is_of_array(function: &Function, flow: &ControlFlow, value: Value) -> bool {
    let mut seen: DenseSet<Value> = DenseSet::new();
    let mut work = vec![value];
    while let Some(value) = work.pop() {
        if seen.len() > MOST_VALUES || !seen.insert(value) {
            continue;
        }
        match function.values()[value].definition {
            oriole_ir::Definition::Instruction(instruction) => {
                for &operand in function.operands(instruction) {
                    match operand {
                        Operand::Symbol(symbol)
                            if function.symbols()[symbol].space == Some(Space::Shared) =>
                        {
                            return true;
                        }
                        Operand::Value(value) => work.push(value),
                        _ => {}
                    }
                }
            }
            oriole_ir::Definition::Parameter(block) => {
                let parameters = &function.blocks()[block].parameters;
                let Some(place) = parameters.iter().position(|&own| own == value) else {
                    continue;
                };
                for from in flow.predecessors(block) {
                    for edge in function.edges(from) {
                        if edge.target == block {
                            work.extend(function.arguments(*edge).get(place));
                        }
                    }
                }
            }
            oriole_ir::Definition::Undefined => {}
        }
    }
    false
}

/// Has an access look for its bytes where the permutation puts them.
fn permute(editor: &mut Editor<'_>, access: Instruction, first: Symbol, swizzle: Swizzle) {
    let function = editor.function();
    let Some(address) = function.address(access) else {
        return;
    };
    let bits = match address.base {
        Base::Value(value) => width(function, value).unwrap_or(32),
        Base::Symbol(_) | Base::Absolute => 32,
    };
    let mut insertion = Insertion {
        editor,
        access,
        bits,
    };
    let mut at = match address.base {
        Base::Value(value) => value,
        Base::Symbol(symbol) => insertion.address_of(symbol),
        Base::Absolute => return,
    };
    if address.offset != 0 {
        let offset = insertion.editor.integer(address.offset as u64, false);
        at = insertion.binary(Opcode::Add, true, Operand::Value(at), offset);
    }
    let mut within = at;
    if swizzle.is_relative {
        let origin = Operand::Value(insertion.address_of(first));
        within = insertion.binary(Opcode::Sub, true, Operand::Value(at), origin);
    }
    let shift = insertion.editor.integer(u64::from(swizzle.shift), true);
    let shifted = insertion.binary(Opcode::Shr, false, Operand::Value(within), shift);
    let mask = insertion.editor.integer(u64::from(swizzle.mask), false);
    let word = insertion.logic(Opcode::And, shifted, mask);
    let permuted = insertion.logic(Opcode::Xor, at, Operand::Value(word));
    set_address(editor, access, permuted);
}

/// Inserts instructions before an access.
struct Insertion<'run, 'function> {
    editor: &'run mut Editor<'function>,
    access: Instruction,
    bits: u32,
}

impl Insertion<'_, '_> {
    fn insert(&mut self, mnemonic: &oriole_isa::MnemonicText, sources: &[Operand]) -> Value {
        let mut operands = vec![Operand::Result(0)];
        operands.extend_from_slice(sources);
        let format = self.editor.plain_format(mnemonic, operands.len());
        let held = ScalarType::untyped(self.bits).expect("32 or 64 bits");
        let inserted = self
            .editor
            .insert_before(self.access, format, &operands, &[held]);
        self.editor.copy_line(self.access, inserted);
        let mut results = self.editor.function().results(inserted);
        results.next().expect("it has one result")
    }

    fn address_of(&mut self, symbol: Symbol) -> Value {
        let held = ScalarType::integer(false, self.bits).expect("32 or 64 bits");
        self.insert(&build::mov(held), &[Operand::Symbol(symbol)])
    }

    fn binary(&mut self, opcode: Opcode, is_signed: bool, left: Operand, right: Operand) -> Value {
        let held = ScalarType::integer(is_signed, self.bits).expect("32 or 64 bits");
        self.insert(&build::typed(opcode, held), &[left, right])
    }

    fn logic(&mut self, opcode: Opcode, left: Value, right: Operand) -> Value {
        let held = ScalarType::untyped(self.bits).expect("32 or 64 bits");
        self.insert(&build::typed(opcode, held), &[Operand::Value(left), right])
    }
}

/// Gives an access this address.
fn set_address(editor: &mut Editor<'_>, access: Instruction, address: Value) {
    let function = editor.function();
    let format = function.format(access);
    let Some(place) = format.address else {
        return;
    };
    let mut shape = format.shape.to_vec();
    let mut operands = function.operands(access).to_vec();
    let leaf = operands.len() - format.leaves.len() + place.leaf;
    let node = place.node;
    shape.drain(node..node + shape[node].size as usize);
    let group = ShapeNode {
        kind: ShapeKind::Address,
        size: 2,
        ..ShapeNode::LEAF
    };
    shape.splice(node..node, [group, ShapeNode::LEAF]);
    operands[leaf] = Operand::Value(address);
    if place.offset != Offset::None {
        operands.remove(leaf + 1);
    }
    let format = editor.format_with_shape(access, &shape);
    editor.rewrite(access, format, &operands);
}
