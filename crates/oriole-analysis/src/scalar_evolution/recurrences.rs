//! Layer 2: parameters of loop headers as recurrences, and expressions with these in place of the leaves.
//!
//! ## Method
//! A parameter `p` that is entered with `s`, and for which every back edge gives `p + t`, is `{s,+,t}` if `t` is invariant in the loop, and
//! `{s,+,t0,+,t1…}` if `t` is the recurrence `{t0,+,t1…}` of the same loop. One for which every back edge gives what a recurrence of the loop
//! is, and which is entered with what that one was an iteration before its start, is that recurrence an iteration late.
//!
//! Sums and products of recurrences of one loop are recurrences, and what is invariant in the loop is added to the start or multiplied
//! in. Among recurrences of several loops the innermost comes outermost, so that equal sums are equal expressions.
//!
//! Parameters that depend on each other in a cycle are leaves, whichever is asked about first: what they add in an iteration contains a
//! leaf that changes in the loop. A parameter that gets what an inner loop made of it is a leaf, too.

use super::arithmetic::List;
use super::expression::{Expression, Expressions, Kind, Leaf};
use super::shape::Shape;
use super::tables::Key;
use super::{Query, State};
use crate::known_bits::literal_bits;
use oriole_collections::{DenseMap, DenseSet, PackedOption, SmallVec};
use oriole_ir::{Block, Definition, Function, Instruction, Operand, Value};
use oriole_isa::{Opcode, ScalarType};

#[derive(Clone, Copy)]
enum Task {
    Fold(Expression),
    Parameter(Value),
}

/// A few tasks.
type Tasks = SmallVec<[Task; 8]>;

impl Query<'_> {
    /// The expression of a value.
    pub fn expression(&mut self, value: Value) -> Expression {
        let leafy = self.value(value).expression;
        self.folded(leafy)
    }

    /// The expression of a value, for an entry that is computed from it.
    pub(super) fn read_expression(&mut self, reader: Key, value: Value) -> Expression {
        let leafy = self.value(value).expression;
        self.state.tables.read(reader, Key::value(value));
        self.read_folded(reader, leafy)
    }

    fn read_folded(&mut self, reader: Key, leafy: Expression) -> Expression {
        let folded = self.folded(leafy);
        if needs_entry(&self.state.expressions, leafy) {
            self.state.tables.read(reader, Key::folded(leafy));
        }
        folded
    }

    /// An expression of layer 1 with recurrences in place of its leaves.
    pub(super) fn folded(&mut self, leafy: Expression) -> Expression {
        match self.known_fold(leafy) {
            Some(found) => found,
            None => self.new_fold(leafy),
        }
    }

    /// The same for one that was not folded yet.
    #[inline(never)]
    fn new_fold(&mut self, leafy: Expression) -> Expression {
        let mut stack = Tasks::new();
        stack.push(Task::Fold(leafy));
        let mut in_progress: DenseSet<Value> = DenseSet::new();
        let mut missing = Tasks::new();
        while let Some(&task) = stack.last() {
            missing.clear();
            match task {
                Task::Fold(expression) => {
                    if self.known_fold(expression).is_none() {
                        self.fold(expression, &in_progress, &mut missing);
                    }
                }
                Task::Parameter(parameter) => {
                    if !self.state.tables.recurrences.contains_key(&parameter) {
                        in_progress.insert(parameter);
                        self.fill_parameter(parameter, &mut missing);
                        if missing.is_empty() {
                            in_progress.remove(&parameter);
                        }
                    }
                }
            }
            if missing.is_empty() {
                stack.pop();
            } else {
                stack.append(&mut missing);
            }
        }
        self.known_fold(leafy).expect("folded above")
    }

    fn known_fold(&self, expression: Expression) -> Option<Expression> {
        match needs_entry(&self.state.expressions, expression) {
            true => self.state.tables.fold_of(expression),
            false => Some(expression),
        }
    }

    /// The header of which a value is a parameter, if it is one of a loop.
    fn header_of(&self, value: Value) -> Option<Block> {
        match self.function.values()[value].definition {
            Definition::Parameter(block) => (self.state.shape.headed(block).is_some()
                && self.place(block, value).is_some())
            .then_some(block),
            _ => None,
        }
    }

    /// Folds an expression whose operands are folded; else says what is missing.
    fn fold(&mut self, expression: Expression, in_progress: &DenseSet<Value>, missing: &mut Tasks) {
        let key = Key::folded(expression);
        let folded = if let Some(Leaf::Value(value)) = self.state.expressions.as_leaf(expression) {
            self.state.tables.read(key, Key::definition(value));
            if let Definition::Parameter(block) = self.function.values()[value].definition {
                self.state.tables.read(key, Key::incoming(block));
            }
            match self.header_of(value) {
                Some(_) => {
                    self.state.tables.read(key, Key::recurrence(value));
                    match self.state.tables.recurrences.get(&value) {
                        Some(&found) => found,
                        None if in_progress.contains(&value) => expression,
                        None => return missing.push(Task::Parameter(value)),
                    }
                }
                None => expression,
            }
        } else {
            let operands: List = SmallVec::from_slice(self.state.expressions.operands(expression));
            let mut folded: List = SmallVec::new();
            for &operand in &operands {
                match self.known_fold(operand) {
                    Some(found) => folded.push(found),
                    None => missing.push(Task::Fold(operand)),
                }
            }
            if !missing.is_empty() {
                return;
            }
            for &operand in &operands {
                if needs_entry(&self.state.expressions, operand) {
                    self.state.tables.read(key, Key::folded(operand));
                }
            }
            self.rebuild(key, expression, &folded)
        };
        let entry = self
            .state
            .tables
            .folded
            .ensure(expression, PackedOption::none());
        let before = std::mem::replace(entry, PackedOption::some(folded));
        if before.is_none() {
            self.state.tables.filled();
        }
    }

    /// A node with other operands, folded with regard to loops.
    fn rebuild(&mut self, key: Key, expression: Expression, operands: &[Expression]) -> Expression {
        let kind = self.state.expressions.kind(expression);
        let state = &mut *self.state;
        let mut folder = Folder {
            function: self.function,
            expressions: &mut state.expressions,
            shape: &state.shape,
            asked: SmallVec::new(),
        };
        let folded = match kind {
            Kind::Add => folder.add(operands, 0),
            Kind::Multiply => folder.multiply(operands, 0),
            _ => folder.expressions.rebuild(expression, operands),
        };
        let asked = folder.asked;
        for &header in &asked {
            state.tables.read(key, Key::in_loop(header));
            if asked.len() > 1 {
                state.tables.read(key, Key::dominance(header));
            }
        }
        if !asked.is_empty() {
            self.read_places(key, expression);
        }
        folded
    }

    /// Says that an entry depends on the places of the values in its expression. Operands with parameters have entries, which say so.
    fn read_places(&mut self, key: Key, expression: Expression) {
        let State {
            expressions,
            tables,
            ..
        } = &mut *self.state;
        for &operand in expressions.operands(expression) {
            if needs_entry(expressions, operand) || is_too_large(expressions, operand) {
                continue;
            }
            for part in expressions.variable_parts(operand) {
                if let Some(Leaf::Value(value)) = expressions.as_leaf(part) {
                    tables.read(key, Key::definition(value));
                }
            }
        }
    }

    /// Finds out what a parameter of a header is, or says what is missing for that.
    fn fill_parameter(&mut self, parameter: Value, missing: &mut Tasks) {
        let bits = self.function.values()[parameter].scalar_type.bits();
        let leaf = match bits {
            0 | 65.. => Expressions::could_not_compute(),
            _ => self.state.expressions.unknown(parameter, bits),
        };
        let key = Key::recurrence(parameter);
        self.state.tables.read(key, Key::definition(parameter));
        let Some(header) = self.header_of(parameter) else {
            return self.set_parameter(parameter, leaf);
        };
        self.state.tables.read(key, Key::incoming(header));
        self.state.tables.read(key, Key::in_loop(header));
        if self.state.expressions.is_unknown(leaf) {
            return self.set_parameter(parameter, leaf);
        }
        let is_inside = |block| self.state.shape.contains(header, block);
        let starts = self.arguments(header, parameter, |from| !is_inside(from));
        let nexts = self.arguments(header, parameter, is_inside);
        let Some(next) = self.common(key, &nexts) else {
            return self.set_parameter(parameter, leaf);
        };
        let next = match nexts[..] {
            [(latch, _)] => self.on_the_way_back(key, latch, header, next),
            _ => next,
        };
        let start = match self.common(key, &starts) {
            Some(start) => start,
            // The entry of the function is entered with nothing that is known.
            None if starts.is_empty() || header == self.function.entry() => {
                return self.set_parameter(parameter, leaf);
            }
            None => self.state.expressions.start(parameter, bits),
        };
        let is_other_width = |each| self.state.expressions.bits(each) != bits;
        if is_other_width(start) || is_other_width(next) || header == self.function.entry() {
            return self.set_parameter(parameter, leaf);
        }
        if !self.is_from_outside(key, start, header, false)
            || !self.is_from_outside(key, next, header, true)
        {
            return self.set_parameter(parameter, leaf);
        }
        if next == leaf {
            // It never changes in the loop.
            let Some(start) = self.want(key, start, missing) else {
                return;
            };
            return self.set_parameter(parameter, start);
        }
        let step = self.without(next, leaf);
        let wanted = step.unwrap_or(next);
        let (start, wanted) = match (
            self.want(key, start, missing),
            self.want(key, wanted, missing),
        ) {
            (Some(start), Some(wanted)) => (start, wanted),
            _ => return,
        };
        let found = match step {
            Some(_) => self.step_by(header, start, wanted),
            None => self.late(key, header, start, wanted),
        };
        self.set_parameter(parameter, found.unwrap_or(leaf));
    }

    fn set_parameter(&mut self, parameter: Value, found: Expression) {
        let recurrences = &mut self.state.tables.recurrences;
        if recurrences.insert(parameter, found).is_none() {
            self.state.tables.filled();
        }
    }

    /// A folded expression, or the task to fold it.
    fn want(&mut self, key: Key, leafy: Expression, missing: &mut Tasks) -> Option<Expression> {
        let found = self.known_fold(leafy);
        match found {
            None => missing.push(Task::Fold(leafy)),
            Some(_) if needs_entry(&self.state.expressions, leafy) => {
                self.state.tables.read(key, Key::folded(leafy));
            }
            Some(_) => {}
        }
        found
    }

    /// Whether an expression of layer 1 has no parameters of headers inside a loop among its leaves, or only those of its own header.
    ///
    /// What a loop inside does to a value is not known before that loop is; without this rule, answers would depend on which
    /// of two parameters in a cycle is asked about first.
    fn is_from_outside(
        &mut self,
        key: Key,
        expression: Expression,
        header: Block,
        or_own: bool,
    ) -> bool {
        let expressions = &self.state.expressions;
        if expressions.size(expression) > 4 * expressions.limits.max_expr_size {
            return false;
        }
        if !expressions.has_parameters(expression) {
            return true;
        }
        for each in expressions.parts_with_parameters(expression) {
            let Some(Leaf::Value(value)) = self.state.expressions.as_leaf(each) else {
                continue;
            };
            if let Definition::Parameter(block) = self.function.values()[value].definition {
                self.state.tables.read(key, Key::definition(value));
                let is_own = or_own && block == header;
                if !is_own && self.state.shape.contains(header, block) {
                    return false;
                }
            }
        }
        true
    }

    /// What an expression is when the back edge is taken: a select by the predicate that the latch branches on has made its choice.
    fn on_the_way_back(
        &mut self,
        key: Key,
        latch: Block,
        header: Block,
        next: Expression,
    ) -> Expression {
        if self.state.expressions.size(next) > self.state.knobs.max_expr_size {
            return next;
        }
        let order = self.state.expressions.postorder(next);
        let is_select = |expression: &Expression| self.select_of(*expression).is_some();
        if !order.iter().any(is_select) {
            return next;
        }
        let Some(branch) = self.branch(key, latch) else {
            return next;
        };
        self.state
            .tables
            .read(key, Key::definition(branch.predicate));
        let edges = self.function.edges(latch);
        let leads_back =
            |edge: Option<u32>| edge.is_some_and(|edge| edges[edge as usize].target == header);
        let truth = leads_back(branch.if_true);
        if truth == leads_back(branch.if_false) {
            return next;
        }
        let mut chosen: DenseMap<Expression, Expression> = DenseMap::new();
        for expression in order {
            let operands: List = SmallVec::from_slice(self.state.expressions.operands(expression));
            let operands: List = operands
                .iter()
                .map(|each| *chosen.get(each).expect("operands come first"))
                .collect();
            let new = match self.select_of(expression) {
                Some((select, predicate)) if predicate == branch.predicate => {
                    let arm = self.function.operands(select)[if truth { 1 } else { 2 }];
                    self.arm(key, arm, expression).unwrap_or(expression)
                }
                _ if operands.is_empty() => expression,
                _ => self.state.expressions.rebuild(expression, &operands),
            };
            chosen.insert(expression, new);
        }
        *chosen.get(&next).expect("the last one")
    }

    /// The `selp` that a leaf is the result of, and the predicate it chooses by.
    fn select_of(&self, expression: Expression) -> Option<(Instruction, Value)> {
        let Some(Leaf::Value(value)) = self.state.expressions.as_leaf(expression) else {
            return None;
        };
        let Definition::Instruction(select) = self.function.values()[value].definition else {
            return None;
        };
        let format = self.function.format(select);
        let is_select = format.is_simple() && format.mnemonic.opcode() == Opcode::Selp;
        match self.function.operands(select) {
            &[_, _, _, Operand::Value(predicate)] if is_select => Some((select, predicate)),
            _ => None,
        }
    }

    /// An arm of a select, as an expression as wide as its result.
    fn arm(&mut self, key: Key, arm: Operand, result: Expression) -> Option<Expression> {
        let bits = self.state.expressions.bits(result);
        let expression = match arm {
            Operand::Value(value) => {
                self.state.tables.read(key, Key::value(value));
                self.value(value).expression
            }
            Operand::Constant(constant) => {
                let wanted = match bits {
                    16 => ScalarType::B16,
                    32 => ScalarType::B32,
                    64 => ScalarType::B64,
                    _ => return None,
                };
                let literal = self.function.constants()[constant].literal?;
                let number = literal_bits(literal, wanted)?;
                self.state.expressions.constant(number, bits)
            }
            _ => return None,
        };
        let is_same = !self.state.expressions.is_unknown(expression)
            && self.state.expressions.bits(expression) == bits;
        is_same.then_some(expression)
    }

    /// The one expression that all of some values have.
    fn common(&mut self, key: Key, values: &[(Block, Value)]) -> Option<Expression> {
        let mut common = None;
        for &(_, value) in values {
            let entry = self.value(value);
            self.state.tables.read(key, Key::value(value));
            if self.state.expressions.is_unknown(entry.expression)
                || *common.get_or_insert(entry.expression) != entry.expression
            {
                return None;
            }
        }
        common
    }

    /// What has to be added to a leaf to get a sum.
    fn without(&mut self, sum: Expression, leaf: Expression) -> Option<Expression> {
        let expressions = &mut self.state.expressions;
        if expressions.kind(sum) != Kind::Add {
            return None;
        }
        let operands: List = SmallVec::from_slice(expressions.operands(sum));
        let at = operands.iter().position(|&each| each == leaf)?;
        let mut rest = operands;
        rest.remove(at);
        Some(expressions.add(&rest))
    }

    /// The recurrence with a start and what is added in each iteration.
    fn step_by(
        &mut self,
        header: Block,
        start: Expression,
        step: Expression,
    ) -> Option<Expression> {
        if !self.is_invariant(start, header) {
            return None;
        }
        let expressions = &self.state.expressions;
        let mut operands: List = SmallVec::from_slice(&[start]);
        if expressions.header(step) == Some(header) {
            operands.extend_from_slice(expressions.operands(step));
        } else if self.is_invariant(step, header) {
            operands.push(step);
        } else {
            return None;
        }
        Some(self.state.expressions.recurrence(&operands, header))
    }

    /// What is `start` first and then what `next` was in the iteration before.
    fn late(
        &mut self,
        key: Key,
        header: Block,
        start: Expression,
        next: Expression,
    ) -> Option<Expression> {
        if next == start && self.is_invariant(start, header) {
            return Some(start);
        }
        let (own, first, step) = self.state.expressions.as_affine(next)?;
        if own != header {
            return None;
        }
        let negated = self.state.expressions.negate(step);
        let before = self.fold_sum(key, &[first, negated]);
        (before == start).then(|| self.state.expressions.recurrence(&[start, step], header))
    }

    /// A sum of folded expressions; `key` is computed from it.
    pub(super) fn fold_sum(&mut self, key: Key, operands: &[Expression]) -> Expression {
        let mut folder = self.folder();
        let sum = folder.add(operands, 0);
        let asked = std::mem::take(&mut folder.asked);
        for header in asked {
            self.state.tables.read(key, Key::in_loop(header));
            self.state.tables.read(key, Key::dominance(header));
        }
        sum
    }

    /// A folded expression with other operands, for an answer that is not kept.
    pub(super) fn refolded(
        &mut self,
        expression: Expression,
        operands: &[Expression],
    ) -> Expression {
        let mut folder = self.folder();
        match folder.expressions.kind(expression) {
            Kind::Add => folder.add(operands, 0),
            Kind::Multiply => folder.multiply(operands, 0),
            _ => folder.expressions.rebuild(expression, operands),
        }
    }

    fn folder(&mut self) -> Folder<'_> {
        let state = &mut *self.state;
        Folder {
            function: self.function,
            expressions: &mut state.expressions,
            shape: &state.shape,
            asked: SmallVec::new(),
        }
    }

    /// Whether a folded expression is the same in all iterations of the loop with this header.
    pub fn is_invariant(&self, expression: Expression, header: Block) -> bool {
        let state = &*self.state;
        is_invariant(
            self.function,
            &state.expressions,
            &state.shape,
            expression,
            header,
        )
    }
}

/// Whether an expression has an entry of its own: one without parameters of blocks is what it is.
fn needs_entry(expressions: &Expressions, expression: Expression) -> bool {
    expressions.has_parameters(expression)
}

/// True for an expression that is too large to be walked.
fn is_too_large(expressions: &Expressions, expression: Expression) -> bool {
    expressions.size(expression) > 4 * expressions.limits.max_expr_size
}

/// Whether an expression is the same in all iterations of the loop with this header.
fn is_invariant(
    function: &Function,
    expressions: &Expressions,
    shape: &Shape,
    expression: Expression,
    header: Block,
) -> bool {
    if is_too_large(expressions, expression) {
        return false;
    }
    let mut seen: DenseSet<Expression> = DenseSet::new();
    let mut stack: SmallVec<[Expression; 16]> = SmallVec::new();
    stack.push(expression);
    while let Some(top) = stack.pop() {
        let is_fixed = match expressions.kind(top) {
            Kind::Constant | Kind::Special | Kind::Symbol | Kind::Parameter => true,
            Kind::CouldNotCompute => false,
            Kind::Unknown | Kind::Start => match expressions.as_leaf(top) {
                Some(Leaf::Value(value)) => match function.values()[value].definition {
                    Definition::Undefined => true,
                    _ => function
                        .defining_block(value)
                        .is_some_and(|block| !shape.contains(header, block)),
                },
                Some(Leaf::Start(parameter)) => {
                    let own = function.defining_block(parameter);
                    own.is_some_and(|own| own == header || !shape.contains(header, own))
                }
                _ => false,
            },
            Kind::Recurrence => {
                let own = expressions.header(top).expect("a recurrence");
                !shape.contains(header, own)
            }
            _ => true,
        };
        if !is_fixed {
            return false;
        }
        let operands = expressions.operands(top);
        if operands.len() == 1 {
            stack.push(operands[0]);
        } else {
            for &operand in operands {
                if expressions.operands(operand).is_empty() || seen.insert(operand) {
                    stack.push(operand);
                }
            }
        }
    }
    true
}

/// Constructors that know loops.
struct Folder<'fold> {
    function: &'fold Function,
    expressions: &'fold mut Expressions,
    shape: &'fold Shape,
    /// Headers of loops in which something was asked to be invariant.
    asked: SmallVec<[Block; 4]>,
}

impl Folder<'_> {
    fn is_invariant(&mut self, expression: Expression, header: Block) -> bool {
        if !self.asked.contains(&header) {
            self.asked.push(header);
        }
        is_invariant(
            self.function,
            self.expressions,
            self.shape,
            expression,
            header,
        )
    }

    /// The innermost loop of recurrences among operands.
    fn innermost(&self, operands: &[Expression]) -> Option<Block> {
        let headers = operands
            .iter()
            .filter_map(|&it| self.expressions.header(it));
        let reached = headers.filter(|&header| self.shape.is_reachable(header));
        reached.max_by_key(|&header| self.shape.flow.position(header))
    }

    /// A sum.
    fn add(&mut self, operands: &[Expression], depth: u32) -> Expression {
        if let Some(found) = self.add_number(operands, depth) {
            debug_assert_eq!(found, self.add_terms(operands, depth));
            return found;
        }
        self.add_terms(operands, depth)
    }

    /// The sum of a recurrence and a number, which is the most frequent one: the number is added to what it starts with.
    fn add_number(&mut self, operands: &[Expression], depth: u32) -> Option<Expression> {
        let &[first, second] = operands else {
            return None;
        };
        let (number, recurrence) = match self.expressions.kind(first) {
            Kind::Recurrence => (second, first),
            _ => (first, second),
        };
        let header = self.expressions.header(recurrence)?;
        let value = self.expressions.as_constant(number)?;
        let limits = &self.expressions.limits;
        if value == 0
            || depth > limits.max_arith_depth
            || self.expressions.size(recurrence).saturating_add(2) > limits.max_expr_size
            || !self.shape.is_reachable(header)
        {
            return None;
        }
        if !self.asked.contains(&header) {
            self.asked.push(header);
        }
        let mut parts: List = SmallVec::from_slice(self.expressions.operands(recurrence));
        parts[0] = self.add(&[parts[0], number], depth + 1);
        for part in &mut parts[1..] {
            *part = self.add(&[*part], depth + 1);
        }
        Some(self.expressions.recurrence(&parts, header))
    }

    /// A sum of terms of which those of the innermost loop may have to be combined.
    fn add_terms(&mut self, operands: &[Expression], depth: u32) -> Expression {
        let plain = self.expressions.add(operands);
        if self.expressions.kind(plain) != Kind::Add
            || depth > self.expressions.limits.max_arith_depth
            || self.expressions.size(plain) > self.expressions.limits.max_expr_size
        {
            return plain;
        }
        let terms: List = SmallVec::from_slice(self.expressions.operands(plain));
        let Some(header) = self.innermost(&terms) else {
            return plain;
        };
        // What a recurrence starts with, what is added to it, and so on.
        let mut sum: SmallVec<[List; 4]> = SmallVec::new();
        for &term in &terms {
            if self.expressions.header(term) == Some(header) {
                let parts: List = SmallVec::from_slice(self.expressions.operands(term));
                for (index, part) in parts.into_iter().enumerate() {
                    if sum.len() <= index {
                        sum.push(SmallVec::new());
                    }
                    sum[index].push(part);
                }
            }
        }
        let mut variant: List = SmallVec::new();
        for &term in &terms {
            if self.expressions.header(term) == Some(header) {
                continue;
            }
            match self.is_invariant(term, header) {
                true => sum[0].push(term),
                false => variant.push(term),
            }
        }
        if terms.len() == 1 + variant.len() {
            return plain;
        }
        let parts: List = sum.iter().map(|part| self.add(part, depth + 1)).collect();
        let recurrence = self.expressions.recurrence(&parts, header);
        if variant.is_empty() {
            return recurrence;
        }
        variant.push(recurrence);
        self.expressions.add(&variant)
    }

    /// A product.
    fn multiply(&mut self, operands: &[Expression], depth: u32) -> Expression {
        let plain = self.expressions.multiply(operands);
        if self.expressions.kind(plain) != Kind::Multiply
            || depth > self.expressions.limits.max_arith_depth
            || self.expressions.size(plain) > self.expressions.limits.max_expr_size
        {
            return plain;
        }
        let factors: List = SmallVec::from_slice(self.expressions.operands(plain));
        let Some(header) = self.innermost(&factors) else {
            return plain;
        };
        let mut recurrences: List = SmallVec::new();
        let mut invariant: List = SmallVec::new();
        for &factor in &factors {
            if self.expressions.header(factor) == Some(header) {
                recurrences.push(factor);
            } else if self.is_invariant(factor, header) {
                invariant.push(factor);
            } else {
                return plain;
            }
        }
        let mut parts: List = match recurrences[..] {
            [only] => SmallVec::from_slice(self.expressions.operands(only)),
            [left, right] => match self.square(left, right) {
                Some(parts) => parts,
                None => return plain,
            },
            _ => return plain,
        };
        if !invariant.is_empty() {
            for part in &mut parts {
                let mut factors = invariant.clone();
                factors.push(*part);
                // A start may itself be a recurrence of a loop around this one.
                *part = match self.expressions.header(*part) {
                    Some(_) => self.multiply(&factors, depth + 1),
                    _ => self.expressions.multiply(&factors),
                };
            }
        }
        self.expressions.recurrence(&parts, header)
    }

    /// The product of two recurrences with one step each: `{ac,+,ad+bc+bd,+,2bd}`.
    fn square(&mut self, left: Expression, right: Expression) -> Option<List> {
        let (_, a, b) = self.expressions.as_affine(left)?;
        let (_, c, d) = self.expressions.as_affine(right)?;
        let ac = self.expressions.multiply(&[a, c]);
        let ad = self.expressions.multiply(&[a, d]);
        let bc = self.expressions.multiply(&[b, c]);
        let bd = self.expressions.multiply(&[b, d]);
        let first = self.add(&[ad, bc, bd], 0);
        let second = self.expressions.scale(bd, 2);
        Some([ac, first, second].into_iter().collect())
    }
}
