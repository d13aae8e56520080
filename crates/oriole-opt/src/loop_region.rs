//! A loop as passes look at it that compute before it what its counters come to.

use crate::equality::{Kind, has_stable_operands, kind_of};
use crate::speculative_hoist::names_variable;
use oriole_analysis::scalar_evolution::{Expression, Query, ScalarEvolution};
use oriole_analysis::{Analyses, ControlFlow, Loop, LoopBlocks, Loops};
use oriole_collections::SmallVec;
use oriole_ir::{Block, Definition, Editor, Function, Instruction, Operand, Value};
use oriole_isa::{MnemonicText, MulMode, Opcode, ScalarType, build};
use std::cell::OnceCell;

/// How to compute a value from values that are there before a loop.
#[derive(Clone, Copy)]
pub(crate) enum Recipe {
    /// A number.
    Number(u64),
    /// One of them.
    Value(Value),
    /// A value and a number.
    Plus(Value, u64),
    /// The sum of two.
    Sum(Value, Value),
    /// The first minus the second.
    Difference(Value, Value),
    /// A multiple of one, another and a number: value, factor, other, number.
    Multiple(Value, u64, Option<Value>, u64),
    /// A multiple of one that is half as wide, signed or not: value, factor, whether it is.
    WideMultiple(Value, u64, bool),
}

impl Recipe {
    /// Computes it at the end of a block, as wide as another value, for an instruction whose line it gets.
    pub fn make(
        self,
        editor: &mut Editor<'_>,
        like: Value,
        block: Block,
        line: Instruction,
    ) -> Value {
        let function = editor.function();
        let bits = function.values()[like].scalar_type.bits();
        let untyped = ScalarType::untyped(bits).expect("32 or 64 bits");
        let signed = ScalarType::integer(true, bits).expect("32 or 64 bits");
        let number = |editor: &mut Editor<'_>, number: u64| {
            let number = oriole_analysis::sign_extend(number, bits);
            editor.integer(number as u64, false)
        };
        let insert = |editor: &mut Editor<'_>, mnemonic: &MnemonicText, sources: &[Operand]| {
            let mut operands = vec![Operand::Result(0)];
            operands.extend_from_slice(sources);
            let format = editor.plain_format(mnemonic, operands.len());
            let made = editor.insert_at_end(block, format, &operands, &[untyped]);
            editor.copy_line(line, made);
            let mut results = editor.function().results(made);
            results.next().expect("it has one result")
        };
        let add = build::typed(Opcode::Add, signed);
        match self {
            Recipe::Value(value) => value,
            Recipe::Number(own) => {
                let own = number(editor, own);
                insert(editor, &build::mov(untyped), &[own])
            }
            Recipe::Plus(value, own) => {
                let own = number(editor, own);
                insert(editor, &add, &[Operand::Value(value), own])
            }
            Recipe::Sum(left, right) => {
                let operands = [Operand::Value(left), Operand::Value(right)];
                insert(editor, &add, &operands)
            }
            Recipe::Difference(left, right) => {
                let operands = [Operand::Value(left), Operand::Value(right)];
                insert(editor, &build::typed(Opcode::Sub, signed), &operands)
            }
            Recipe::WideMultiple(value, factor, is_signed) => {
                let narrow = ScalarType::integer(is_signed, bits / 2).expect("16 or 32 bits");
                let product = build::mul(MulMode::Wide, narrow);
                let factor = number(editor, factor);
                insert(editor, &product, &[Operand::Value(value), factor])
            }
            Recipe::Multiple(value, factor, other, own) => {
                let product = build::mul(MulMode::Low, signed);
                let factor = number(editor, factor);
                let mut made = insert(editor, &product, &[Operand::Value(value), factor]);
                if let Some(other) = other {
                    let operands = [Operand::Value(made), Operand::Value(other)];
                    made = insert(editor, &add, &operands);
                }
                if own != 0 {
                    let own = number(editor, own);
                    made = insert(editor, &add, &[Operand::Value(made), own]);
                }
                made
            }
        }
    }
}

/// A loop.
pub(crate) struct Region<'run> {
    pub function: &'run Function,
    pub flow: &'run ControlFlow,
    pub loops: &'run Loops,
    /// The blocks of all loops, once somebody has asked.
    pub blocks: &'run OnceCell<LoopBlocks>,
    pub this: Loop,
}

impl Region<'_> {
    /// What a pass finds to do in the loops of a function, asking ScalarEvolution, before it changes anything.
    pub fn plans<T>(
        function: &Function,
        analyses: &mut Analyses,
        mut find: impl FnMut(&Region<'_>, &mut Query<'_>, &mut Vec<T>),
    ) -> Vec<T> {
        let loops = analyses.get::<Loops>(function);
        if loops.iter().next().is_none() {
            return Vec::new();
        }
        let flow = analyses.get::<ControlFlow>(function);
        let blocks = OnceCell::new();
        let evolution = analyses.get::<ScalarEvolution>(function);
        let mut query = evolution.on(function);
        let mut plans = Vec::new();
        for this in loops.iter() {
            let region = Region {
                function,
                flow: &flow,
                loops: &loops,
                blocks: &blocks,
                this,
            };
            find(&region, &mut query, &mut plans);
        }
        plans
    }

    fn loop_blocks(&self) -> &LoopBlocks {
        let find = || LoopBlocks::of(self.flow, self.loops);
        self.blocks.get_or_init(find)
    }

    /// The blocks of the loop.
    pub fn all_blocks(&self) -> &[Block] {
        self.loop_blocks().all(self.loops, self.this)
    }

    /// The blocks of the loop that are in no loop in it, in reverse postorder.
    pub fn own_blocks(&self) -> &[Block] {
        self.loop_blocks().own(self.loops, self.this)
    }

    /// Whether a block is in the loop.
    pub fn contains(&self, block: Block) -> bool {
        self.flow.is_reachable(block) && self.loops.contains(self.this, block)
    }

    /// Whether an instruction is in the loop.
    pub fn holds(&self, instruction: Instruction) -> bool {
        let block = self.function.block_of(instruction);
        block.is_some_and(|block| self.contains(block))
    }

    /// The only edge to a block from those that `is_wanted` says, which must not be one of a table.
    pub fn only_edge(
        &self,
        to: Block,
        is_wanted: impl Fn(Block) -> bool,
    ) -> Option<(Block, usize)> {
        let mut found = None;
        for from in self.flow.predecessors(to).filter(|&from| is_wanted(from)) {
            for (index, edge) in self.function.edges(from).iter().enumerate() {
                if edge.target != to {
                    continue;
                }
                if found.is_some_and(|known| known != (from, index)) {
                    return None;
                }
                found = Some((from, index));
            }
        }
        found.filter(|&(from, _)| !self.function.ends_in_indirect_branch(from))
    }

    /// The edge by which the loop is entered, if it is one. The block is in no loop that this one is not in: what is computed at its end is
    /// computed once for each time that the loop is entered.
    pub fn entering_edge(&self) -> Option<(Block, usize)> {
        let header = self.loops.header(self.this);
        let enter = self.only_edge(header, |from| !self.contains(from))?;
        let around = self.loops.innermost(enter.0);
        (around == self.loops.parent(self.this)).then_some(enter)
    }

    /// An instruction and those in the loop that it is computed from, operands first, if none of them does anything but compute and there are
    /// no more than `most`. Parameters of blocks in the loop are not computed from anything; `is_given` says of which blocks they may be.
    pub fn slice(
        &self,
        root: Instruction,
        most: usize,
        is_given: impl Fn(Block) -> bool,
    ) -> Option<Vec<Instruction>> {
        let function = self.function;
        let mut order: Vec<Instruction> = Vec::new();
        // There are few, so they are looked through.
        let mut entered: SmallVec<[Instruction; 16]> = SmallVec::new();
        // Instructions, and whether their operands are in the list.
        let mut stack: SmallVec<[(Instruction, bool); 16]> = SmallVec::new();
        stack.push((root, false));
        while let Some((instruction, is_ready)) = stack.pop() {
            if is_ready {
                order.push(instruction);
                continue;
            }
            if entered.contains(&instruction) {
                continue;
            }
            entered.push(instruction);
            if entered.len() > most || !is_movable(function, instruction) {
                return None;
            }
            stack.push((instruction, true));
            for value in function.uses(instruction) {
                match function.values()[value].definition {
                    Definition::Instruction(definer) if self.holds(definer) => {
                        stack.push((definer, false));
                    }
                    Definition::Instruction(_) => {}
                    Definition::Parameter(block) if !self.contains(block) || is_given(block) => {}
                    Definition::Parameter(_) | Definition::Undefined => return None,
                }
            }
        }
        Some(order)
    }

    /// Values that are there when the loop is entered and may say what counters come to: what its parameters start with, and what a
    /// branch compares.
    pub fn sources(&self, enter: (Block, usize), exit: Block) -> Vec<Value> {
        let function = self.function;
        let edge = function.edges(enter.0)[enter.1];
        let mut sources: Vec<Value> = function.arguments(edge).to_vec();
        sources.extend(self.compared(exit));
        sources.retain(|&source| function.values()[source].definition != Definition::Undefined);
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// What a branch compares that is computed before the loop.
    fn compared(&self, block: Block) -> Vec<Value> {
        let function = self.function;
        let branch = function.last_instruction(block);
        let guard = branch.and_then(|branch| function.guard(branch));
        let Some(Operand::Value(predicate)) = guard else {
            return Vec::new();
        };
        let Definition::Instruction(test) = function.values()[predicate].definition else {
            return Vec::new();
        };
        let is_outside = |&value: &Value| {
            let block = function.defining_block(value);
            block.is_some_and(|block| !self.contains(block))
        };
        function.uses(test).filter(is_outside).collect()
    }

    /// How to compute an expression from values.
    pub fn recipe(
        &self,
        query: &mut Query<'_>,
        value: Value,
        wanted: Expression,
        sources: &[Value],
    ) -> Option<Recipe> {
        if let Some(number) = query.expressions().as_constant(wanted) {
            return Some(Recipe::Number(number));
        }
        let known = self.known(query, value, sources);
        if let Some(&(source, _)) = known.iter().find(|&&(_, own)| own == wanted) {
            return Some(Recipe::Value(source));
        }
        let mut rests: Vec<(Value, Expression)> = Vec::new();
        for &(source, own) in &known {
            let rest = query.expressions_mut().subtract(wanted, own);
            if let Some(number) = query.expressions().as_constant(rest) {
                return Some(Recipe::Plus(source, number));
            }
            rests.push((source, rest));
        }
        for &(source, rest) in &rests {
            let found = known.iter().find(|&&(_, own)| own == rest);
            if let Some(&(other, _)) = found {
                return Some(Recipe::Sum(source, other));
            }
            let negated = query.expressions_mut().negate(rest);
            let found = known.iter().find(|&&(_, own)| own == negated);
            if let Some(&(other, _)) = found {
                return Some(Recipe::Difference(source, other));
            }
        }
        None
    }

    /// How to compute an expression from a multiple of a value and another.
    pub fn multiple(
        &self,
        query: &mut Query<'_>,
        value: Value,
        wanted: Expression,
        sources: &[Value],
        factor: u64,
    ) -> Option<Recipe> {
        let known = self.known(query, value, sources);
        for &(source, own) in &known {
            let bits = query.expressions().bits(own);
            let constant = query.expressions_mut().constant(factor, bits);
            let product = query.expressions_mut().multiply(&[constant, own]);
            let rest = query.expressions_mut().subtract(wanted, product);
            if let Some(number) = query.expressions().as_constant(rest) {
                return Some(Recipe::Multiple(source, factor, None, number));
            }
            for &(other, second) in &known {
                let number = query.expressions_mut().subtract(rest, second);
                if let Some(number) = query.expressions().as_constant(number) {
                    return Some(Recipe::Multiple(source, factor, Some(other), number));
                }
            }
        }
        None
    }

    /// How to compute an expression as a multiple of a value of 32 bits. The factor must be a number of 31.
    pub fn wide_multiple(
        &self,
        query: &mut Query<'_>,
        wanted: Expression,
        sources: &[Value],
        factor: u64,
    ) -> Option<Recipe> {
        if query.expressions().bits(wanted) != 64 || factor > i32::MAX as u64 {
            return None;
        }
        for &source in sources {
            let own = self.function.values()[source].scalar_type;
            if own.bits() != 32 || own.is_float() || own.lanes() > 1 {
                continue;
            }
            let narrow = query.expression(source);
            if query.expressions().is_unknown(narrow) {
                continue;
            }
            for is_signed in [true, false] {
                let expressions = query.expressions_mut();
                let wide = match is_signed {
                    true => expressions.sign_extend(narrow, 64),
                    false => expressions.zero_extend(narrow, 64),
                };
                let factor_of_it = expressions.constant(factor, 64);
                if expressions.multiply(&[factor_of_it, wide]) == wanted {
                    return Some(Recipe::WideMultiple(source, factor, is_signed));
                }
            }
        }
        None
    }

    /// Those of some values that are as wide as another, with their expressions.
    fn known(
        &self,
        query: &mut Query<'_>,
        like: Value,
        values: &[Value],
    ) -> Vec<(Value, Expression)> {
        let held = self.function.values()[like].scalar_type;
        let mut known: Vec<(Value, Expression)> = Vec::new();
        for &value in values {
            let own = self.function.values()[value].scalar_type;
            if own.bits() == held.bits() && !own.is_float() && own.lanes() == 1 {
                let expression = query.expression(value);
                if !query.expressions().is_unknown(expression) {
                    known.push((value, expression));
                }
            }
        }
        known
    }
}

/// Whether an instruction gives the same wherever its operands are there.
fn is_movable(function: &Function, instruction: Instruction) -> bool {
    let format = function.format(instruction);
    let is_copy =
        format.mnemonic.opcode() == Opcode::Mov && has_stable_operands(function, instruction);
    format.is_simple()
        && (is_copy || kind_of(function, instruction) == Some(Kind::Pure))
        && !names_variable(function, instruction)
}
