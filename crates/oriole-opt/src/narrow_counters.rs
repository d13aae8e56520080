//! Makes 64-bit values that loops carry 32-bit ones where nothing but their low halves is read.
//!
//! ## Example
//! ```text
//! mov.u64 %rd2, 0;                        mov.u32 %r3, 0;
//! $loop:                                  $loop:
//! …                                       …
//! add.s64 %rd2, %rd2, 1;             →    add.s32 %r3, %r3, 1;
//! cvt.u32.u64 %r2, %rd2;
//! setp.ne.s32 %p1, %r2, %r1;              setp.ne.s32 %p1, %r3, %r1;
//! @%p1 bra $loop;                         @%p1 bra $loop;
//! ```
//!
//! ## Soundness
//! The low half of a sum, a difference, a product, a bitwise operation or a shift to the left by less than 32 is that of the low halves
//! of its operands. Values are taken for narrow until somebody is found who reads more of one.
//!
//! ## Profit
//! One of two machine instructions for each addition, except on `sm_120`, which has 64-bit ones: nothing is done there.
//!
//! ## Method
//! Candidates are parameters of blocks and results of such operations. A candidate that is read by anything but another candidate, a
//! parameter that is one, or a conversion to 32 bits is none, and neither is what it is computed from. Of those that are left, only what is
//! connected with a parameter of a loop's header is changed: `ptxas` narrows the others itself. All sets are linear in the size of the
//! function.
//!
//! ## Not done
//! Counters that are read as 64 bits, for instance in addresses (`narrow_counters`). Counters of 32 bits that 16 would do for: the machine has
//! no registers of 16 bits.

use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, ControlFlow, Loops, literal_bits};
use oriole_collections::{BitSet, DenseMap};
use oriole_ir::{Block, Definition, Editor, Format, Function, Instruction, Operand, Use, Value};
use oriole_isa::cost::CostModel;
use oriole_isa::{Flag, MulMode, Opcode, ScalarType, build};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "narrow-counters",
    summary: "Carry 32 bits around loops where nothing reads more",
    action: Action::Once(run, Trigger::Changes),
};

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    if !CostModel::of(context.environment.target()).has_wide_pairs() {
        return;
    }
    let function = editor.function();
    let loops = analyses.get::<Loops>(function);
    if loops.iter().next().is_none() {
        return;
    }
    let headers: Vec<Block> = loops.iter().map(|this| loops.header(this)).collect();
    let may_have_web = |&header: &Block| {
        let mut parameters = function.blocks()[header].parameters.iter();
        parameters.any(|&parameter| may_be_narrow(function, parameter))
    };
    if !headers.iter().any(may_have_web) {
        return;
    }
    let flow = analyses.get::<ControlFlow>(function);
    let candidates = Candidates::of(function, &flow);
    if candidates.narrow.is_empty() {
        return;
    }
    let webs = candidates.webs(function, &flow, &headers);
    for web in webs {
        let rewrite = Rewrite {
            counter: "narrow-counters.counters",
            instruction: web.operations[0],
            why: "nothing reads more than its low half",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        narrow(editor, &flow, &web);
    }
}

/// Values of 64 bits of which nothing but the low half is read.
struct Candidates {
    narrow: BitSet<Value>,
}

impl Candidates {
    fn of(function: &Function, flow: &ControlFlow) -> Candidates {
        let mut narrow: BitSet<Value> = BitSet::new();
        let mut all: Vec<Value> = Vec::new();
        for &block in flow.reverse_postorder() {
            let is_indirect = flow
                .predecessors(block)
                .any(|from| function.ends_in_indirect_branch(from));
            if block != function.entry() && !is_indirect {
                let parameters = function.blocks()[block].parameters.iter();
                all.extend(parameters.filter(|&&own| is_wide(function, own)));
            }
            let operations = function.instructions_of(block);
            all.extend(operations.filter_map(|it| low_operation(function, it)));
        }
        for &value in &all {
            narrow.insert(value);
        }
        let mut candidates = Candidates { narrow };
        // Whoever is read by something wide is wide, and so is what that is computed from.
        let mut work = all;
        while let Some(value) = work.pop() {
            if !candidates.narrow.contains(value) || candidates.is_read_narrow(function, value) {
                continue;
            }
            candidates.narrow.remove(value);
            sources(function, flow, value, &mut work);
        }
        candidates
    }

    fn is_read_narrow(&self, function: &Function, value: Value) -> bool {
        function.uses_of(value).all(|user| match user {
            Use::Instruction(instruction) => {
                is_cut(function, instruction)
                    || low_operation(function, instruction)
                        .is_some_and(|result| self.narrow.contains(result))
            }
            Use::Edge(from) => function.edges(from).iter().all(|&edge| {
                let parameters = &function.blocks()[edge.target].parameters;
                let arguments = function.arguments(edge).iter().zip(parameters);
                arguments
                    .filter(|&(&argument, _)| argument == value)
                    .all(|(_, &parameter)| self.narrow.contains(parameter))
            }),
        })
    }

    /// Candidates that are connected with a parameter of a header and each other.
    fn webs(&self, function: &Function, flow: &ControlFlow, headers: &[Block]) -> Vec<Web> {
        let mut seen: BitSet<Value> = BitSet::new();
        let mut webs = Vec::new();
        for &header in headers {
            for &parameter in &function.blocks()[header].parameters {
                if !self.narrow.contains(parameter) || !seen.insert(parameter) {
                    continue;
                }
                let mut web = Web::default();
                let mut work = vec![parameter];
                while let Some(value) = work.pop() {
                    match function.values()[value].definition {
                        Definition::Parameter(block) => web.parameters.push((block, value)),
                        Definition::Instruction(instruction) => web.operations.push(instruction),
                        Definition::Undefined => continue,
                    }
                    let mut next = Vec::new();
                    sources(function, flow, value, &mut next);
                    self.readers(function, value, &mut next);
                    let next = next.into_iter();
                    let next = next.filter(|&it| self.narrow.contains(it) && seen.insert(it));
                    work.extend(next);
                }
                // What is only handed on costs nothing to hand on.
                if !web.operations.is_empty() {
                    web.operations.sort_unstable();
                    web.parameters.sort_unstable();
                    webs.push(web);
                }
            }
        }
        webs
    }

    fn readers(&self, function: &Function, value: Value, readers: &mut Vec<Value>) {
        for user in function.uses_of(value) {
            match user {
                Use::Instruction(instruction) => {
                    readers.extend(low_operation(function, instruction));
                }
                Use::Edge(from) => {
                    for &edge in function.edges(from) {
                        let parameters = &function.blocks()[edge.target].parameters;
                        let arguments = function.arguments(edge).iter().zip(parameters);
                        let own = arguments.filter(|&(&argument, _)| argument == value);
                        readers.extend(own.map(|(_, &parameter)| parameter));
                    }
                }
            }
        }
    }
}

/// Values that become narrow together.
#[derive(Default)]
struct Web {
    operations: Vec<Instruction>,
    parameters: Vec<(Block, Value)>,
}

fn is_wide(function: &Function, value: Value) -> bool {
    let held = function.values()[value].scalar_type;
    held.bits() == 64 && !held.is_float() && held.lanes() == 1
}

/// Whether a value may be a candidate, as far as those who read it tell.
fn may_be_narrow(function: &Function, value: Value) -> bool {
    is_wide(function, value)
        && function.uses_of(value).all(|user| match user {
            Use::Instruction(reader) => {
                is_cut(function, reader) || low_operation(function, reader).is_some()
            }
            Use::Edge(_) => true,
        })
}

/// Whether an instruction reads nothing but the low half of its source: a conversion to 32 bits.
fn is_cut(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    let &[to, from] = format.mnemonic.types() else {
        return false;
    };
    format.mnemonic.opcode() == Opcode::Cvt
        && format.is_simple()
        && to.is_integer()
        && from.is_integer()
        && (to.bits(), from.bits()) == (32, 64)
        && !format.mnemonic.has(Flag::Saturate)
        && function
            .results(instruction)
            .all(|result| function.values()[result].scalar_type.bits() == 32)
}

/// The result of an operation whose low half is computed from low halves.
fn low_operation(function: &Function, instruction: Instruction) -> Option<Value> {
    let format = function.format(instruction);
    if !format.is_simple() {
        return None;
    }
    let mnemonic = &format.mnemonic;
    let &[own] = mnemonic.types() else {
        return None;
    };
    let operands = function.operands(instruction);
    let (&[_, first, second], 64) = (operands, own.bits()) else {
        return None;
    };
    if own.is_float() || own.lanes() > 1 || mnemonic.has(Flag::Saturate) {
        return None;
    }
    let is_number = |operand: Operand| match operand {
        Operand::Value(value) => is_wide(function, value),
        Operand::Constant(constant) => function.constants()[constant].literal.is_some(),
        _ => false,
    };
    let fits = match mnemonic.opcode() {
        Opcode::Add | Opcode::Sub | Opcode::And | Opcode::Or | Opcode::Xor => {
            is_number(first) && is_number(second)
        }
        Opcode::Mul => {
            mnemonic.modifiers().mul_mode == Some(MulMode::Low)
                && is_number(first)
                && is_number(second)
        }
        Opcode::Shl => {
            let Operand::Constant(amount) = second else {
                return None;
            };
            let literal = function.constants()[amount].literal?;
            is_number(first) && literal_bits(literal, ScalarType::U32)? < 32
        }
        _ => false,
    };
    let mut results = function.results(instruction);
    let result = results.next().filter(|_| results.len() == 0)?;
    (fits && is_wide(function, result)).then_some(result)
}

/// The values that a candidate is computed from.
fn sources(function: &Function, flow: &ControlFlow, value: Value, sources: &mut Vec<Value>) {
    match function.values()[value].definition {
        Definition::Undefined => {}
        Definition::Instruction(instruction) => {
            let operands = function.operands(instruction)[1..].iter();
            sources.extend(operands.filter_map(|operand| operand.value()));
        }
        Definition::Parameter(block) => {
            let parameters = &function.blocks()[block].parameters;
            let position = parameters.iter().position(|&own| own == value);
            let position = position.expect("a parameter is one of its block's");
            for from in flow.predecessors(block) {
                let edges = function.edges(from).iter();
                let own = edges.filter(|edge| edge.target == block);
                sources.extend(own.map(|&edge| function.arguments(edge)[position]));
            }
        }
    }
}

/// Makes the values of a web narrow. Narrow ones are made beside the wide ones, which nobody reads then but each other.
fn narrow(editor: &mut Editor<'_>, flow: &ControlFlow, web: &Web) {
    let mut pairs: Vec<(Value, Value)> = Vec::new();
    for &(block, wide) in &web.parameters {
        pairs.push((wide, editor.add_parameter(block, ScalarType::B32)));
    }
    let mut made = Vec::with_capacity(web.operations.len());
    for &operation in &web.operations {
        let (half, pair) = narrow_operation(editor, operation);
        made.push((operation, half));
        pairs.push(pair);
    }
    let mut halves: DenseMap<Value, Value> = DenseMap::new();
    for &(wide, half) in &pairs {
        halves.insert(wide, half);
    }
    for (operation, half) in made {
        set_sources(editor, &halves, operation, half);
    }
    for &(block, wide) in &web.parameters {
        give_arguments(editor, flow, &halves, block, wide);
    }
    for (wide, half) in pairs {
        let function = editor.function();
        let users: Vec<Use> = function.uses_of(wide).collect();
        for user in users {
            let Use::Instruction(cut) = user else {
                continue;
            };
            if is_cut(editor.function(), cut) {
                let format = editor.plain_format(&build::copy(ScalarType::B32), 2);
                editor.rewrite(cut, format, &[Operand::Result(0), Operand::Value(half)]);
            }
        }
    }
}

/// Makes the narrow form of an operation before it, with zeros for operands. Gives it, and the results of both.
fn narrow_operation(
    editor: &mut Editor<'_>,
    operation: Instruction,
) -> (Instruction, (Value, Value)) {
    let function = editor.function();
    let mnemonic = &function.format(operation).mnemonic;
    let wide = mnemonic.first_type().expect("64 bits");
    let narrow = match wide.is_integer() {
        true => ScalarType::integer(wide.is_signed(), 32),
        false => ScalarType::untyped(32),
    };
    let narrow = mnemonic.with_type(0, narrow.expect("32 bits"));
    let narrow = narrow.expect("every such operation has a form of 32 bits");
    let result = function.results(operation).next().expect("one result");
    let format = editor.plain_format(&narrow, 3);
    let zero = editor.integer(0, false);
    let operands = [Operand::Result(0), zero, zero];
    let half = editor.insert_before(operation, format, &operands, &[ScalarType::B32]);
    editor.copy_line(operation, half);
    (half, (result, first_result(editor.function(), half)))
}

/// Gives a narrow operation the low halves of what the wide one reads.
fn set_sources(
    editor: &mut Editor<'_>,
    halves: &DenseMap<Value, Value>,
    operation: Instruction,
    half: Instruction,
) {
    let mnemonic = &editor.function().format(operation).mnemonic;
    let wide = mnemonic.first_type().expect("64 bits");
    let is_shift = mnemonic.opcode() == Opcode::Shl;
    for index in 1..3 {
        let operand = match editor.function().operands(operation)[index] {
            Operand::Value(value) => match halves.get(&value) {
                Some(&known) => Operand::Value(known),
                None => {
                    let format = cut_format(editor);
                    let operands = [Operand::Result(0), Operand::Value(value)];
                    let cut = editor.insert_before(half, format, &operands, &[ScalarType::B32]);
                    editor.copy_line(operation, cut);
                    Operand::Value(first_result(editor.function(), cut))
                }
            },
            Operand::Constant(constant) if !(is_shift && index == 2) => {
                let literal = editor.function().constants()[constant].literal;
                let bits = literal.and_then(|literal| literal_bits(literal, wide));
                let bits = bits.expect("a number") as u32;
                editor.integer(i64::from(bits as i32) as u64, false)
            }
            other => other,
        };
        editor.set_operand(half, index, operand);
    }
}

/// Gives the last parameter added to a block, the low half of another, its arguments: the low halves of that one's.
fn give_arguments(
    editor: &mut Editor<'_>,
    flow: &ControlFlow,
    halves: &DenseMap<Value, Value>,
    block: Block,
    wide: Value,
) {
    let parameters = &editor.function().blocks()[block].parameters;
    let position = parameters.iter().position(|&own| own == wide);
    let position = position.expect("a parameter is one of its block's");
    let mut from: Vec<Block> = flow.predecessors(block).collect();
    from.dedup();
    let mut seen: BitSet<Block> = BitSet::new();
    for from in from {
        if !seen.insert(from) {
            continue;
        }
        for edge in 0..editor.function().edges(from).len() {
            let data = editor.function().edges(from)[edge];
            if data.target != block {
                continue;
            }
            let argument = editor.function().arguments(data)[position];
            let half = match halves.get(&argument) {
                Some(&half) => half,
                None => cut_at_end(editor, from, argument),
            };
            editor.push_argument(from, edge, half);
        }
    }
}

/// The low half of a value, computed at the end of a block.
fn cut_at_end(editor: &mut Editor<'_>, block: Block, value: Value) -> Value {
    let function = editor.function();
    if function.values()[value].definition == Definition::Undefined {
        return editor.undefined(ScalarType::B32);
    }
    let format = cut_format(editor);
    let operands = [Operand::Result(0), Operand::Value(value)];
    let cut = editor.insert_at_end(block, format, &operands, &[ScalarType::B32]);
    first_result(editor.function(), cut)
}

fn cut_format(editor: &mut Editor<'_>) -> Format {
    editor.plain_format(&build::cvt(ScalarType::U32, ScalarType::U64), 2)
}

fn first_result(function: &Function, instruction: Instruction) -> Value {
    let mut results = function.results(instruction);
    results.next().expect("it has one result")
}
