//! Permutes the words of shared memory, or pads rows of arrays, so that lanes of a warp find theirs in different banks.
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
//! No source changes, and no memory is added but for what brings the size of an array to a multiple of 128 bytes. Where that is clearly
//! cheaper, rows are padded instead:
//! ```text
//! mad.lo.s32 %r2, %r1, 160, tile;        →        mad.lo.s32 %r2, %r1, 164, tile;
//! ```
//!
//! ## Soundness
//! Addresses keep their values; only where an access looks for its bytes changes. Let `f(a) = a ^ ((a >> shift) & mask)`, where the mask has bits
//! below 7 only, and what is shifted there has bits from 7 on; or the same with `a - first` shifted, where `first`, an array, is aligned to 128.
//! `f` permutes each line of 128 bytes, so it is a bijection of all of shared memory, and one that keeps together every naturally aligned group
//! of as many bytes as the mask leaves low bits alone. Every access of the kernel to shared memory goes through `f`, whatever array it reaches: if
//! all of them do, what a load reads is what was stored there before, within the bounds of an array or not. All arrays are aligned to lines and
//! consist of whole ones, so that none reaches beyond its end.
//!
//! Padding is `f(a) = a + (a - first) / row * pad`, which is no bijection of all of shared memory, but moves the bytes of one array to different places
//! of a larger one. So it is only done to a kernel that names one array and nothing else in shared memory: every valid address lies in it.
//! `row` and `pad` are multiples of the widest access, so no access reaches across the end of a row.
//!
//! That every access is one of those that are rewritten is required: loads, stores and atomics that name `.shared`, `ldmatrix`, `stmatrix` and
//! `cp.async`, no wider than the bytes that stay together. What is copied goes to the place where what reads it looks, whenever it arrives.
//! A kernel is left alone if it has anything else that may touch shared memory: calls, unknown instructions,
//! bulk copies, barriers in memory, `wgmma`, matrices that are loaded as a whole, memory of other blocks, generic accesses together with a
//! conversion of a shared address to a generic one, memory whose size is given at launch, or arrays that another module defines. Arrays of
//! the module are replaced by arrays of the kernel (`arrays.rs`).
//!
//! Memory that is given at launch may end inside a line, which PTX does not tell: an access that is moved within the last line would be beyond
//! its end. Who knows that all launches give whole lines says so (`SwizzleSharedDynamic`); it is permuted by addresses then, as nothing says that it
//! begins with a line. Nothing was found that could be proved instead: an access to the last bytes of a line would have to be executed
//! by every launch, which needs `.reqntid`, and no compiler at hand writes that with memory that is given at launch and not permuted already.
//!
//! ## Method
//! The lane patterns of all accesses (`oriole_analysis::lane_patterns`), in all warps, are the input of a search over shifts and masks, and over
//! rows and paddings (`search.rs`). The pass takes the layout that saves most wavefronts, weighted by trip counts, if no access takes more than before and if
//! the kernel saves at least two wavefronts for each instruction that it adds. If the shape of blocks is not known, it has to be so for several, without those that
//! would reach beyond the arrays. Padding has to gain a quarter more than the best permutation. Neither may cost a multiprocessor a block.
//!
//! Bits that are added above those that a permutation looks at may be added behind it: `f(a + c) = f(a) + c`. So accesses of a block with one base
//! have the permuted base in common. Where an address is a row and a column that is known to be in it, the row is not divided for but read off
//! (`rows.rs`).
//!
//! A copy past the cache copies lines to lines, whichever way pieces within them are exchanged, so it has no say in the search; by way of the cache
//! what lanes read counts too.
//!
//! ## Not done
//! Permutations that differ by array; more than one shift; padding of one of several arrays (`swizzle_shared_padding`); strides that
//! differ from round to round of a loop.

mod arrays;
mod layout;
mod rewrite;
mod rows;
mod search;

use crate::knobs::{Number, Switch};
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use arrays::Array;
use layout::{Layout, Padding, Swizzle};
use oriole_analysis::Analyses;
use oriole_analysis::ControlFlow;
use oriole_analysis::launch::DEFAULT_THREADS;
use oriole_analysis::launch::occupancy::{Demand, Occupancy};
use oriole_analysis::memory_requests::{Request, requests};
use oriole_collections::DenseSet;
use oriole_ir::{Base, Editor, Environment, Function, Instruction, Operand, Value};
use oriole_isa::{Flag, Opcode, Ordering, ScalarType, Space, SpaceSet};
use rewrite::Plan;
use search::Search;
use std::cell::OnceCell;

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "swizzle-shared",
    summary: "Permute words of shared memory, or pad rows, so that lanes find theirs in different banks",
    action: Action::Once(run, Trigger::Rewrites),
};

// Settings.
const ALWAYS: Number = Number::named("SwizzleSharedAlways");
const DYNAMIC: Switch = Switch::named("SwizzleSharedDynamic");

/// The counter of kernels that were changed.
pub const SWIZZLED: &str = "swizzle-shared.kernels";

/// The counter of kernels with rows that were padded.
const PADDED: &str = "swizzle-shared.padded";

/// Accesses beyond this are not looked at.
const MOST_ACCESSES: usize = 512;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let function = editor.function();
    let has_whole_lines = context.knobs.switch(DYNAMIC);
    let Some(arrays) = arrays::arrays(function, context.environment, has_whole_lines) else {
        return;
    };
    let Some(accesses) = accesses(function, analyses) else {
        return;
    };
    let Some(first) = arrays.first().map(|array| array.symbol) else {
        return;
    };
    let environment = context.environment;
    let can_pad = |padding: Padding| can_be_padded(&arrays, &accesses, environment, padding);
    // What is given at launch need not begin with a line.
    let can_be_relative = !arrays.iter().any(Array::is_given);
    let bytes = arrays.iter().map(|array| array.bytes).sum();
    let closed = arrays.iter().filter_map(|array| array.closed().bytes).sum();
    let search = Search {
        function,
        requests: &accesses,
        first,
        can_permute: keeps_blocks(environment, bytes, closed),
        sums: OnceCell::new(),
        can_be_relative,
        bytes: match can_be_relative {
            true => bytes,
            false => arrays::MOST_BYTES,
        },
        can_pad: &can_pad,
    };
    let always = match arrays.iter().any(Array::is_new) {
        true => always(context.knobs.number(ALWAYS), &accesses).filter(|layout| match layout {
            Layout::Swizzled(swizzle) => can_be_relative || !swizzle.is_relative,
            Layout::Padded(padding) => can_pad(*padding),
        }),
        false => None,
    };
    if matches!(always, Some(Layout::Padded(_))) {
        search.find_sums(analyses);
    }
    let Some(layout) = always.or_else(|| search.best(analyses)) else {
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
    let sums = search.sums.into_inner().unwrap_or_default();
    let count = accesses.len() as u64;
    context.statistics.add("swizzle-shared.accesses", count);
    if matches!(layout, Layout::Padded(_)) {
        context.statistics.add(PADDED, 1);
    }
    let mut symbols = Vec::new();
    for array in &arrays {
        let mut declared = match layout {
            Layout::Swizzled(_) => Some(array.closed()),
            Layout::Padded(padding) => array.padded(padding),
        };
        // One that was padded for no reason looks like one that was permuted, so that it is not padded again.
        if always.is_some() {
            declared = declared.map(arrays::closed);
        }
        symbols.push(array.declare(editor, declared.unwrap_or(array.closed())));
    }
    let plan = Plan {
        layout,
        first: symbols[0],
        sums: &sums,
    };
    rewrite::rewrite(editor, &accesses, plan);
}

/// The layout that is taken although nothing is gained.
fn always(knob: u64, accesses: &[Request]) -> Option<Layout> {
    let pad = layout::widest(accesses);
    Some(match knob {
        1 | 2 => Layout::Swizzled(Swizzle::widest(accesses, knob == 2)),
        3 => Layout::Padded(Padding { row: 128, pad }),
        4 => Layout::Padded(Padding { row: 144, pad }),
        _ => return None,
    })
}

/// Whether rows of the only array may be longer: no access reaches across their ends, memory suffices, and as many blocks fit a
/// multiprocessor as before.
fn can_be_padded(
    arrays: &[Array],
    accesses: &[Request],
    environment: &Environment,
    padding: Padding,
) -> bool {
    let [array] = arrays else {
        return false;
    };
    if array.is_given() || environment.target().is_none() {
        return false;
    }
    let widest = layout::widest(accesses);
    let Some(bytes) = array.padded(padding).and_then(|padded| padded.bytes) else {
        return false;
    };
    padding.row < array.bytes
        && padding.row.is_multiple_of(widest)
        && padding.pad.is_multiple_of(widest)
        && array.variable_type.alignment >= widest
        && bytes <= arrays::MOST_BYTES
        && keeps_blocks(environment, array.bytes, bytes)
}

/// Whether as many blocks fit a multiprocessor with so much shared memory as with so much before, as far as that is known.
fn keeps_blocks(environment: &Environment, before: u32, after: u32) -> bool {
    let Some(target) = environment.target() else {
        return true;
    };
    let bounds = environment.bounds();
    let threads = match bounds.required_block {
        Some(_) => bounds.threads(),
        None => bounds.threads().map(|most| most.min(DEFAULT_THREADS)),
    };
    let blocks = |shared| {
        let demand = Demand {
            registers: 1,
            threads: threads.unwrap_or(DEFAULT_THREADS),
            shared,
            barriers: 1,
            tensor_columns: 0,
            opt_in: true,
        };
        Occupancy::of(target, demand).map(|occupancy| occupancy.blocks)
    };
    after <= before
        || blocks(after)
            .zip(blocks(before))
            .is_some_and(|(after, before)| after >= before)
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
            let mnemonic = &format.mnemonic;
            // Copies, what waits for them, and what waits for other kernels, which have no part in the memory of a block.
            let is_harmless = matches!(
                mnemonic.opcode(),
                Opcode::CpAsync
                    | Opcode::CpAsyncCommitGroup
                    | Opcode::CpAsyncWaitGroup
                    | Opcode::CpAsyncWaitAll
                    | Opcode::Griddepcontrol
            );
            let is_asynchronous =
                effects.asynchronous || effects.ordering.contains(Ordering::ASYNCHRONOUS);
            if format.opaque || effects.is_call || is_asynchronous && !is_harmless {
                return None;
            }
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
        Opcode::Ld
            | Opcode::St
            | Opcode::Atom
            | Opcode::Red
            | Opcode::Ldmatrix
            | Opcode::Stmatrix
            | Opcode::CpAsync
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
        && rewrite::address_place(function.format(request.instruction)).is_some()
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
