//! A loop as passes look at it that compute before it what its counters come to.

use oriole_analysis::scalar_evolution::{Expression, Query, ScalarEvolution};
use oriole_analysis::{Analyses, ControlFlow, Loop, Loops};
use oriole_ir::{Block, Definition, Editor, Function, Instruction, Operand, Value};
use oriole_isa::{MnemonicText, MulMode, Opcode, ScalarType, build};

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
            let function = editor.function();
            let last = function.last_instruction(block);
            let branch = last.filter(|&last| function.format(last).is_terminator());
            let made = match branch {
                Some(branch) => editor.insert_before(branch, format, &operands, &[untyped]),
                None => editor.append(block, format, &operands, &[untyped]),
            };
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
    pub this: Loop,
}

impl Region<'_> {
    /// What a pass finds to do in the loops of a function, asking ScalarEvolution, before it changes anything.
    pub fn plans<T>(
        function: &Function,
        (flow, loops): (&ControlFlow, &Loops),
        analyses: &mut Analyses,
        mut find: impl FnMut(&Region<'_>, &mut Query<'_>, &mut Vec<T>),
    ) -> Vec<T> {
        let evolution = analyses.get::<ScalarEvolution>(function);
        let mut query = evolution.on(function);
        let mut plans = Vec::new();
        for this in loops.iter() {
            let region = Region {
                function,
                flow,
                loops,
                this,
            };
            find(&region, &mut query, &mut plans);
        }
        plans
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
