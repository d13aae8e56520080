//! Lets readers of a copy read the original.
//!
//! ## Example
//! ```text
//! mov.b32 %r2, %r1;                                          // gone: nobody reads %r2
//! add.s32 %r3, %r2, %r2;                          →          add.s32 %r3, %r1, %r1;
//! ```
//!
//! ## What counts as a copy
//! - a plain `mov` from register to register;
//! - a guarded `mov`, for readers under the same guard;
//! - a half taken out of what was packed from halves: `mov.b64 {%r3, %r4}, %rd1` behind `mov.b64 %rd1, {%r1, %r2}`
//!   (`CopyPropNonRegMultiDef`);
//! - a second `mov` from a special register that does not change, in the same block (`CopyPropPreAllocReg`); compilers read them again
//!   in other blocks so as not to keep them in a register, which gvn-cse weighs;
//! - a block parameter that every edge gives the same value (`CopyPropUseReachingDefs`), or no value at all, which may as well
//!   be that one where it is known;
//! - `mov.u64 %rd1, variable`, for addresses in the variable's own state space (`CopyPropConstantBank` for constant
//!   memory and parameters);
//! - `not.pred`, for guards: a guard on it becomes the opposite guard on the original (`LateCopyPropComplPred`).
//!
//! ## Soundness
//! In SSA form the original dominates the copy and never changes, so whoever could read the copy can read the original. The
//! register of the original must be one the readers accept: of the copy's own type, or untyped and as wide; block arguments
//! and values kept by guarded instructions are replaced only by values of exactly their type, as everything else would bring
//! the copy back. Pinned registers are not values and take no part. ptxas ignores guards on `testp` and mistreats them on
//! `set`, so those never change.
//!
//! ## Method
//! One walk in reverse postorder, definitions before uses, so copies of copies resolve to the first original. Who reads a copy
//! is marked where the copy is met, and nobody else's operands are looked at. Where loops
//! begin, parameters are looked at once more behind it, as the values that the loop brings back were replaced after them; if
//! one of them was a copy, its readers have another look.
//!
//! ## Not done
//! - Copies of constants: which operands accept them depends on the instruction, see algebraic-simplification.
//! - Two copies of one register that an edge passes on (`copy_propagation_congruent_unchanged`): their parameters may be congruent.

use crate::knobs::{Number, Switch};
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use crate::sparse_map::SparseMap;
use oriole_analysis::{Analyses, ControlFlow, Dominators};
use oriole_collections::{BitSet, DenseMap};
use oriole_ir::{
    Block, Definition, Edge, Editor, Function, Instruction, Member, Operand, ShapeKind, ShapeNode,
    Symbol, SymbolKind, Traits, Use, Value,
};
use oriole_isa::{Opcode, ScalarType, Space};
use oriole_syntax::tree::{FunctionKind, Guard};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "copy-propagation",
    summary: "Let readers of a register copy read the original",
    action: Action::Once(run, Trigger::Rewrites),
};

// Settings.
const COPY_PROP_FORCE_GLOBAL: Switch = Switch::named("CopyPropForceGlobal");
const COPY_PROP_GLOBAL_BUDGET: Number = Number::named("CopyPropGlobalBudget");
const COPY_PROP_ADDR: Switch = Switch::named("CopyPropAddr");
const COPY_PROP_CONSTANT_BANK: Switch = Switch::named("CopyPropConstantBank");
const COPY_PROP_NO_MMA_CB: Switch = Switch::named("CopyPropNoMmaCb");
const COPY_PROP_NO_WRITE_NON_RR: Switch = Switch::named("CopyPropNoWriteNonRR");
const COPY_PROP_NON_REG_MULTI_DEF: Switch = Switch::named("CopyPropNonRegMultiDef");
const COPY_PROP_PRE_ALLOC_REG: Switch = Switch::named("CopyPropPreAllocReg");
const LATE_COPY_PROP_COMPL_PRED: Switch = Switch::named("LateCopyPropComplPred");
const COPY_PROP_BUDGET: Number = Number::named("CopyPropBudget");
const COPY_PROP_USE_REACHING_DEFS: Switch = Switch::named("CopyPropUseReachingDefs");

/// Copies of one register that are compared, for each argument of an edge.
const MOST_EQUAL_COPIES: usize = 256;

/// What a copy stands for.
#[derive(Clone, Copy)]
enum Original {
    Value(Value),
    /// The value, for readers under the same guard.
    Under(Value, Guard, Value),
    /// The opposite of a predicate.
    Complement(Value),
    /// The address of a variable.
    Address(Symbol),
}

struct Propagation<'run> {
    analyses: &'run mut Analyses,
    /// What each copy stands for.
    originals: SparseMap<Original>,
    /// Instructions that read copies, or did, and blocks whose edges do.
    readers: BitSet<Instruction>,
    edges: BitSet<Block>,
    special: DenseMap<u32, Value>,
    global_left: u64,
    addresses: bool,
    constant_bank: bool,
    matrix: bool,
    mixed: bool,
    parts: bool,
    fixed: bool,
    complements: bool,
}

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    let flow = analyses.get::<ControlFlow>(editor.function());
    let knobs = context.knobs;
    let mut propagation = Propagation {
        analyses,
        originals: SparseMap::new(editor.function()),
        readers: BitSet::with_domain(editor.function().instruction_bound()),
        edges: BitSet::with_domain(editor.function().blocks().len()),
        special: DenseMap::new(),
        global_left: if knobs.switch(COPY_PROP_FORCE_GLOBAL) {
            u64::MAX
        } else {
            knobs.number(COPY_PROP_GLOBAL_BUDGET)
        },
        addresses: knobs.switch(COPY_PROP_ADDR),
        constant_bank: knobs.switch(COPY_PROP_CONSTANT_BANK),
        matrix: !knobs.switch(COPY_PROP_NO_MMA_CB),
        mixed: !knobs.switch(COPY_PROP_NO_WRITE_NON_RR),
        parts: knobs.switch(COPY_PROP_NON_REG_MULTI_DEF),
        fixed: knobs.switch(COPY_PROP_PRE_ALLOC_REG),
        complements: knobs.switch(LATE_COPY_PROP_COMPL_PRED),
    };
    let mut budget = knobs.number(COPY_PROP_BUDGET);
    let reaching = knobs.switch(COPY_PROP_USE_REACHING_DEFS);
    let mut loops: Vec<Block> = Vec::new();
    if reaching {
        let with_parameters =
            |&block: &Block| !editor.function().blocks()[block].parameters.is_empty();
        let enters_from_behind = |&block: &Block| {
            let mut predecessors = flow.predecessors(block);
            predecessors
                .any(|from| flow.is_reachable(from) && flow.position(from) >= flow.position(block))
        };
        let blocks = flow.reverse_postorder().iter().copied();
        loops.extend(blocks.filter(with_parameters).filter(enters_from_behind));
    }
    loop {
        for &block in flow.reverse_postorder() {
            if reaching {
                propagation.merge_parameters(editor, &flow, block, context);
            }
            let mut next = editor.function().instructions_of(block).next();
            while let Some(instruction) = next {
                if budget == 0 {
                    return;
                }
                budget -= 1;
                // Guards and what they keep are part of the instruction: it may be rewritten, never removed.
                if !propagation.visit(editor, block, instruction, context) {
                    return;
                }
                next = editor.function().next_instruction(instruction);
            }
            propagation.arguments(editor, &flow, block, context);
        }
        let mut merged = false;
        for &block in &loops {
            merged |= propagation.merge_parameters(editor, &flow, block, context);
        }
        if !merged {
            return;
        }
    }
}

impl Propagation<'_> {
    /// Parameters to which every edge gives one and the same value. An undefined argument is whatever suits, and leaving SSA form
    /// takes it for what the register holds, which is the same. Whether there were such parameters.
    fn merge_parameters(
        &mut self,
        editor: &mut Editor<'_>,
        flow: &ControlFlow,
        block: Block,
        context: &mut Context<'_>,
    ) -> bool {
        let mut merged = false;
        let count = editor.function().blocks()[block].parameters.len();
        for position in 0..count {
            let function = editor.function();
            let parameter = function.blocks()[block].parameters[position];
            if function.use_count(parameter) == 0 {
                continue;
            }
            let mut only: Option<Value> = None;
            let (mut differ, mut has_undefined) = (false, false);
            for from in flow.predecessors(block) {
                if !flow.is_reachable(from) {
                    continue;
                }
                for edge in &function.blocks()[from].edges {
                    if edge.target == block {
                        let argument = function.arguments(*edge)[position];
                        if function.values()[argument].definition == Definition::Undefined {
                            has_undefined = true;
                        } else if argument != parameter {
                            differ |= only.is_some_and(|only| only != argument);
                            only = Some(argument);
                        }
                    }
                }
            }
            let Some(original) = only.filter(|_| !differ) else {
                continue;
            };
            let data = function.values();
            if data[original].scalar_type != data[parameter].scalar_type {
                continue;
            }
            if has_undefined {
                let known = function.defining_block(original);
                let dominators = self.analyses.get::<Dominators>(function);
                if !known.is_some_and(|known| known != block && dominators.dominates(known, block))
                {
                    continue;
                }
            }
            let (counter, why) = (
                "copy-propagation.parameters",
                "every way here brings the same value",
            );
            let allowed = match function.instructions_of(block).next() {
                Some(instruction) => {
                    let equal = definer(function, original);
                    let rewrite = Rewrite {
                        counter,
                        instruction,
                        why,
                        equal,
                    };
                    context.allows(function, rewrite)
                }
                None => context.allows_other(counter, 1, why),
            };
            if !allowed {
                break;
            }
            editor.replace_value(parameter, original);
            if self.originals.contains(original) {
                self.mark_readers(editor.function(), original);
            }
            merged = true;
        }
        merged
    }

    /// Notes that a value is a copy of something.
    fn enter(&mut self, function: &Function, copy: Value, original: Original) {
        self.originals.insert(copy, original);
        self.mark_readers(function, copy);
    }

    /// Notes who reads a copy: they come behind it, or are walked over again.
    fn mark_readers(&mut self, function: &Function, copy: Value) {
        for reader in function.uses_of(copy) {
            match reader {
                Use::Instruction(reader) => self.readers.insert(reader),
                Use::Edge(block) => self.edges.insert(block),
            };
        }
    }

    /// Replaces operands, then notes whether the instruction is a copy. Whether to go on.
    #[inline]
    fn visit(
        &mut self,
        editor: &mut Editor<'_>,
        block: Block,
        instruction: Instruction,
        context: &mut Context<'_>,
    ) -> bool {
        if self.readers.contains(instruction) && !self.operands(editor, block, instruction, context)
        {
            return false;
        }
        let function = editor.function();
        if function.format(instruction).traits().have(Traits::COPIES) {
            self.note(function, block, instruction);
        }
        true
    }

    /// Whether to go on.
    fn operands(
        &mut self,
        editor: &mut Editor<'_>,
        block: Block,
        instruction: Instruction,
        context: &mut Context<'_>,
    ) -> bool {
        let function = editor.function();
        let format = function.format(instruction);
        let tied = function.otherwise(instruction).len();
        let first_leaf = function.operands(instruction).len() - function.leaves(instruction).len();
        let opcode = format.mnemonic.opcode();
        if format.opaque
            || (!self.matrix && format.traits().have(Traits::MULTIPLIES_MATRICES))
            || (!self.mixed && has_immediate(function, instruction))
        {
            return true;
        }
        let guard = match (format.guard, function.guard(instruction)) {
            (Guard::None, _) => None,
            (guard, Some(Operand::Value(value))) => Some((value, guard)),
            _ => None,
        };
        if first_leaf > 0 && matches!(opcode, Opcode::Set | Opcode::Testp) {
            return true;
        }
        for index in 0..function.operands(instruction).len() {
            let function = editor.function();
            let Operand::Value(value) = function.operands(instruction)[index] else {
                continue;
            };
            let Some(original) = self.originals.get(value) else {
                continue;
            };
            let is_guard = first_leaf > 0 && index == 0;
            let is_tied = (1..=tied).contains(&index);
            let in_address = index >= first_leaf
                && function.format(instruction).leaves[index - first_leaf].in_address;
            if in_address && !self.addresses {
                continue;
            }
            let replacement = match original {
                Original::Value(original) if is_tied => {
                    same_type(function, value, original).then_some(Operand::Value(original))
                }
                // A copy of an address stands for the variable too.
                Original::Value(original)
                    if in_address
                        && let Some(Original::Address(symbol)) = self.originals.get(original)
                        && self.reaches(function, instruction, symbol) =>
                {
                    Some(Operand::Symbol(symbol))
                }
                Original::Value(original) => self
                    .acceptable_original(function, value, original, instruction)
                    .map(Operand::Value),
                Original::Under(predicate, polarity, original) => (!is_guard
                    && !is_tied
                    && guard == Some((predicate, polarity))
                    && is_acceptable(function, value, original))
                .then_some(Operand::Value(original)),
                Original::Complement(original) if is_guard => {
                    if !self.spend(editor, block, value, instruction, context) {
                        return true;
                    }
                    invert_guard(editor, instruction, original);
                    continue;
                }
                Original::Complement(_) => None,
                Original::Address(symbol) => (in_address
                    && self.reaches(function, instruction, symbol))
                .then_some(Operand::Symbol(symbol)),
            };
            let Some(replacement) = replacement else {
                continue;
            };
            if !self.spend(editor, block, value, instruction, context) {
                return context.fuel.is_left();
            }
            editor.set_operand(instruction, index, replacement);
        }
        true
    }

    /// What an instruction may read instead of a copy. A copy within one type does not become one between two: edges take
    /// arguments of their parameter's type only, so it would have to stay.
    fn acceptable_original(
        &self,
        function: &Function,
        copy: Value,
        original: Value,
        reader: Instruction,
    ) -> Option<Value> {
        let is_within_type = copy_of(function, reader)
            .is_some_and(|(to, from)| from == copy && same_type(function, to, copy));
        if is_within_type {
            return same_type(function, copy, original).then_some(original);
        }
        // Because of that the original may be a copy too.
        match self.originals.get(original) {
            Some(Original::Value(first)) if is_acceptable(function, copy, first) => Some(first),
            _ => is_acceptable(function, copy, original).then_some(original),
        }
    }

    /// Whether a propagation is within all budgets; counts it.
    fn spend(
        &mut self,
        editor: &Editor<'_>,
        block: Block,
        copy: Value,
        reader: Instruction,
        context: &mut Context<'_>,
    ) -> bool {
        let function = editor.function();
        let equal = definer(function, copy);
        let is_local = equal.and_then(|equal| function.block_of(equal)) == Some(block);
        if !is_local {
            if self.global_left == 0 {
                return false;
            }
            self.global_left -= 1;
        }
        context.allows(
            function,
            Rewrite {
                counter: "copy-propagation.operands",
                instruction: reader,
                why: "an operand is a copy of another register",
                equal,
            },
        )
    }

    /// Whether an access through a variable's address stays within the variable's state space.
    fn reaches(&self, function: &Function, instruction: Instruction, symbol: Symbol) -> bool {
        let format = function.format(instruction);
        let plain = matches!(
            format.mnemonic.opcode(),
            Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red
        );
        let space = format.mnemonic.space();
        let data = function.symbols()[symbol];
        let in_space = match space {
            Some(Space::Const) => self.constant_bank,
            // The parameters of functions have an address only after they were copied to one.
            Some(Space::Param) => self.constant_bank && function.kind() == FunctionKind::Entry,
            Some(Space::Global | Space::Shared | Space::Local) => true,
            _ => false,
        };
        // `[register]` and `[register+offset]` only: two names cannot be added.
        plain
            && in_space
            && space == data.space
            && function.leaves(instruction).iter().all(|leaf| match leaf {
                Operand::Symbol(_) => false,
                Operand::Constant(constant) => function.constants()[*constant].literal.is_some(),
                _ => true,
            })
    }

    /// Notes what the instruction copies, if it is a copy.
    fn note(&mut self, function: &Function, block: Block, instruction: Instruction) {
        let format = function.format(instruction);
        if format.opaque {
            return;
        }
        match format.mnemonic.opcode() {
            Opcode::Mov => {}
            Opcode::Not if self.complements && !format.is_guarded() => {
                if let &[Operand::Result(0), Operand::Value(original)] =
                    function.leaves(instruction)
                    && let Some(result) = function.results(instruction).next()
                    && function.values()[result].scalar_type == ScalarType::Pred
                    && function.values()[original].scalar_type == ScalarType::Pred
                {
                    self.enter(function, result, Original::Complement(original));
                }
                return;
            }
            _ => return,
        }
        if *format.shape == [ShapeNode::LEAF; 2] {
            self.note_plain(function, block, instruction);
        } else if self.parts && !format.is_guarded() {
            self.note_parts(function, instruction);
        }
    }

    fn note_plain(&mut self, function: &Function, block: Block, instruction: Instruction) {
        let format = function.format(instruction);
        let &[Operand::Result(0), source] = function.leaves(instruction) else {
            return;
        };
        let Some(copy) = function.results(instruction).next() else {
            return;
        };
        match source {
            Operand::Value(original) => match (format.guard, function.guard(instruction)) {
                (Guard::None, _) => {
                    self.enter(function, copy, Original::Value(original));
                }
                (polarity, Some(Operand::Value(predicate))) => {
                    self.enter(
                        function,
                        copy,
                        Original::Under(predicate, polarity, original),
                    );
                }
                _ => {}
            },
            Operand::Symbol(symbol) if !format.is_guarded() => {
                match function.symbols()[symbol].kind {
                    SymbolKind::Special(special) if self.fixed && !special.is_volatile() => {
                        self.note_special(function, block, copy, symbol);
                    }
                    SymbolKind::Global(_) | SymbolKind::Variable(_) | SymbolKind::Parameter(_) => {
                        self.enter(function, copy, Original::Address(symbol));
                    }
                    _ => {}
                }
            }
            _ => {}
        }
    }

    fn note_special(&mut self, function: &Function, block: Block, copy: Value, symbol: Symbol) {
        let first = *self.special.get_or_insert_with(symbol.as_u32(), || copy);
        if first == copy {
            return;
        }
        let defined = definer(function, first).and_then(|definer| function.block_of(definer));
        if defined != Some(block) {
            self.special.insert(symbol.as_u32(), copy);
        } else if same_type(function, copy, first) {
            self.enter(function, copy, Original::Value(first));
        }
    }

    /// `mov {a, b}, v` behind `mov v, {c, d}`.
    fn note_parts(&mut self, function: &Function, instruction: Instruction) {
        let [first, .., last] = &*function.format(instruction).shape else {
            return;
        };
        if first.kind != ShapeKind::Vector || *last != ShapeNode::LEAF {
            return;
        }
        let leaves = function.leaves(instruction);
        let Some((&Operand::Value(whole), parts)) = leaves.split_last() else {
            return;
        };
        let Some(packing) = definer(function, whole) else {
            return;
        };
        let format = function.format(packing);
        let packs = format.mnemonic.opcode() == Opcode::Mov
            && !format.is_guarded()
            && !format.opaque
            && format.shape.first() == Some(&ShapeNode::LEAF)
            && format
                .shape
                .get(1)
                .is_some_and(|node| node.kind == ShapeKind::Vector)
            && format.shape.iter().all(|node| node.member == Member::WHOLE);
        let sources = function.leaves(packing);
        if !packs || sources.len() != parts.len() + 1 {
            return;
        }
        for (part, &source) in parts.iter().zip(&sources[1..]) {
            if let (&Operand::Result(index), Operand::Value(original)) = (part, source)
                && let Some(result) = function.results(instruction).nth(index as usize)
            {
                let data = function.values();
                if data[result].scalar_type.bits() == data[original].scalar_type.bits() {
                    self.enter(function, result, Original::Value(original));
                }
            }
        }
    }

    /// The originals of the copies that an edge passes on, in order, with the positions of the copies.
    fn copied(&self, arguments: &[Value]) -> Vec<(Value, usize)> {
        let originals = arguments.iter().enumerate();
        let mut copied: Vec<(Value, usize)> = originals
            .filter_map(|(position, &value)| match self.originals.get(value) {
                Some(Original::Value(original)) => Some((original, position)),
                _ => None,
            })
            .collect();
        copied.sort_unstable();
        copied
    }

    /// Arguments of the edges out of a block.
    fn arguments(
        &mut self,
        editor: &mut Editor<'_>,
        flow: &ControlFlow,
        block: Block,
        context: &mut Context<'_>,
    ) {
        if !self.edges.contains(block) {
            return;
        }
        let function = editor.function();
        let mut arguments = function
            .edges(block)
            .iter()
            .flat_map(|&edge| function.arguments(edge));
        if !arguments.any(|&value| self.originals.contains(value)) {
            return;
        }
        for edge in 0..function.edges(block).len() {
            let function = editor.function();
            let arguments = function.arguments(function.edges(block)[edge]).to_vec();
            let copied = self.copied(&arguments);
            for (position, &value) in arguments.iter().enumerate() {
                let function = editor.function();
                if let Some(Original::Value(original)) = self.originals.get(value)
                    && same_type(function, value, original)
                    && !feeds_congruent(function, flow, function.edges(block)[edge], position, &copied, original)
                    // A block without instructions is spoken of by the copy.
                    && let Some(reader) = function.last_instruction(block).or(definer(function, value))
                    && self.spend(editor, block, value, reader, context)
                {
                    editor.set_argument(block, edge, position, original);
                }
            }
        }
    }
}

/// Returns true if another argument of the edge is another copy of `original`, and the two parameters may be congruent. `ptxas` sees
/// that by their equal copies: a parameter that shares the register of the original hides it.
fn feeds_congruent(
    function: &Function,
    flow: &ControlFlow,
    edge: Edge,
    position: usize,
    copied: &[(Value, usize)],
    original: Value,
) -> bool {
    let arguments = function.arguments(edge);
    let first = copied.partition_point(|&(own, _)| own < original);
    let equal = copied[first..]
        .iter()
        .take_while(|&&(own, _)| own == original);
    equal.take(MOST_EQUAL_COPIES).any(|&(_, other)| {
        arguments[other] != arguments[position]
            && may_be_congruent(function, flow, edge.target, [position, other])
    })
}

/// Returns true if every edge to a block passes one value, or two results of one format, to two of its parameters.
fn may_be_congruent(
    function: &Function,
    flow: &ControlFlow,
    block: Block,
    [one, other]: [usize; 2],
) -> bool {
    let format = |value| definer(function, value).map(|own| function.instruction(own).format);
    flow.predecessors(block).all(|from| {
        let mut edges = function.edges(from).iter();
        edges.all(|&edge| {
            let arguments = function.arguments(edge);
            edge.target != block
                || arguments[one] == arguments[other]
                || format(arguments[one]).is_some()
                    && format(arguments[one]) == format(arguments[other])
        })
    })
}

/// The instruction that defines a value.
fn definer(function: &Function, value: Value) -> Option<Instruction> {
    match function.values()[value].definition {
        Definition::Instruction(instruction) => Some(instruction),
        _ => None,
    }
}

/// The result and source of a plain copy between registers.
pub(crate) fn copy_of(function: &Function, instruction: Instruction) -> Option<(Value, Value)> {
    let format = function.format(instruction);
    if format.mnemonic.opcode() != Opcode::Mov || !format.is_simple() {
        return None;
    }
    match *function.operands(instruction) {
        [Operand::Result(0), Operand::Value(source)] => {
            Some((function.results(instruction).next()?, source))
        }
        _ => None,
    }
}

/// Guards an instruction by the opposite of another predicate.
fn invert_guard(editor: &mut Editor<'_>, instruction: Instruction, predicate: Value) {
    let function = editor.function();
    let guard = function.format(instruction).guard.opposite();
    let mut operands = function.operands(instruction).to_vec();
    operands[0] = Operand::Value(predicate);
    let format = editor.format_with_guard(instruction, guard);
    editor.rewrite(instruction, format, &operands);
}

fn has_immediate(function: &Function, instruction: Instruction) -> bool {
    function
        .leaves(instruction)
        .iter()
        .any(|leaf| matches!(leaf, Operand::Constant(_)))
}

fn same_type(function: &Function, copy: Value, original: Value) -> bool {
    function.values()[copy].scalar_type == function.values()[original].scalar_type
}

/// Whether everyone who reads a register like `copy`'s may read one like `original`'s.
pub(crate) fn is_acceptable(function: &Function, copy: Value, original: Value) -> bool {
    let (copy, original) = (
        function.values()[copy].scalar_type,
        function.values()[original].scalar_type,
    );
    copy == original || (original.is_bits() && original.bits() == copy.bits())
}

/// Whether a `mov` of untyped bits copies anything into a register of a type.
pub(crate) fn has_plain_move(scalar_type: ScalarType) -> bool {
    matches!(scalar_type.bits(), 16 | 32 | 64)
}
