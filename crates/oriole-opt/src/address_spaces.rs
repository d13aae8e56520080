//! Accesses through generic addresses of a known state space name the space.
//!
//! ## Example
//! ```text
//! mov.u64 %rd1, table;
//! cvta.global.u64 %rd2, %rd1;                    →        mov.b64 %rd2, %rd1;
//! add.s64 %rd3, %rd2, %rd9;                               add.s64 %rd3, %rd2, %rd9;
//! ld.u32 %r1, [%rd3+4];                                   ld.global.u32 %r1, [%rd3+4];
//! ```
//!
//! ## Soundness
//! Converting an address to generic adds where the window of its space begins, which is the same for all addresses of the
//! space. So a sum with a generic address of a space is the generic address of the sum, and an access there reaches the same
//! memory as an access of the space through the sum itself. A family of values, made from results of `cvta` by sums, copies,
//! choices and joins, is turned from generic addresses into addresses of the space all at once: everyone who reads one of them
//! must be part of the family, an access that can name the space, or a conversion back. Whoever stores, passes on, compares or
//! takes apart an address keeps the family generic, and so does an access that is volatile, ordered (atomics aside) or has
//! cache hints that not all spaces have.
//!
//! ## Method
//! From each `cvta` forwards over the readers. What was the conversion becomes a copy, for `copy-propagation` to remove:
//! no code is longer for it.
//!
//! ## Not done
//! Pointers loaded from memory or parameters, of which nothing is known. Conversions under guards.

use crate::knobs::Switch;
use crate::manager::{Action, Context, Pass, Trigger};
use crate::remark::Rewrite;
use oriole_analysis::{Analyses, ControlFlow};
use oriole_collections::{DenseMap, DenseSet};
use oriole_ir::{
    Block, Definition, Editor, Format, FormatData, Function, Instruction, Operand, ShapeNode,
    Traits, Use, Value,
};
use oriole_isa::{
    CacheOperator, Flag, MnemonicText, Modifiers, MulMode, Opcode, ReductionOperation, ScalarType,
    Space, build,
};

/// The pass.
pub(crate) const PASS: Pass = Pass {
    name: "address-spaces",
    summary: "Let accesses through generic addresses of a known state space name the space",
    action: Action::Once(run, Trigger::Rewrites),
};

// Settings.
const COPY_PROP_ADDR: Switch = Switch::named("CopyPropAddr");

/// The most values of a family.
const MOST_VALUES: usize = 256;

fn run(editor: &mut Editor<'_>, analyses: &mut Analyses, context: &mut Context<'_>) {
    if !context.knobs.switch(COPY_PROP_ADDR) {
        return;
    }
    let function = editor.function();
    if !function.traits().have(Traits::MAKES_GENERIC) {
        return;
    }
    let mut conversions: Vec<(Instruction, Space)> = Vec::new();
    for &block in function.block_order() {
        for instruction in function.instructions_of(block) {
            let traits = function.format(instruction).traits();
            if traits.have(Traits::MAKES_GENERIC)
                && let Some(space) = converted_space(function, instruction)
            {
                conversions.push((instruction, space));
            }
        }
    }
    if conversions.is_empty() {
        return;
    }
    let flow = analyses.get::<ControlFlow>(function);
    let mut spellings = Spellings::default();
    let mut done: DenseSet<Instruction> = DenseSet::new();
    for (instruction, space) in conversions {
        if done.contains(&instruction) {
            continue;
        }
        let found = Family::of(editor.function(), &flow, &mut spellings, instruction, space);
        let Some(family) = found else {
            continue;
        };
        let rewrite = Rewrite {
            counter: "address-spaces.conversions",
            instruction,
            why: "every access through the generic address can name its space",
            equal: None,
        };
        if !context.allows(editor.function(), rewrite) {
            return;
        }
        done.extend(family.conversions.iter().copied());
        family.apply(editor);
    }
}

/// The space of an address that an instruction makes generic.
fn converted_space(function: &Function, instruction: Instruction) -> Option<Space> {
    let format = function.format(instruction);
    let mnemonic = &format.mnemonic;
    if mnemonic.opcode() != Opcode::Cvta || !format.is_simple() || mnemonic.has(Flag::ToSpace) {
        return None;
    }
    let space = mnemonic.space()?;
    let width = mnemonic.first_type()?.bits();
    let &[Operand::Result(0), source] = function.operands(instruction) else {
        return None;
    };
    let held = |value: Value| function.values()[value].scalar_type;
    let fits = |value: Value| held(value).bits() == width && !held(value).is_float();
    let plain = match source {
        Operand::Value(value) => fits(value),
        Operand::Symbol(_) => true,
        _ => false,
    };
    let result = function.results(instruction).next()?;
    let known = matches!(
        space,
        Space::Global | Space::Shared | Space::Local | Space::Const
    );
    (plain && known && fits(result)).then_some(space)
}

/// Values that are generic addresses of one space and can all become addresses of the space.
struct Family<'run> {
    function: &'run Function,
    flow: &'run ControlFlow,
    spellings: &'run mut Spellings,
    space: Space,
    width: u32,
    values: DenseSet<Value>,
    work: Vec<Value>,
    /// Those that make members from members.
    makers: Vec<Instruction>,
    found: Found,
}

/// What is to be rewritten.
#[derive(Default)]
struct Found {
    /// Those that make the addresses generic.
    conversions: Vec<Instruction>,
    /// Those that make them addresses of the space again.
    returns: Vec<Instruction>,
    accesses: Vec<(Instruction, MnemonicText)>,
}

/// Mnemonics of generic accesses with a space named; nothing for those that have no such form. Accesses of one format are many.
#[derive(Default)]
struct Spellings(DenseMap<(Format, u32), Option<MnemonicText>>);

impl Spellings {
    /// The mnemonic for a format, which has this number.
    fn of(&mut self, number: Format, format: &FormatData, space: Space) -> Option<MnemonicText> {
        let (known, key) = (&mut self.0, (number, space as u32));
        let found = known.get_or_insert_with(key, || with_space(format, space));
        found.clone()
    }
}

impl Found {
    fn apply(&self, editor: &mut Editor<'_>) {
        for &instruction in self.conversions.iter().chain(&self.returns) {
            let function = editor.function();
            let address = function.format(instruction).mnemonic.first_type();
            let operands = function.operands(instruction).to_vec();
            let copy = build::copy(address.unwrap_or(ScalarType::B64));
            let format = editor.plain_format(&copy, 2);
            editor.rewrite(instruction, format, &operands);
        }
        for (instruction, mnemonic) in &self.accesses {
            let operands = editor.function().operands(*instruction).to_vec();
            let format = editor.format_with_mnemonic(*instruction, mnemonic);
            editor.rewrite(*instruction, format, &operands);
        }
    }
}

/// Which operands of an instruction are addresses of the space that its result is an address of.
enum Made {
    /// These leaves.
    From(&'static [usize]),
    /// One of the two terms.
    FromTerm,
}

impl<'run> Family<'run> {
    /// What is to be rewritten if the result of a conversion is to be an address of the space.
    fn of(
        function: &'run Function,
        flow: &'run ControlFlow,
        spellings: &'run mut Spellings,
        instruction: Instruction,
        space: Space,
    ) -> Option<Found> {
        let mut family = Family {
            function,
            flow,
            spellings,
            space,
            width: function.format(instruction).mnemonic.first_type()?.bits(),
            values: DenseSet::new(),
            work: Vec::new(),
            makers: Vec::new(),
            found: Found::default(),
        };
        family.join(function.results(instruction).next()?)?;
        while let Some(value) = family.work.pop() {
            for reader in function.uses_of(value) {
                match reader {
                    Use::Instruction(reader) => family.read_by(value, reader)?,
                    Use::Edge(block) => family.passed_on(value, block)?,
                }
            }
        }
        let agree = family.makers.iter().all(|&maker| family.is_made(maker));
        agree.then_some(family.found)
    }

    /// Makes a value a member, and with it those it is made of.
    fn join(&mut self, value: Value) -> Option<()> {
        if self.values.contains(&value) {
            return Some(());
        }
        let function = self.function;
        let data = &function.values()[value];
        if data.scalar_type.bits() != self.width
            || data.scalar_type.is_float()
            || self.values.len() >= MOST_VALUES
        {
            return None;
        }
        self.values.insert(value);
        self.work.push(value);
        match data.definition {
            Definition::Instruction(instruction) => {
                if let Some(space) = converted_space(function, instruction) {
                    self.found.conversions.push(instruction);
                    return (space == self.space).then_some(());
                }
                self.makers.push(instruction);
                if let Made::From(leaves) = self.made(instruction)? {
                    for &leaf in leaves {
                        self.join(function.leaves(instruction)[leaf].value()?)?;
                    }
                }
                Some(())
            }
            Definition::Parameter(block) => {
                let parameters = &function.blocks()[block].parameters;
                let position = parameters.iter().position(|&each| each == value)?;
                // Every way here must bring a member.
                if block == function.entry() {
                    return None;
                }
                for from in self.flow.predecessors(block) {
                    for edge in &function.blocks()[from].edges {
                        if edge.target == block {
                            self.join(function.arguments(*edge)[position])?;
                        }
                    }
                }
                Some(())
            }
            Definition::Undefined => None,
        }
    }

    /// A member is read by an instruction.
    fn read_by(&mut self, value: Value, reader: Instruction) -> Option<()> {
        let function = self.function;
        let format = function.format(reader);
        let mnemonic = &format.mnemonic;
        if format.opaque {
            return None;
        }
        match mnemonic.opcode() {
            Opcode::Ld | Opcode::St | Opcode::Atom | Opcode::Red => {
                let mentioned = |operand: &&Operand| operand.value() == Some(value);
                let mentions = function.operands(reader).iter().filter(mentioned).count();
                let leaves = function.leaves(reader);
                let at = leaves.iter().position(|operand| mentioned(&operand))?;
                if mentions != 1 || !format.leaves[at].in_address || format.address.is_none() {
                    return None;
                }
                let number = function.instruction(reader).format;
                let text = self.spellings.of(number, format, self.space)?;
                self.found.accesses.push((reader, text));
                Some(())
            }
            Opcode::Cvta => {
                let back = mnemonic.has(Flag::ToSpace)
                    && !format.is_guarded()
                    && mnemonic.space() == Some(self.space)
                    && mnemonic.first_type()?.bits() == self.width
                    && *format.shape == [ShapeNode::LEAF; 2];
                let result = function.results(reader).next()?;
                let held = function.values()[result].scalar_type;
                if !back || held.bits() != self.width || held.is_float() {
                    return None;
                }
                self.found.returns.push(reader);
                Some(())
            }
            _ => {
                self.made(reader)?;
                self.join(function.results(reader).next()?)
            }
        }
    }

    /// A member is an argument of an edge.
    fn passed_on(&mut self, value: Value, block: Block) -> Option<()> {
        let function = self.function;
        for edge in &function.blocks()[block].edges {
            for (position, &argument) in function.arguments(*edge).iter().enumerate() {
                if argument == value {
                    self.join(function.blocks()[edge.target].parameters[position])?;
                }
            }
        }
        Some(())
    }

    /// How an instruction makes an address of others; nothing if it does not.
    fn made(&self, instruction: Instruction) -> Option<Made> {
        let function = self.function;
        let format = function.format(instruction);
        let mnemonic = &format.mnemonic;
        let bits = mnemonic.first_type()?.bits();
        if format.opaque
            || format.is_guarded()
            || !format.effects.is_pure()
            || mnemonic.has(Flag::Saturate)
            || mnemonic.types().len() != 1
            || format.shape.iter().any(|node| *node != ShapeNode::LEAF)
            || function.leaves(instruction).first() != Some(&Operand::Result(0))
            || mnemonic.operand_type(0, format.operand_count)?.bits() != self.width
        {
            return None;
        }
        let same = bits == self.width;
        Some(match (mnemonic.opcode(), format.leaves.len()) {
            (Opcode::Mov, 2) if same => Made::From(&[1]),
            (Opcode::Selp, 4) if same => Made::From(&[1, 2]),
            (Opcode::Add, 3) if same => Made::FromTerm,
            (Opcode::Sub, 3) if same => Made::From(&[1]),
            (Opcode::Mad, 4) => match mnemonic.modifiers().mul_mode? {
                MulMode::Low | MulMode::Wide => Made::From(&[3]),
                MulMode::High => return None,
            },
            _ => return None,
        })
    }

    /// Whether members are just where an instruction needs them.
    fn is_made(&self, instruction: Instruction) -> bool {
        let is_member = |operand: &Operand| {
            operand
                .value()
                .is_some_and(|value| self.values.contains(&value))
        };
        let leaves = self.function.leaves(instruction);
        match self.made(instruction) {
            Some(Made::From(wanted)) => leaves
                .iter()
                .enumerate()
                .all(|(index, operand)| is_member(operand) == wanted.contains(&index)),
            Some(Made::FromTerm) => leaves.iter().filter(|operand| is_member(operand)).count() == 1,
            None => false,
        }
    }
}

/// The mnemonic of a generic access with the space named; nothing if an access of the space has no such form.
fn with_space(format: &FormatData, space: Space) -> Option<MnemonicText> {
    let mnemonic = &format.mnemonic;
    let atomic = matches!(mnemonic.opcode(), Opcode::Atom | Opcode::Red);
    if mnemonic.space() != Some(Space::Generic)
        || mnemonic.modifiers().first_space.is_some()
        || format.effects.volatile
        || mnemonic.types().len() != 1
    {
        return None;
    }
    let scalar_type = mnemonic.first_type()?;
    let allowed = match (mnemonic.opcode(), space) {
        (_, Space::Global) => true,
        (Opcode::Ld, Space::Const) => true,
        (Opcode::Ld | Opcode::St, Space::Shared | Space::Local) => true,
        (Opcode::Atom | Opcode::Red, Space::Shared) => {
            matches!(scalar_type.bits(), 32 | 64) && scalar_type.lanes() == 1
        }
        _ => false,
    };
    if !allowed
        || scalar_type.bits() > 64
        || mnemonic.vector_width() > 4
        || atomic && mnemonic.modifiers().vector.is_some()
        || !atomic && !format.effects.ordering.is_none()
    {
        return None;
    }
    // Hints about caches and operations with words of their own are not for all spaces.
    let mut others = *mnemonic.modifiers();
    (others.semantics, others.scope, others.vector) = (None, None, None);
    if space == Space::Global {
        use CacheOperator::*;
        let is_special = |operator: &CacheOperator| matches!(operator, Volatile | WriteThrough);
        others.cache_operator = others.cache_operator.filter(is_special);
    }
    if atomic && others.operation != Some(ReductionOperation::PopulationCount) {
        others.operation = None;
    }
    if others != Modifiers::default() || mnemonic.has_listed_word() {
        return None;
    }
    mnemonic.with_space(space)
}
