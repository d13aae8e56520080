//! Which branches are hardly ever taken, as far as the comparison tells.
//!
//! ## Example
//! ```text
//!     setp.eq.f64 %p1, %fd1, 0d0000000000000000;
//!     @%p1 bra $special;                             hardly ever
//! ```
//!
//! ## Method
//! Numbers are hardly ever equal, infinite, or none: the heuristic for floating-point comparisons of Ball and Larus (Branch Prediction for Free,
//! 1993). Math libraries tell their special cases apart that way, also by the bits of numbers. Others of theirs, as for integers and loops,
//! say nothing here: what threads of a warp do is not what they were found on.

use oriole_ir::{Definition, Function, Instruction, Operand, Value};
use oriole_isa::{BooleanOperation, Comparison, Mnemonic, Opcode};
use oriole_syntax::literal::Literal;
use oriole_syntax::tree::Guard;

/// Predicates that are looked at for one branch: combinations of a few comparisons.
const MOST_DEPTH: u32 = 4;

/// Whether a branch is one to a special case of floating-point numbers, which programs hardly ever meet.
pub fn is_hardly_taken(function: &Function, branch: Instruction) -> bool {
    is_usually_taken(function, branch) == Some(false)
}

/// Whether a branch is taken but for special cases, or in these only, if that is known.
pub fn is_usually_taken(function: &Function, branch: Instruction) -> Option<bool> {
    let predicate = function.guard(branch).and_then(Operand::value)?;
    let usual = usually(function, predicate, MOST_DEPTH)?;
    Some(usual == (function.format(branch).guard == Guard::If))
}

/// What a predicate is but for special cases, if that is known.
fn usually(function: &Function, predicate: Value, depth: u32) -> Option<bool> {
    let Definition::Instruction(instruction) = function.values()[predicate].definition else {
        return None;
    };
    let format = function.format(instruction);
    if depth == 0 || !format.is_simple() {
        return None;
    }
    let (mnemonic, operands) = (&format.mnemonic, function.operands(instruction));
    let of = |operand: Operand| usually(function, operand.value()?, depth - 1);
    match (mnemonic.opcode(), operands) {
        (Opcode::Setp, &[_, left, right]) => usual_comparison(function, mnemonic, left, right),
        (Opcode::Setp, &[_, left, right, other]) => {
            let compared = usual_comparison(function, mnemonic, left, right);
            match mnemonic.modifiers().boolean? {
                BooleanOperation::Or => either(compared, of(other), true),
                BooleanOperation::And => either(compared, of(other), false),
                BooleanOperation::Xor => None,
            }
        }
        (Opcode::Or, &[_, a, b]) => either(of(a), of(b), true),
        (Opcode::And, &[_, a, b]) => either(of(a), of(b), false),
        (Opcode::Not, &[_, a]) => of(a).map(|usual| !usual),
        _ => None,
    }
}

/// What comes of two truths, one of which decides if it is `strong`.
fn either(a: Option<bool>, b: Option<bool>, strong: bool) -> Option<bool> {
    match (a, b) {
        _ if a == Some(strong) || b == Some(strong) => Some(strong),
        (Some(_), Some(_)) => Some(!strong),
        _ => None,
    }
}

/// What a comparison comes to but for special cases.
fn usual_comparison(
    function: &Function,
    mnemonic: &Mnemonic,
    left: Operand,
    right: Operand,
) -> Option<bool> {
    let is_float = mnemonic.first_type()?.is_float();
    match mnemonic.modifiers().comparison? {
        _ if !is_float && !is_bits_of_infinity(function, right) => None,
        // All but what is no number is equal to itself.
        Comparison::Equal | Comparison::EqualUnordered => Some(left == right),
        Comparison::NotEqual | Comparison::NotEqualUnordered => Some(left != right),
        Comparison::NotANumber => Some(false),
        Comparison::Number => Some(true),
        _ if is_float && !is_infinity(function, right) => None,
        Comparison::Greater | Comparison::GreaterEqual | Comparison::GreaterUnordered => {
            Some(false)
        }
        Comparison::Higher | Comparison::HigherSame => Some(false),
        Comparison::Less | Comparison::LessEqual | Comparison::LessUnordered => Some(true),
        Comparison::Lower | Comparison::LowerSame => Some(true),
        _ => None,
    }
}

/// Whether an operand is the number above all others.
fn is_infinity(function: &Function, operand: Operand) -> bool {
    let Operand::Constant(constant) = operand else {
        return false;
    };
    match function.constants()[constant].literal {
        Some(Literal::Single(bits)) => f32::from_bits(bits) == f32::INFINITY,
        Some(Literal::Double(bits)) => f64::from_bits(bits) == f64::INFINITY,
        _ => false,
    }
}

/// Whether an operand is the bits of infinity, or of the largest number there is: of a `f32`, or of the upper half of a `f64`.
fn is_bits_of_infinity(function: &Function, operand: Operand) -> bool {
    let Operand::Constant(constant) = operand else {
        return false;
    };
    let bits = match function.constants()[constant].literal {
        Some(Literal::Integer { bits, .. }) => bits,
        _ => return false,
    };
    let (single, double) = (f32::INFINITY.to_bits(), f64::INFINITY.to_bits() >> 32);
    [single.into(), double]
        .iter()
        .any(|&infinity| bits == infinity || bits.wrapping_add(1) == infinity)
}
