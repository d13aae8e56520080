//! Kernels that are like others: other constants, types, comparisons and operations, operands swapped, instructions copied,
//! removed, and taken from another kernel.
//!
//! A mutant need not be valid: the caller checks and runs it.

use crate::Random;
use oriole_filetests::items;
use std::collections::BTreeMap;
use std::ops::Range;

/// Tries to find an instruction that a mutation can be applied to.
const TRIES: usize = 12;

/// Integers that programs trip over.
const EDGES: [i64; 18] = [
    0,
    1,
    2,
    3,
    4,
    7,
    8,
    15,
    16,
    31,
    32,
    63,
    64,
    255,
    -1,
    -4,
    i32::MAX as i64,
    i32::MIN as i64,
];

/// Words of a mnemonic that may take each other's place.
const ALTERNATIVES: &[&[&str]] = &[
    &["eq", "ne", "lt", "le", "gt", "ge"],
    &["lo", "ls", "hi", "hs", "eq", "ne"],
    &["equ", "neu", "ltu", "leu", "gtu", "geu"],
    &["u32", "s32"],
    &["u64", "s64"],
    &["u16", "s16"],
    &["u8", "s8"],
    &["wrap", "clamp"],
    &["rn", "rz", "rm", "rp"],
];

/// Opcodes that take each other's place, with the type that follows as it is.
const OPCODES: &[&[&str]] = &[
    &["add", "sub", "min", "max"],
    &["and", "or", "xor"],
    &["shl", "shr"],
    &["neg", "not", "abs"],
    &["div", "rem"],
];

/// A statement of PTX in a line, taken apart.
#[derive(Clone, Debug)]
struct Statement {
    guard: String,
    mnemonic: String,
    operands: Vec<String>,
}

impl Statement {
    fn parse(line: &str) -> Option<Statement> {
        let line = line.trim();
        if line.starts_with(['.', '{', '}', '/', '(', ')', '$', '"']) || line.contains("//") {
            return None;
        }
        let line = line.strip_suffix(';')?;
        let (guard, rest) = match line.starts_with('@') {
            true => line.split_once(' ')?,
            false => ("", line),
        };
        let (mnemonic, operands) = rest.trim().split_once(' ').unwrap_or((rest.trim(), ""));
        let is_mnemonic = mnemonic.starts_with(|first: char| first.is_ascii_lowercase());
        is_mnemonic.then(|| Statement {
            guard: guard.to_owned(),
            mnemonic: mnemonic.to_owned(),
            operands: items(operands).into_iter().map(str::to_owned).collect(),
        })
    }

    fn text(&self) -> String {
        let guard = match self.guard.as_str() {
            "" => String::new(),
            guard => format!("{guard} "),
        };
        let operands = self.operands.join(", ");
        format!("\t{guard}{} {operands};", self.mnemonic).replace(" ;", ";")
    }

    /// Whether it computes a value from values alone.
    fn is_plain(&self) -> bool {
        let opcode = self.mnemonic.split('.').next().unwrap_or_default();
        let is_other = matches!(
            opcode,
            "bra"
                | "brx"
                | "call"
                | "ret"
                | "exit"
                | "trap"
                | "bar"
                | "barrier"
                | "ld"
                | "st"
                | "shfl"
                | "vote"
        );
        !is_other && !self.operands.iter().any(|own| own.contains(['[', '(']))
    }
}

/// The integer that an operand is.
fn integer(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text),
    };
    let digits = digits.trim_end_matches('U');
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()? as i64,
        None => digits.parse::<u64>().ok()? as i64,
    };
    Some(value.wrapping_mul(sign))
}

/// A module, its functions and their registers.
struct Text {
    lines: Vec<String>,
    /// The body of each function.
    bodies: Vec<Range<usize>>,
}

impl Text {
    fn of(module: &str) -> Text {
        let lines: Vec<String> = module.lines().map(str::to_owned).collect();
        let mut bodies = Vec::new();
        let mut start = None;
        for (at, line) in lines.iter().enumerate() {
            match line.as_str() {
                "{" => start = Some(at + 1),
                "}" => bodies.extend(start.take().map(|start| start..at)),
                _ => {}
            }
        }
        Text { lines, bodies }
    }

    /// The registers that a body mentions, by type.
    fn registers(&self, body: Range<usize>) -> BTreeMap<&str, Vec<&str>> {
        let mut stems: BTreeMap<&str, &str> = BTreeMap::new();
        let mut names: BTreeMap<&str, &str> = BTreeMap::new();
        let mut found: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in &self.lines[body] {
            let line = line.trim();
            if let Some(rest) = line.strip_prefix(".reg .") {
                let Some((kind, list)) = rest.trim_end_matches(';').split_once(' ') else {
                    continue;
                };
                for name in list.split(',').map(str::trim) {
                    match name.split_once('<') {
                        Some((stem, _)) => stems.insert(stem, kind),
                        None => names.insert(name, kind),
                    };
                }
                continue;
            }
            for word in words(line) {
                let stem = word.trim_end_matches(|last: char| last.is_ascii_digit());
                if let Some(kind) = names.get(word).or_else(|| stems.get(stem)) {
                    let list = found.entry(kind).or_default();
                    if !list.contains(&word) {
                        list.push(word);
                    }
                }
            }
        }
        found
    }

    /// The type of a register, and all registers of this type.
    fn alike<'text>(
        registers: &'text BTreeMap<&'text str, Vec<&'text str>>,
        name: &str,
    ) -> Option<(&'text str, &'text [&'text str])> {
        let mut lists = registers.iter();
        let found = lists.find(|(_, list)| list.contains(&name));
        found.map(|(kind, list)| (*kind, &list[..]))
    }
}

/// Names of registers in a line.
fn words(line: &str) -> impl Iterator<Item = &str> {
    let is_name = |byte: char| byte.is_ascii_alphanumeric() || matches!(byte, '_' | '$' | '%');
    let all = line.split(move |byte| !is_name(byte));
    all.filter(|word| word.starts_with('%') && word.len() > 1)
}

/// A module like another, with an instruction or several of a third one perhaps. Both are output of `oriole::print`.
pub fn mutate(module: &str, other: &str, random: &mut Random) -> String {
    let mut text = Text::of(module);
    let other = Text::of(other);
    for _ in 0..1 + random.below(3) {
        for _ in 0..TRIES {
            if let Some(changed) = change(&text, &other, random) {
                text = changed;
                break;
            }
        }
    }
    text.lines.join("\n") + "\n"
}

/// One change somewhere, if what was drawn can be changed.
fn change(text: &Text, other: &Text, random: &mut Random) -> Option<Text> {
    if text.bodies.is_empty() {
        return None;
    }
    let body = random.pick(&text.bodies).clone();
    if body.is_empty() {
        return None;
    }
    let at = body.start + random.below(body.len());
    let mut statement = Statement::parse(&text.lines[at])?;
    let registers = text.registers(body.clone());
    let mut lines = text.lines.clone();
    match random.below(16) {
        0..=4 => statement = with_constant(statement, random)?,
        5..=7 => statement = with_mnemonic(statement, random)?,
        8 => statement = with_swap(statement, random)?,
        9 | 10 => statement = with_register(statement, &registers, random)?,
        11 => {
            // Once more, farther down.
            let to = at + 1 + random.below(body.end - at);
            lines.insert(to.min(body.end), statement.text());
            return Some(Text::of(&lines.join("\n")));
        }
        12 if statement.is_plain() => {
            lines.remove(at);
            return Some(Text::of(&lines.join("\n")));
        }
        13 => statement = with_guard(statement, &registers, random)?,
        14 | 15 => {
            let spliced = splice(other, &registers, random)?;
            lines.insert(at, spliced.text());
            return Some(Text::of(&lines.join("\n")));
        }
        _ => return None,
    }
    lines[at] = statement.text();
    Some(Text::of(&lines.join("\n")))
}

fn with_constant(mut statement: Statement, random: &mut Random) -> Option<Statement> {
    let index = random.below(statement.operands.len());
    let operand = statement.operands.get_mut(index)?;
    let drawn = |old: i64, random: &mut Random| match random.below(6) {
        0 => old.wrapping_add(1),
        1 => old.wrapping_sub(1),
        2 => old.wrapping_mul(2),
        3 => old.wrapping_neg(),
        4 => random.below(64) as i64,
        _ => *random.pick(&EDGES),
    };
    if let Some(old) = integer(operand) {
        *operand = drawn(old, random).to_string();
        return Some(statement);
    }
    if statement.mnemonic.contains(".param") {
        return None;
    }
    // An offset keeps its alignment.
    let address = operand.strip_prefix('[')?.strip_suffix(']')?;
    let (base, offset) = address.split_once('+').unwrap_or((address, "0"));
    let step = *random.pick(&[4, 8, 16, -4, -8, -16]);
    let offset = integer(offset)? + step;
    *operand = format!("[{base}+{offset}]");
    Some(statement)
}

fn with_mnemonic(mut statement: Statement, random: &mut Random) -> Option<Statement> {
    let mut parts: Vec<&str> = statement.mnemonic.split('.').collect();
    let at = random.below(parts.len());
    let lists = if at == 0 { OPCODES } else { ALTERNATIVES };
    let list = lists.iter().find(|list| list.contains(&parts[at]))?;
    parts[at] = *random.pick(list);
    statement.mnemonic = parts.join(".");
    Some(statement)
}

fn with_swap(mut statement: Statement, random: &mut Random) -> Option<Statement> {
    let count = statement.operands.len();
    if count < 3 || !statement.is_plain() {
        return None;
    }
    let first = 1 + random.below(count - 1);
    let second = 1 + random.below(count - 1);
    statement.operands.swap(first, second);
    (first != second).then_some(statement)
}

fn with_register(
    mut statement: Statement,
    registers: &BTreeMap<&str, Vec<&str>>,
    random: &mut Random,
) -> Option<Statement> {
    let index = random.below(statement.operands.len());
    let operand = statement.operands.get(index)?;
    let (kind, alike) = Text::alike(registers, operand)?;
    let is_source = index > 0 && statement.is_plain();
    let new = match is_source && kind != "pred" && random.one_in(3) {
        true => random.pick(&EDGES).to_string(),
        false => (*random.pick(alike)).to_owned(),
    };
    if new == *operand {
        return None;
    }
    statement.operands[index] = new;
    Some(statement)
}

fn with_guard(
    mut statement: Statement,
    registers: &BTreeMap<&str, Vec<&str>>,
    random: &mut Random,
) -> Option<Statement> {
    statement.guard = match statement.guard.as_str() {
        "" => {
            let predicates = registers.get("pred")?;
            let sign = *random.pick(&["", "!"]);
            format!("@{sign}{}", random.pick(predicates))
        }
        guard => match guard.strip_prefix("@!") {
            Some(predicate) => format!("@{predicate}"),
            None => guard.replace('@', "@!"),
        },
    };
    Some(statement)
}

/// An instruction of another module with registers of this one.
fn splice(
    other: &Text,
    registers: &BTreeMap<&str, Vec<&str>>,
    random: &mut Random,
) -> Option<Statement> {
    if other.bodies.is_empty() {
        return None;
    }
    let body = random.pick(&other.bodies).clone();
    if body.is_empty() {
        return None;
    }
    let at = body.start + random.below(body.len());
    let mut statement = Statement::parse(&other.lines[at])?;
    if !statement.is_plain() {
        return None;
    }
    statement.guard.clear();
    let theirs = other.registers(body);
    for operand in &mut statement.operands {
        let Some((kind, _)) = Text::alike(&theirs, operand) else {
            continue;
        };
        *operand = (*random.pick(registers.get(kind)?)).to_owned();
    }
    let is_foreign = words(&statement.operands.join(" ")).any(|word| {
        Text::alike(registers, word).is_none()
            && !word.contains('.')
            && !matches!(word, "%tid" | "%ntid" | "%ctaid" | "%nctaid" | "%laneid")
    });
    (!is_foreign).then_some(statement)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "\
.visible .entry k(
\t.param .u64 out
)
{
\t.reg .b32 %r<4>;
\t.reg .b64 %rd<2>;
\t.reg .pred %p<2>;
\tld.param.u64 %rd1, [out];
\tmov.u32 %r1, %tid.x;
\tsetp.lt.u32 %p1, %r1, 7;
\t@%p1 add.s32 %r2, %r1, 5;
\tst.global.u32 [%rd1+4], %r2;
\tret;
}
";

    #[test]
    fn every_kind_of_mutation_occurs() {
        let mut seen = std::collections::BTreeSet::new();
        for seed in 0..2000 {
            let mutant = mutate(KERNEL, KERNEL, &mut Random::new(seed));
            for (name, text) in [
                ("constant", "%r1, 8;"),
                ("offset", "[%rd1+8]"),
                ("comparison", "setp.ge.u32"),
                ("sign", "setp.lt.s32"),
                ("opcode", "@%p1 sub.s32"),
                ("guard", "@!%p1 add.s32"),
                ("new guard", "@%p1 st.global"),
                ("swap", "%r2, 5, %r1;"),
                ("register", "[%rd1+4], %r1;"),
            ] {
                if mutant.contains(text) {
                    seen.insert(name);
                }
            }
            let lines = |text: &str| text.lines().count();
            if lines(&mutant) > lines(KERNEL) {
                seen.insert("more");
            }
            if lines(&mutant) < lines(KERNEL) {
                seen.insert("less");
            }
        }
        assert_eq!(seen.len(), 11, "{seen:?}");
    }

    #[test]
    fn operands_are_split_outside_of_brackets() {
        let statement = Statement::parse("\t@!%p1 ld.v2.u32 {%r1, %r2}, [%rd1+8];").unwrap();
        assert_eq!(statement.operands, ["{%r1, %r2}", "[%rd1+8]"]);
        assert_eq!(statement.text(), "\t@!%p1 ld.v2.u32 {%r1, %r2}, [%rd1+8];");
        assert!(Statement::parse("\t.reg .b32 %r1;").is_none());
        assert!(Statement::parse("label:").is_none());
    }
}
