//! Comparisons, selections, and logic of predicates.

use super::view::{Arg, Change, Site, View, is_integer};
use oriole_analysis::{mask, sign_extend};
use oriole_ir::{Block, Definition, Edge, Function, Operand, Use, Value};
use oriole_isa::{BooleanOperation, Comparison, Opcode, ScalarType, build, evaluate};

/// The comparison of a `setp` with two operands and no boolean operation.
pub(super) fn comparison(view: &View<'_, '_>, site: &Site) -> Option<Comparison> {
    let modifiers = view.mnemonic(site).modifiers();
    let plain = site.opcode == Opcode::Setp && site.count == 2 && modifiers.boolean.is_none();
    modifiers.comparison.filter(|_| plain)
}

/// What is true of `b, a` when this is of `a, b`.
pub(crate) fn mirrored(comparison: Comparison) -> Comparison {
    use Comparison::*;
    match comparison {
        Less => Greater,
        LessEqual => GreaterEqual,
        Greater => Less,
        GreaterEqual => LessEqual,
        Lower => Higher,
        LowerSame => HigherSame,
        Higher => Lower,
        HigherSame => LowerSame,
        LessUnordered => GreaterUnordered,
        LessEqualUnordered => GreaterEqualUnordered,
        GreaterUnordered => LessUnordered,
        GreaterEqualUnordered => LessEqualUnordered,
        symmetric => symmetric,
    }
}

/// What is true exactly when this is not. A comparison of floating-point numbers that is false of NaN becomes one that is
/// true of it, and the other way round.
pub(crate) fn inverted(comparison: Comparison, float: bool) -> Option<Comparison> {
    use Comparison::*;
    Some(match (comparison, float) {
        (Equal, false) => NotEqual,
        (NotEqual, false) => Equal,
        (Less, false) => GreaterEqual,
        (LessEqual, false) => Greater,
        (Greater, false) => LessEqual,
        (GreaterEqual, false) => Less,
        (Lower, false) => HigherSame,
        (LowerSame, false) => Higher,
        (Higher, false) => LowerSame,
        (HigherSame, false) => Lower,
        (Equal, true) => NotEqualUnordered,
        (NotEqual, true) => EqualUnordered,
        (Less, true) => GreaterEqualUnordered,
        (LessEqual, true) => GreaterUnordered,
        (Greater, true) => LessEqualUnordered,
        (GreaterEqual, true) => LessUnordered,
        (EqualUnordered, true) => NotEqual,
        (NotEqualUnordered, true) => Equal,
        (LessUnordered, true) => GreaterEqual,
        (LessEqualUnordered, true) => Greater,
        (GreaterUnordered, true) => LessEqual,
        (GreaterEqualUnordered, true) => Less,
        (Number, true) => NotANumber,
        (NotANumber, true) => Number,
        _ => return None,
    })
}

/// A constant on the left of a comparison.
pub(super) fn compare_right(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let comparison = comparison(view, site)?;
    match site.pair() {
        (left @ Arg::Constant(_), right @ Arg::Value(_)) if is_integer(site.scalar_type) => {
            let mnemonic = view.mnemonic(site).with_comparison(mirrored(comparison))?;
            Some(Change::Instruction(mnemonic, vec![right, left]))
        }
        _ => None,
    }
}

/// A comparison of a value with itself.
pub(super) fn compare_equal(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    use Comparison::*;
    let comparison = comparison(view, site)?;
    let (a, b) = site.pair();
    if !is_integer(site.scalar_type) || a != b || a.value().is_none() {
        return None;
    }
    let holds = matches!(
        comparison,
        Equal | LessEqual | GreaterEqual | LowerSame | HigherSame
    );
    Some(Change::Constant(u64::from(holds)))
}

/// A comparison of `selp` of two constants with a constant is the predicate, its negation, or constant.
pub(super) fn compare_select(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    comparison(view, site)?;
    let (Arg::Value(value), Arg::Constant(third)) = site.pair() else {
        return None;
    };
    let select = view.producer(value, Opcode::Selp)?;
    let (Arg::Constant(first), Arg::Constant(second)) = select.pair() else {
        return None;
    };
    let predicate = select.arg(2).value()?;
    let test = |bits: u64| -> Option<bool> {
        let outputs = evaluate(view.mnemonic(site), &[u128::from(bits), u128::from(third)])?;
        // The predicate, and its negation for `p|q`.
        outputs.values().first().map(|truth| truth & 1 != 0)
    };
    Some(match (test(first)?, test(second)?) {
        (true, false) => Change::Value(predicate),
        (false, true) => negation_of(predicate),
        (same, _) => Change::Constant(u64::from(same)),
    })
}

fn negation_of(predicate: Value) -> Change {
    let mnemonic = build::typed(Opcode::Not, ScalarType::Pred);
    Change::Instruction(mnemonic, vec![Arg::Value(predicate)])
}

/// `x - y == 0`, `x ^ y == 0`, `x + C1 == C2`, `x ^ C1 == C2`, and with `!=`.
pub(super) fn compare_difference(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let comparison = comparison(view, site)?;
    if !matches!(comparison, Comparison::Equal | Comparison::NotEqual)
        || !is_integer(site.scalar_type)
    {
        return None;
    }
    let (Arg::Value(value), Arg::Constant(right)) = site.pair() else {
        return None;
    };
    if !view.is_single(value) {
        return None;
    }
    let arguments = if let Some((inner, base, constant)) = view.as_sum(value)
        && inner.width == site.width
    {
        let moved = right.wrapping_sub(constant) & site.mask();
        [Arg::Value(base), Arg::Constant(moved)]
    } else {
        let arg = Arg::Value(value);
        let inner = view
            .integer_producer(arg, Opcode::Xor, site.width)
            .or_else(|| view.integer_producer(arg, Opcode::Sub, site.width))?;
        match (inner.opcode, inner.value_and_constant()) {
            (Opcode::Xor, Some((base, constant))) => {
                [Arg::Value(base), Arg::Constant(constant ^ right)]
            }
            (_, None) if right == 0 => [inner.arg(0), inner.arg(1)],
            _ => return None,
        }
    };
    arguments
        .iter()
        .all(|&arg| view.readable(arg, site.scalar_type))
        .then(|| Change::Operands(arguments.to_vec()))
}

/// A comparison of two extended values, or of one with a constant of the narrow type, is one of the values themselves.
pub(super) fn compare_extended(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    use Comparison::*;
    let comparison = comparison(view, site)?;
    if !is_integer(site.scalar_type) {
        return None;
    }
    let narrow = |arg: Arg| -> Option<(ScalarType, Arg)> {
        let inner = view.integer_producer(arg, Opcode::Cvt, site.width)?;
        let &[to, from] = view.mnemonic(&inner).types() else {
            return None;
        };
        let extends =
            from.is_integer() && matches!(from.bits(), 16 | 32) && to.bits() > from.bits();
        let fits = extends && inner.arg(0).value().is_some() && view.is_single(arg.value()?);
        fits.then_some((from, inner.arg(0)))
    };
    let (a, b) = site.pair();
    let (from, left) = narrow(a)?;
    let right = match b {
        Arg::Constant(bits) => {
            let cut = bits & mask(from.bits());
            let again = match from.is_signed() {
                true => sign_extend(cut, from.bits()) as u64 & site.mask(),
                false => cut,
            };
            (again == bits).then_some(Arg::Constant(cut))?
        }
        _ => {
            let (other, right) = narrow(b)?;
            (other == from).then_some(right)?
        }
    };
    let (comparison, unsigned) = match comparison {
        Equal | NotEqual => (comparison, !from.is_signed()),
        Less | LessEqual | Greater | GreaterEqual => {
            (comparison, !from.is_signed() || !site.signed())
        }
        Lower => (Less, true),
        LowerSame => (LessEqual, true),
        Higher => (Greater, true),
        HigherSame => (GreaterEqual, true),
        _ => return None,
    };
    let scalar_type = ScalarType::integer(!unsigned, from.bits())?;
    Some(Change::Instruction(
        build::setp(comparison, scalar_type),
        vec![left, right],
    ))
}

/// The negation of a comparison that nobody else reads.
pub(super) fn inverted_comparison(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if site.scalar_type != ScalarType::Pred {
        return None;
    }
    let value = site.arg(0).value()?;
    if !view.is_single(value) {
        return None;
    }
    let compare = view.producer(value, Opcode::Setp)?;
    let old = comparison(view, &compare)?;
    let float = compare.scalar_type.is_float();
    if compare.scalar_type.lanes() > 1 || !compare.args().iter().all(|arg| arg.is_plain()) {
        return None;
    }
    let new = inverted(old, float)?;
    let mnemonic = view.mnemonic(&compare).with_comparison(new)?;
    Some(Change::Instruction(mnemonic, compare.args().to_vec()))
}

/// `xor.pred` with true.
pub(super) fn flipped_predicate(_: &View<'_, '_>, site: &Site) -> Option<Change> {
    if site.scalar_type != ScalarType::Pred || site.opcode != Opcode::Xor {
        return None;
    }
    let (value, constant) = site.value_and_constant()?;
    (constant == 1).then(|| negation_of(value))
}

/// A test of a sign, and a comparison with something that is not negative: negative numbers are large as unsigned ones.
pub(super) fn range_test(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    use Comparison::*;
    let is_inside = match site.opcode {
        Opcode::And => true,
        Opcode::Or => false,
        _ => return None,
    };
    if site.scalar_type != ScalarType::Pred || site.count != 2 {
        return None;
    }
    let (a, b) = site.pair();
    [(a, b), (b, a)].into_iter().find_map(|(sign, bound)| {
        let (sign, bound) = (sign.value()?, bound.value()?);
        if !view.is_single(sign) || !view.is_single(bound) {
            return None;
        }
        let sign = view.producer(sign, Opcode::Setp)?;
        let bound = view.producer(bound, Opcode::Setp)?;
        let (number, least) = match sign.pair() {
            (number @ Arg::Value(_), Arg::Constant(least)) => (number, least),
            _ => return None,
        };
        let tests_sign = match (comparison(view, &sign)?, is_inside) {
            (GreaterEqual, true) | (Less, false) => least == 0,
            (Greater, true) | (LessEqual, false) => least == sign.mask(),
            _ => false,
        };
        let (limit, compared) = match (bound.pair(), comparison(view, &bound)?) {
            ((first, limit), compared) if first == number => (limit, compared),
            ((limit, second), compared) if second == number => (limit, mirrored(compared)),
            _ => return None,
        };
        let is_upper = match compared {
            Less | LessEqual => is_inside,
            Greater | GreaterEqual => !is_inside,
            _ => false,
        };
        let top = 1 << (bound.width - 1);
        let is_negative = match limit {
            Arg::Constant(limit) => limit & top != 0,
            Arg::Value(limit) => view.known.of(limit).zeros & top == 0,
            Arg::Other => true,
        };
        let is_usable = sign.scalar_type.is_signed() && sign.scalar_type == bound.scalar_type;
        if !tests_sign || !is_upper || is_negative || !is_usable {
            return None;
        }
        let unsigned = ScalarType::unsigned(bound.width)?;
        Some(Change::Instruction(
            build::setp(compared, unsigned),
            vec![number, limit],
        ))
    })
}

/// Recognizes the test of an induction variable against a constant, of which a logical operation decides the back edge.
/// `ptxas` finds the trip count of such a loop and unrolls it, but not by a comparison that combines its result.
fn counts_loop(view: &View<'_, '_>, predicate: Arg, latch: Block) -> bool {
    let test = predicate
        .value()
        .and_then(|predicate| view.producer(predicate, Opcode::Setp));
    test.is_some_and(|test| match *test.args() {
        [Arg::Value(value), Arg::Constant(_)] | [Arg::Constant(_), Arg::Value(value)] => {
            is_counter(view.function(), value, latch)
        }
        _ => false,
    })
}

/// Recognizes an induction variable: a block parameter that a back edge from `latch` increments by a constant, or the incremented value.
fn is_counter(function: &Function, value: Value, latch: Block) -> bool {
    let increments = |edge: &Edge| {
        let parameters = &function.blocks()[edge.target].parameters;
        let mut pairs = parameters.iter().zip(function.arguments(*edge));
        pairs.any(|(&parameter, &next)| {
            (value == parameter || value == next) && incremented(function, next) == Some(parameter)
        })
    };
    function.edges(latch).iter().any(increments)
}

/// The value that a sum or a difference with a constant starts from.
fn incremented(function: &Function, sum: Value) -> Option<Value> {
    let Definition::Instruction(maker) = function.values()[sum].definition else {
        return None;
    };
    let adds = matches!(
        function.format(maker).mnemonic.opcode(),
        Opcode::Add | Opcode::Sub
    );
    match *function.leaves(maker) {
        [
            Operand::Result(0),
            Operand::Value(value),
            Operand::Constant(_),
        ] if adds => Some(value),
        _ => None,
    }
}

/// A comparison that nobody else reads, and a logical operation on it.
pub(super) fn combined_comparison(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    if site.scalar_type != ScalarType::Pred || site.count != 2 {
        return None;
    }
    let operation = match site.opcode {
        Opcode::And => BooleanOperation::And,
        Opcode::Or => BooleanOperation::Or,
        Opcode::Xor => BooleanOperation::Xor,
        _ => return None,
    };
    let function = view.function();
    let latch = function.uses_of(site.result).find_map(|user| match user {
        Use::Instruction(user) if function.format(user).is_terminator() => function.block_of(user),
        _ => None,
    });
    let (a, b) = site.pair();
    [(b, a), (a, b)].into_iter().find_map(|(one, other)| {
        let value = one.value()?;
        other.value()?;
        let compare = view.producer(value, Opcode::Setp)?;
        comparison(view, &compare)?;
        let plain = compare.args().iter().all(|arg| arg.is_plain());
        if !plain || !view.is_single(value) || compare.scalar_type.lanes() > 1 {
            return None;
        }
        if latch.is_some_and(|latch| {
            [one, other]
                .iter()
                .any(|&own| counts_loop(view, own, latch))
        }) {
            return None;
        }
        Some(Change::Instruction(
            view.mnemonic(&compare).with_boolean(operation)?,
            vec![compare.arg(0), compare.arg(1), other],
        ))
    })
}

/// `selp` with equal arms or a known predicate.
pub(super) fn decided_select(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let (a, b) = site.pair();
    let chosen = match site.arg(2) {
        Arg::Constant(0) => b,
        Arg::Constant(_) => a,
        Arg::Value(_) if a == b => a,
        _ => return None,
    };
    if view.type_of(site.result).bits() > 64 {
        return None;
    }
    match chosen {
        Arg::Value(value) => Some(Change::Value(value)),
        Arg::Constant(bits) => Some(Change::Constant(bits)),
        Arg::Other => None,
    }
}

/// `selp` by a negated predicate.
pub(super) fn swapped_select(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let negation = view.producer(site.arg(2).value()?, Opcode::Not)?;
    let predicate = negation.arg(0);
    let (a, b) = site.pair();
    let plain = a.is_plain() && b.is_plain() && predicate.value().is_some();
    plain.then(|| Change::Operands(vec![b, a, predicate]))
}

/// A choice inside a choice by the same predicate.
pub(super) fn nested_select(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let (a, b) = site.pair();
    let predicate = site.arg(2);
    predicate.value()?;
    let inner = |arg: Arg, index: usize| {
        let select = view.producer(arg.value()?, Opcode::Selp)?;
        let same = select.width == site.width
            && select.arg(2) == predicate
            && view.is_single(arg.value()?)
            && view.readable(select.arg(index), site.scalar_type)
            && !matches!(select.arg(index), Arg::Constant(_) if select.scalar_type != site.scalar_type);
        same.then_some(select.arg(index))
    };
    let arguments = match (inner(a, 0), inner(b, 1)) {
        (Some(a), _) => [a, b, predicate],
        (None, Some(b)) => [a, b, predicate],
        _ => return None,
    };
    arguments
        .iter()
        .all(|arg| arg.is_plain())
        .then(|| Change::Operands(arguments.to_vec()))
}

/// An integer operation on a choice of constants is a choice of constants.
pub(super) fn operation_on_select(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let types = view.mnemonic(site).types();
    let width = view.type_of(site.result).bits();
    if !types.iter().all(|&scalar_type| is_integer(scalar_type)) || width > 64 {
        return None;
    }
    let mut selected = None;
    for (index, arg) in site.args().iter().enumerate() {
        match arg {
            Arg::Constant(_) => {}
            Arg::Value(_) if selected.is_none() => selected = Some(index),
            _ => return None,
        }
    }
    let selected = selected?;
    let value = site.arg(selected).value()?;
    let select = view.producer(value, Opcode::Selp)?;
    let (Arg::Constant(first), Arg::Constant(second)) = select.pair() else {
        return None;
    };
    if !view.is_single(value) || select.arg(2).value().is_none() {
        return None;
    }
    let compute = |bits: u64| {
        let mut inputs = [0; super::view::MAXIMUM_ARGUMENTS];
        for (index, arg) in site.args().iter().enumerate() {
            inputs[index] = u128::from(arg.constant().unwrap_or(bits));
        }
        let outputs = evaluate(view.mnemonic(site), &inputs[..site.count])?;
        match *outputs.values() {
            [result] => Some(Arg::Constant(result as u64 & mask(width))),
            _ => None,
        }
    };
    Some(Change::Instruction(
        build::selp(ScalarType::untyped(width)?),
        vec![compute(first)?, compute(second)?, select.arg(2)],
    ))
}
