//! Facts from dominating conditions: what holds wherever a block is executed, or a loop entered.
//!
//! ## Soundness
//! An edge that every way to a block takes says that its condition held when it was last taken. What was compared then is the same now: a
//! value that dominates the edge is not computed again between there and the block.

use super::Query;
use super::conditions::{Comparing, Condition, Relation};
use super::expression::{Expression, Kind};
use super::ranges::Range;
use super::tables::{Depth, Key};
use oriole_collections::{DenseMap, SmallVec};
use oriole_ir::{Block, Value};
use std::rc::Rc;

/// How many dominating conditions are looked at.
const MOST_CONDITIONS: usize = 24;
/// How many blocks up the dominator tree conditions are looked for.
pub(super) const MOST_BLOCKS: usize = 96;

/// The most parts of an expression that are looked through one by one.
const FEW_PARTS: usize = 16;

/// What is known where a block is executed. There is room for what one comparison says.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub comparisons: SmallVec<[Comparing; 1]>,
    /// Bounds of expressions that follow from them.
    pub bounds: SmallVec<[(Expression, Range); 2]>,
    /// The smaller side of a comparison minus the larger, and where the larger minus the smaller lies.
    pub differences: SmallVec<[(Expression, Range); 1]>,
}

impl Query<'_> {
    /// What holds when the loop with this header is entered.
    pub(super) fn entry_facts(&mut self, reader: Key, header: Block) -> Rc<Facts> {
        // The edge to the header is the way in if all others come from behind it.
        self.facts(reader, header)
    }

    /// What holds where a block is executed.
    pub(super) fn facts(&mut self, reader: Key, block: Block) -> Rc<Facts> {
        let key = Key::facts(block);
        self.state.tables.read(reader, key);
        if let Some(Some((found, _))) = self.state.tables.facts.get(block) {
            return Rc::clone(found);
        }
        self.state.tables.read(key, Key::dominance(block));
        // Most often one edge says all there is.
        let mut first: Option<Rc<Facts>> = None;
        let mut several: Option<Facts> = None;
        let mut count = 0;
        let mut blocks = 0;
        let mut at = Some(block);
        while let Some(above) = at
            && blocks < MOST_BLOCKS
            && count < MOST_CONDITIONS
        {
            let own = match self.facts_of_dominator(above, count, blocks) {
                // What a dominator was found to be told is all that is left.
                Some((all, walked)) => {
                    self.state.tables.read(key, Key::facts(above));
                    blocks += walked;
                    at = None;
                    all
                }
                None => {
                    blocks += 1;
                    at = self.state.shape.dominators.immediate(above);
                    let Some((from, edge)) = self.state.shape.dominating_edge(above) else {
                        continue;
                    };
                    let own = self.facts_of_edge(above, from, edge);
                    self.state.tables.read(key, Key::edge_facts(above));
                    own
                }
            };
            count += own.comparisons.len();
            match (&first, own.comparisons.is_empty()) {
                (_, true) => {}
                (None, false) => first = Some(own),
                (Some(first), false) => {
                    let all = several.get_or_insert_with(|| Facts::clone(first));
                    all.comparisons.extend_from_slice(&own.comparisons);
                    all.bounds.extend_from_slice(&own.bounds);
                    all.differences.extend_from_slice(&own.differences);
                }
            }
        }
        let facts = match (several, first) {
            (Some(several), _) => Rc::new(several),
            (None, Some(first)) => first,
            (None, None) => Rc::clone(&self.state.tables.no_facts),
        };
        let tables = &mut self.state.tables;
        *tables.facts.ensure(block, None) = Some((Rc::clone(&facts), blocks));
        tables.filled();
        facts
    }

    /// What is known where a dominator of a block is executed, and in how many blocks that was looked for, if a walk that looked at so many
    /// conditions and blocks before would find just that.
    fn facts_of_dominator(
        &self,
        block: Block,
        count: usize,
        blocks: usize,
    ) -> Option<(Rc<Facts>, usize)> {
        let (facts, walked) = self.state.tables.facts.get(block)?.as_ref()?;
        let is_whole = count == 0 || count + facts.comparisons.len() < MOST_CONDITIONS;
        (is_whole && blocks + walked < MOST_BLOCKS).then(|| (Rc::clone(facts), *walked))
    }

    /// What holds where the only edge from a block to one that it dominates was taken.
    fn facts_of_edge(&mut self, block: Block, above: Block, edge: u32) -> Rc<Facts> {
        if let Some(Some(found)) = self.state.tables.edge_facts.get(block) {
            return Rc::clone(found);
        }
        let reader = Key::edge_facts(block);
        self.state.tables.read(reader, Key::dominance(block));
        let mut facts = Facts::default();
        if let Some(branch) = self.branch(reader, above)
            && branch.if_true != branch.if_false
        {
            let truth = branch.if_true == Some(edge);
            if truth || branch.if_false == Some(edge) {
                let condition = self.condition(reader, branch.predicate).when(truth);
                collect(condition, &mut facts.comparisons);
            }
        }
        for index in 0..facts.comparisons.len() {
            let comparing = facts.comparisons[index];
            self.bound(reader, comparing, &mut facts.bounds);
            facts.differences.extend(self.difference(reader, comparing));
        }
        let tables = &mut self.state.tables;
        let facts = match facts.comparisons.is_empty() {
            true => Rc::clone(&tables.no_facts),
            false => Rc::new(facts),
        };
        let before = tables
            .edge_facts
            .ensure(block, None)
            .replace(Rc::clone(&facts));
        debug_assert!(
            before.is_none(),
            "an edge was asked about to compute itself"
        );
        tables.filled();
        facts
    }

    /// What a number minus a smaller one is: as an unsigned number it is what it is without a width, whichever way the two compare.
    fn difference(&mut self, reader: Key, fact: Comparing) -> Option<(Expression, Range)> {
        let is_strict = match fact.relation {
            Relation::Equal | Relation::NotEqual => return None,
            Relation::UnsignedLess | Relation::SignedLess => true,
            Relation::UnsignedLessEqual | Relation::SignedLessEqual => false,
        };
        let expressions = &self.state.expressions;
        if [fact.left, fact.right]
            .iter()
            .any(|&side| expressions.as_constant(side).is_some())
        {
            return None;
        }
        let left = self.read_range(reader, fact.left);
        let right = self.read_range(reader, fact.right);
        let most = match fact.relation.is_signed() {
            true => i128::from(right.signed.high) - i128::from(left.signed.low),
            false => i128::from(right.unsigned.high) - i128::from(left.unsigned.low),
        };
        let range = Range::full(left.bits()).with_unsigned(i128::from(is_strict), most);
        let negated = self.state.expressions.negate(fact.right);
        let difference = self.fold_sum(reader, &[fact.left, negated]);
        Some((difference, range))
    }

    /// Bounds of both sides of a comparison from the ranges of the other.
    fn bound(
        &mut self,
        reader: Key,
        fact: Comparing,
        bounds: &mut SmallVec<[(Expression, Range); 2]>,
    ) {
        let left = self.read_range(reader, fact.left);
        let right = self.read_range(reader, fact.right);
        let (left, right) = left.compared(fact.relation, right);
        for (expression, range) in [(fact.left, left), (fact.right, right)] {
            if self.state.expressions.as_constant(expression).is_some() {
                continue;
            }
            bounds.push((expression, range));
            // What is bounded with a number added is bounded itself.
            if self.state.expressions.kind(expression) == Kind::Add
                && let [constant, other] = *self.state.expressions.operands(expression)
                && let Some(constant) = self.state.expressions.as_constant(constant)
            {
                let negated = Range::constant(constant.wrapping_neg(), range.bits());
                bounds.push((other, range.add(negated)));
            }
        }
    }

    /// Whether a relation is known to hold, or known not to.
    pub(super) fn decide(&mut self, reader: Key, facts: &Facts, wanted: Comparing) -> Option<bool> {
        if wanted.left == wanted.right {
            return Some(matches!(
                wanted.relation,
                Relation::Equal | Relation::UnsignedLessEqual | Relation::SignedLessEqual
            ));
        }
        let is_open = self.is_open(reader, facts, wanted);
        if !is_open || cfg!(debug_assertions) {
            let left = self.range_at(reader, facts, wanted.left);
            let right = self.range_at(reader, facts, wanted.right);
            if let Some(decided) = left.decides(wanted.relation, right) {
                debug_assert!(!is_open, "{wanted:?} is decided by {left:?} and {right:?}");
                return Some(decided);
            }
        }
        self.decide_by_implication(reader, facts, wanted)
    }

    /// Whether a relation that is not decided without facts is known to hold with them, or known not to.
    fn decide_by_facts(&mut self, reader: Key, facts: &Facts, wanted: Comparing) -> Option<bool> {
        let sides = [wanted.left, wanted.right];
        if sides.iter().any(|&side| self.is_told_of(facts, side)) {
            return self.decide(reader, facts, wanted);
        }
        self.decide_by_implication(reader, facts, wanted)
    }

    /// Whether a relation follows from those that are known, or its opposite does.
    fn decide_by_implication(
        &mut self,
        reader: Key,
        facts: &Facts,
        wanted: Comparing,
    ) -> Option<bool> {
        if self.is_implied(facts, wanted) || self.is_implied_by_arms(reader, facts, wanted) {
            return Some(true);
        }
        self.is_implied(facts, wanted.negated()).then_some(false)
    }

    /// Whether a number is below every arm of a minimum, and so below the minimum, or, the other way round, every arm of a maximum is below
    /// a number. Arms that are such themselves are looked into to a depth.
    fn is_implied_by_arms(&mut self, reader: Key, facts: &Facts, wanted: Comparing) -> bool {
        let (least, most) = match wanted.relation {
            Relation::SignedLess | Relation::SignedLessEqual => (Kind::SignedMin, Kind::SignedMax),
            Relation::UnsignedLess | Relation::UnsignedLessEqual => {
                (Kind::UnsignedMin, Kind::UnsignedMax)
            }
            Relation::Equal | Relation::NotEqual => return false,
        };
        let most_depth = self.state.knobs.max_scev_operations_implication_depth;
        let mut work: SmallVec<[(Comparing, u32); 8]> = SmallVec::new();
        work.push((wanted, 0));
        while let Some((one, depth)) = work.pop() {
            if depth > 0 && (self.is_implied(facts, one) || self.is_at_distance(reader, facts, one))
            {
                continue;
            }
            let expressions = &self.state.expressions;
            let arms = |side: Expression| expressions.operands(side).iter();
            if depth < most_depth && expressions.kind(one.right) == least {
                work.extend(arms(one.right).map(|&right| (Comparing { right, ..one }, depth + 1)));
            } else if depth < most_depth && expressions.kind(one.left) == most {
                work.extend(arms(one.left).map(|&left| (Comparing { left, ..one }, depth + 1)));
            } else {
                return false;
            }
        }
        true
    }

    /// Whether the right side is the left one and a number, and neither wraps.
    fn is_at_distance(&mut self, reader: Key, facts: &Facts, wanted: Comparing) -> bool {
        let negated = self.state.expressions.negate(wanted.left);
        let distance = self.state.expressions.add(&[wanted.right, negated]);
        let left = self.range_at(reader, facts, wanted.left);
        let is_strict = matches!(
            wanted.relation,
            Relation::SignedLess | Relation::UnsignedLess
        );
        let full = Range::full(left.bits());
        let (distance, high, most) = match wanted.relation.is_signed() {
            true => match self.state.expressions.as_signed(distance) {
                Some(distance) => (
                    i128::from(distance),
                    i128::from(left.signed.high),
                    i128::from(full.signed.high),
                ),
                None => return false,
            },
            false => match self.state.expressions.as_constant(distance) {
                Some(distance) => (
                    i128::from(distance),
                    i128::from(left.unsigned.high),
                    i128::from(full.unsigned.high),
                ),
                None => return false,
            },
        };
        distance >= i128::from(is_strict) && high + distance <= most
    }

    /// What a predicate is wherever it is computed in a block, if ranges and the conditions that dominate the block say.
    pub fn decided_predicate(&mut self, predicate: Value, block: Block) -> Option<bool> {
        if let Some(&(at, decided)) = self.state.tables.decisions.get(&predicate) {
            if at == block {
                return decided;
            }
            let key = Key::decision(predicate);
            self.state.tables.forget([key], Depth::Shallow);
        }
        // That is seen faster than kept.
        if self.compares_anything(predicate, block) {
            debug_assert_eq!(
                self.decided_by_all(Key::NOBODY, predicate, block),
                None,
                "{predicate}"
            );
            return None;
        }
        let decided = self.decided_by_all(Key::decision(predicate), predicate, block);
        let tables = &mut self.state.tables;
        tables.decisions.insert(predicate, (block, decided));
        tables.filled();
        decided
    }

    fn decided_by_all(&mut self, reader: Key, predicate: Value, block: Block) -> Option<bool> {
        let condition = self.condition(reader, predicate);
        if matches!(condition, Condition::Opaque) {
            return None;
        }
        // Most of what can be decided is decided by ranges alone.
        let nothing = Rc::clone(&self.state.tables.no_facts);
        let known = self.decide_condition(reader, &nothing, &condition);
        if known.is_some() {
            return known;
        }
        let facts = self.facts(reader, block);
        if facts.comparisons.is_empty() {
            return None;
        }
        self.decide_condition(reader, &facts, &condition)
    }

    fn decide_condition(
        &mut self,
        reader: Key,
        facts: &Facts,
        condition: &Condition,
    ) -> Option<bool> {
        // The depth of conditions is bounded.
        match condition {
            Condition::Constant(value) => Some(*value),
            Condition::Compare(comparing) if facts.comparisons.is_empty() => {
                self.decide(reader, facts, *comparing)
            }
            // Without them it was asked about before.
            Condition::Compare(comparing) => self.decide_by_facts(reader, facts, *comparing),
            Condition::And(left, right) | Condition::Or(left, right) => {
                let decisive = matches!(condition, Condition::Or(..));
                let left = self.decide_condition(reader, facts, left);
                let right = self.decide_condition(reader, facts, right);
                match (left, right) {
                    (Some(one), _) | (_, Some(one)) if one == decisive => Some(decisive),
                    (Some(_), Some(_)) => Some(!decisive),
                    _ => None,
                }
            }
            Condition::Opaque => None,
        }
    }

    /// Whether a relation follows from one that is known.
    fn is_implied(&mut self, facts: &Facts, wanted: Comparing) -> bool {
        use Relation::*;
        if facts.comparisons.is_empty() {
            return false;
        }
        let Comparing {
            relation,
            left,
            right,
        } = wanted;
        let is = |known: &Comparing, relation: Relation, left: Expression, right: Expression| {
            *known
                == Comparing {
                    relation,
                    left,
                    right,
                }
        };
        let signed = relation.is_signed();
        let (less, less_equal) = (Relation::less(signed), Relation::less_equal(signed));
        // A number that is smaller than another can be counted up once.
        let mut shifted = None;
        if matches!(relation, UnsignedLessEqual | SignedLessEqual)
            && facts.comparisons.iter().any(|known| known.relation == less)
        {
            let expressions = &mut self.state.expressions;
            let before = expressions.add_constant(left, u64::MAX);
            shifted = Some((before, expressions.add_constant(right, 1)));
        }
        facts.comparisons.iter().any(|known| match relation {
            Equal => is(known, Equal, left, right) || is(known, Equal, right, left),
            NotEqual => [(left, right), (right, left)].iter().any(|&(a, b)| {
                is(known, NotEqual, a, b)
                    || is(known, UnsignedLess, a, b)
                    || is(known, SignedLess, a, b)
            }),
            UnsignedLess | SignedLess => is(known, less, left, right),
            UnsignedLessEqual | SignedLessEqual => {
                is(known, less_equal, left, right)
                    || is(known, less, left, right)
                    || is(known, Equal, left, right)
                    || is(known, Equal, right, left)
                    || shifted.is_some_and(|(before, after)| {
                        is(known, less, before, right) || is(known, less, left, after)
                    })
            }
        })
    }

    /// The range of an expression where facts hold.
    pub(super) fn range_at(&mut self, reader: Key, facts: &Facts, root: Expression) -> Range {
        if let Some(number) = self.state.expressions.as_constant(root) {
            return Range::constant(number, self.state.expressions.bits(root));
        }
        let range = self.own_range_at(reader, facts, root);
        if facts.comparisons.is_empty() {
            return range;
        }
        let made = self.distributed(root);
        if made.is_empty() {
            return range;
        }
        let terms: SmallVec<[Expression; 8]> =
            SmallVec::from_slice(self.state.expressions.operands(root));
        let mut ranges = [terms.as_slice(), made.as_slice()].map(|list| {
            let ranges = list.iter().map(|&it| self.own_range_at(reader, facts, it));
            ranges.collect::<SmallVec<[Range; 8]>>()
        });
        let made = std::mem::take(&mut ranges[1]);
        match self.distributed_range(root, &ranges[0], &made) {
            Some(other) => range.meet(other),
            None => range,
        }
    }

    /// How many terms of a sum are not numbers.
    fn variable_terms(&self, sum: Expression) -> usize {
        let expressions = &self.state.expressions;
        if expressions.kind(sum) != Kind::Add {
            return usize::from(expressions.as_constant(sum).is_none());
        }
        let terms = expressions.operands(sum);
        let has_number = expressions.as_constant(terms[0]).is_some();
        terms.len() - usize::from(has_number)
    }

    fn own_range_at(&mut self, reader: Key, facts: &Facts, root: Expression) -> Range {
        let mut whole = self.read_range(reader, root);
        if self.state.expressions.kind(root) == Kind::Add {
            let terms = self.variable_terms(root);
            for &(difference, range) in &facts.differences {
                // A known difference and a number.
                if range.bits() == whole.bits() && self.variable_terms(difference) == terms {
                    let rest = self.state.expressions.add(&[root, difference]);
                    if let Some(constant) = self.state.expressions.as_constant(rest) {
                        whole = whole.meet(range.add(Range::constant(constant, range.bits())));
                    }
                }
            }
        }
        if facts.bounds.is_empty()
            || self.state.expressions.size(root) > self.state.knobs.max_expr_size
        {
            return whole;
        }
        let expressions = &self.state.expressions;
        if expressions.operands(root).is_empty() {
            let own = facts.bounds.iter().filter(|(bounded, _)| *bounded == root);
            return own.fold(whole, |range, &(_, bound)| range.meet(bound));
        }
        if !self.has_bounded_part(facts, root) {
            return whole;
        }
        // Nothing is told of numbers.
        let order = self.state.expressions.variable_parts(root);
        let is_bounded = |it: &Expression| facts.bounds.iter().any(|(bounded, _)| bounded == it);
        if !order.iter().any(is_bounded) {
            return whole;
        }
        let mut places: DenseMap<Expression, usize> = DenseMap::new();
        let mut ranges: SmallVec<[Range; 8]> = SmallVec::new();
        let is_long = order.len() > FEW_PARTS;
        let mut is_refined = false;
        for (place, &expression) in order.iter().enumerate() {
            let mut range = self.read_range(reader, expression);
            if is_refined && self.state.expressions.kind(expression) != Kind::Recurrence {
                let expressions = &self.state.expressions;
                let of = |operand: &Expression| {
                    if let Some(number) = expressions.as_constant(*operand) {
                        return Range::constant(number, expressions.bits(*operand));
                    }
                    let found = match is_long {
                        true => places.get(operand).copied(),
                        false => order[..place].iter().rposition(|own| own == operand),
                    };
                    ranges[found.expect("operands come first")]
                };
                let operands = self.state.expressions.operands(expression);
                let operands: SmallVec<[Range; 8]> = operands.iter().map(of).collect();
                if !operands.is_empty() {
                    range = range.meet(self.combined(expression, &operands));
                }
            }
            for &(bounded, bound) in &facts.bounds {
                if bounded == expression {
                    range = range.meet(bound);
                    is_refined = true;
                }
            }
            if is_long {
                places.insert(expression, place);
            }
            ranges.push(range);
        }
        ranges.last().expect("the last one").meet(whole)
    }
}

/// The comparisons that hold if a condition does.
fn collect(condition: Condition, comparisons: &mut SmallVec<[Comparing; 1]>) {
    let mut stack: SmallVec<[Condition; 4]> = SmallVec::new();
    stack.push(condition);
    while let Some(top) = stack.pop() {
        match top {
            Condition::Compare(comparing) => comparisons.push(comparing),
            Condition::And(left, right) => {
                stack.push(*right);
                stack.push(*left);
            }
            Condition::Constant(_) | Condition::Or(..) | Condition::Opaque => {}
        }
    }
}
