//! Choices between values that were compared, by `selp` or by a guarded `mov`.

use super::compare::comparison;
use super::view::{Arg, Change, MAXIMUM_ARGUMENTS, Site, View, is_integer};
use oriole_analysis::mask;
use oriole_ir::Definition;
use oriole_isa::{Comparison, Opcode, ScalarType, build, evaluate};

/// A comparison of integers.
struct Test {
    comparison: Comparison,
    scalar_type: ScalarType,
    left: Arg,
    right: Arg,
}

/// The comparison behind a predicate.
fn test(view: &View<'_, '_>, predicate: Arg) -> Option<Test> {
    let compare = view.producer(predicate.value()?, Opcode::Setp)?;
    let comparison = comparison(view, &compare)?;
    let (left, right) = compare.pair();
    let plain = left.is_plain() && right.is_plain();
    (plain && is_integer(compare.scalar_type)).then_some(Test {
        comparison,
        scalar_type: compare.scalar_type,
        left,
        right,
    })
}

fn as_change(arg: Arg) -> Option<Change> {
    match arg {
        Arg::Value(value) => Some(Change::Value(value)),
        Arg::Constant(bits) => Some(Change::Constant(bits)),
        Arg::Other => None,
    }
}

/// What is chosen if two values are equal, and if they are not, when one of them is compared with the other.
fn by_equality(test: &Test, site: &Site) -> Option<(Arg, Arg)> {
    let (yes, no) = site.pair();
    match test.comparison {
        Comparison::Equal => Some((yes, no)),
        Comparison::NotEqual => Some((no, yes)),
        _ => None,
    }
}

/// `x == y ? y : x`.
pub(super) fn equal_choice(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let test = test(view, site.arg(2))?;
    let (equal, different) = by_equality(&test, site)?;
    let same = test.scalar_type.bits() == site.width
        && ((equal, different) == (test.left, test.right)
            || (equal, different) == (test.right, test.left));
    as_change(different).filter(|_| same)
}

/// `x != C ? f(x) : K` where f(C) is K.
pub(super) fn special_case(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    let test = test(view, site.arg(2))?;
    let (Arg::Constant(special), Arg::Value(usual)) = by_equality(&test, site)? else {
        return None;
    };
    let Arg::Constant(compared) = test.right else {
        return None;
    };
    let Definition::Instruction(instruction) = view.function().values()[usual].definition else {
        return None;
    };
    view.function().block_of(instruction)?;
    let usual_site = view.site(instruction)?;
    let types = view.mnemonic(&usual_site).types();
    if !types.iter().all(|&scalar_type| is_integer(scalar_type)) || usual_site.opcode == Opcode::Mov
    {
        return None;
    }
    let mut inputs = [0; MAXIMUM_ARGUMENTS];
    for (input, &arg) in inputs.iter_mut().zip(usual_site.args()) {
        *input = match arg {
            Arg::Constant(bits) => u128::from(bits),
            arg if arg == test.left && arg.value().is_some() => u128::from(compared),
            _ => return None,
        };
    }
    let outputs = evaluate(view.mnemonic(&usual_site), &inputs[..usual_site.count])?;
    match *outputs.values() {
        [bits] if bits as u64 & mask(site.width) == special => Some(Change::Value(usual)),
        _ => None,
    }
}

/// `x < y ? x : y` and its like; with constants also `x < C ? x : C - 1`.
pub(super) fn minimum_or_maximum(view: &View<'_, '_>, site: &Site) -> Option<Change> {
    use Comparison::*;
    let Test {
        comparison,
        scalar_type,
        left,
        right,
    } = test(view, site.arg(2))?;
    let (less, strict, unsigned) = match comparison {
        Less => (true, true, false),
        LessEqual => (true, false, false),
        Greater => (false, true, false),
        GreaterEqual => (false, false, false),
        Lower => (true, true, true),
        LowerSame => (true, false, true),
        Higher => (false, true, true),
        HigherSame => (false, false, true),
        _ => return None,
    };
    let unsigned = unsigned || scalar_type.is_unsigned();
    let width = site.width;
    if scalar_type.is_bits() || scalar_type.bits() != width {
        return None;
    }
    let (yes, no) = site.pair();
    let (chosen_if_true, other) = if yes == left {
        (true, no)
    } else if no == left {
        (false, yes)
    } else {
        return None;
    };
    left.value()?;
    let bound = match (right, other) {
        _ if right == other => other,
        (Arg::Constant(right), Arg::Constant(other)) => {
            // `x < C` is `x <= C - 1`, `x <= C` is `x < C + 1`, unless that wraps.
            let up = less != strict;
            let end = match (unsigned, up) {
                (true, true) => mask(width),
                (true, false) => 0,
                (false, true) => mask(width - 1),
                (false, false) => 1 << (width - 1),
            };
            let next = match up {
                true => right.wrapping_add(1),
                false => right.wrapping_sub(1),
            };
            (right != end && next & mask(width) == other).then_some(Arg::Constant(other))?
        }
        _ => return None,
    };
    let opcode = match less == chosen_if_true {
        true => Opcode::Min,
        false => Opcode::Max,
    };
    let result = ScalarType::integer(!unsigned, width)?;
    let fits =
        view.writable(site, result) && view.readable(left, result) && view.readable(bound, result);
    fits.then(|| Change::Instruction(build::typed(opcode, result), vec![left, bound]))
}
