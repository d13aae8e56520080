//! Expressions, ranges and assumptions as text.

use super::exits::Assumption;
use super::expression::{Expression, Expressions, Kind, Leaf};
use super::{Query, Range, Relation};
use oriole_ir::{Block, Function, Symbol, Value};

/// What values, symbols and loops are called.
pub struct Names<'names> {
    /// The text that names of a function refer to.
    pub text: &'names str,
    /// The name of a loop, by its header.
    pub header: &'names dyn Fn(Block) -> String,
}

/// The most nodes of an expression that are printed.
const MOST_NODES: u32 = 200;

impl Query<'_> {
    /// An expression as text.
    pub fn print(&self, names: &Names<'_>, expression: Expression) -> String {
        print(self.function, &self.state.expressions, names, expression)
    }

    /// An assumption as text.
    pub fn print_assumption(&self, names: &Names<'_>, assumption: &Assumption) -> String {
        match *assumption {
            Assumption::Compare(relation, left, right) => format!(
                "{} {} {}",
                self.print(names, left),
                relation_text(relation),
                self.print(names, right)
            ),
            Assumption::Multiple(expression, factor) => {
                format!(
                    "{} is a multiple of {factor}",
                    self.print(names, expression)
                )
            }
            Assumption::NoWrap(expression, signed) => format!(
                "{} does not wrap ({})",
                self.print(names, expression),
                if signed { "signed" } else { "unsigned" }
            ),
        }
    }
}

impl std::fmt::Display for Range {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let full = Range::full(self.bits());
        let zeros = self.trailing_zeros();
        let mut parts: Vec<String> = Vec::new();
        if let Some(value) = self.as_constant() {
            return write!(formatter, "{value}");
        }
        let (low, high) = (self.unsigned.low, self.unsigned.high);
        if (low, high) != (full.unsigned.low, full.unsigned.high) {
            parts.push(format!("u[{low}, {high}]"));
        }
        let same = self.signed.low >= 0 && self.signed.low as u64 == low;
        let same = same && self.signed.high as u64 == high;
        if !same && self.signed != full.signed {
            parts.push(format!("s[{}, {}]", self.signed.low, self.signed.high));
        }
        if zeros > 0 && zeros < 64 {
            parts.push(format!("multiple of {}", 1u64 << zeros));
        }
        match parts.is_empty() {
            true => formatter.write_str("any"),
            false => formatter.write_str(&parts.join(" ")),
        }
    }
}

/// A relation as text.
pub(super) fn relation_text(relation: Relation) -> &'static str {
    match relation {
        Relation::Equal => "==",
        Relation::NotEqual => "!=",
        Relation::UnsignedLess => "<u",
        Relation::UnsignedLessEqual => "<=u",
        Relation::SignedLess => "<s",
        Relation::SignedLessEqual => "<=s",
    }
}

enum Piece {
    Node(Expression),
    Text(&'static str),
    Owned(String),
}

fn print(
    function: &Function,
    expressions: &Expressions,
    names: &Names<'_>,
    root: Expression,
) -> String {
    if expressions.size(root) > MOST_NODES {
        return format!("({} nodes)", expressions.size(root));
    }
    let mut text = String::new();
    let mut stack = vec![Piece::Node(root)];
    while let Some(piece) = stack.pop() {
        match piece {
            Piece::Text(part) => text.push_str(part),
            Piece::Owned(part) => text.push_str(&part),
            Piece::Node(expression) => {
                let mut pieces = pieces(function, expressions, names, expression);
                pieces.reverse();
                stack.append(&mut pieces);
            }
        }
    }
    text
}

fn pieces(
    function: &Function,
    expressions: &Expressions,
    names: &Names<'_>,
    expression: Expression,
) -> Vec<Piece> {
    let bits = expressions.bits(expression);
    let operands = expressions.operands(expression);
    let between = |separator: &'static str| -> Vec<Piece> {
        let mut pieces = vec![Piece::Text("(")];
        for (index, &operand) in operands.iter().enumerate() {
            if index > 0 {
                pieces.push(Piece::Text(separator));
            }
            pieces.push(Piece::Node(operand));
        }
        pieces.push(Piece::Text(")"));
        pieces
    };
    let cast = |word: &str| {
        vec![
            Piece::Owned(format!("({word} ")),
            Piece::Node(operands[0]),
            Piece::Owned(format!(" to i{bits})")),
        ]
    };
    match expressions.kind(expression) {
        Kind::Constant => {
            let value = expressions.as_signed(expression).expect("a number");
            vec![Piece::Owned(value.to_string())]
        }
        Kind::Truncate => cast("trunc"),
        Kind::ZeroExtend => cast("zext"),
        Kind::SignExtend => cast("sext"),
        Kind::AddressCast => {
            let (space, to) = expressions.address_cast(expression).expect("a cast");
            let word = if to { "to" } else { "from" };
            vec![
                Piece::Owned(format!("(cvta.{word}.{} ", space.text())),
                Piece::Node(operands[0]),
                Piece::Text(")"),
            ]
        }
        Kind::Add => between(" + "),
        Kind::Multiply => between(" * "),
        Kind::UnsignedDivide => between(" /u "),
        Kind::SignedMax => between(" smax "),
        Kind::UnsignedMax => between(" umax "),
        Kind::SignedMin => between(" smin "),
        Kind::UnsignedMin => between(" umin "),
        Kind::SequentialUnsignedMin => between(" umin_seq "),
        Kind::Recurrence => {
            let mut pieces = between(",+,");
            let end = pieces.len() - 1;
            pieces[0] = Piece::Text("{");
            let header = expressions.header(expression).expect("a recurrence");
            pieces[end] = Piece::Owned(format!("}}<{}>", (names.header)(header)));
            pieces
        }
        Kind::Start | Kind::Special | Kind::Symbol | Kind::Parameter | Kind::Unknown => {
            let text = match expressions.as_leaf(expression) {
                Some(Leaf::Value(value)) => value_name(function, names, value),
                Some(Leaf::Start(value)) => {
                    format!("start({})", value_name(function, names, value))
                }
                Some(Leaf::Special(special)) => special.to_string(),
                Some(Leaf::Symbol(symbol)) => symbol_name(function, names, symbol),
                Some(Leaf::Parameter(symbol, 0)) => {
                    format!("[{}]", symbol_name(function, names, symbol))
                }
                Some(Leaf::Parameter(symbol, offset)) => {
                    format!("[{}+{offset}]", symbol_name(function, names, symbol))
                }
                None => String::new(),
            };
            vec![Piece::Owned(text)]
        }
        Kind::CouldNotCompute => vec![Piece::Text("***could not compute***")],
    }
}

/// The register a value came from, or its number.
fn value_name(function: &Function, names: &Names<'_>, value: Value) -> String {
    let name = function.values()[value].name.expand();
    let register = name.map(|name| function.registers()[name].name);
    match register.and_then(|name| names.text.get(name.span().range())) {
        Some(name) if !name.is_empty() => name.to_owned(),
        _ => value.to_string(),
    }
}

fn symbol_name(function: &Function, names: &Names<'_>, symbol: Symbol) -> String {
    let span = function.symbols()[symbol].name.span();
    names.text.get(span.range()).unwrap_or("?").to_owned()
}
