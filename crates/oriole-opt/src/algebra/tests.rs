//! Every rule against what the instructions compute: all operands of 8 bits, edges and random ones of 16, 32 and 64.
//!
//! A case is a few instructions in which types, widths and constants are left open. It is read, run, rewritten, and run again;
//! what it stores must be the same for all operands, and what leads there must not be longer. PTX has no arithmetic on
//! 8 bits, but the table of instructions, the rules and `evaluate` are the same for every width.

mod cases;
mod choices;

use super::rules;
use crate::{Context, Fuel, Knobs, Statistics, run, select};
use oriole_analysis::Analyses;
use oriole_ir::{
    ConstantData, Definition, Formats, Function, FunctionBuilder, FunctionKind, Instruction,
    Operand, ShapeKind, ShapeNode, Value, ValueData,
};
use oriole_isa::{Mnemonic, Opcode, Role, ScalarType, evaluate, evaluate_unpack, extend};
use oriole_syntax::literal::{self, Literal};
use oriole_syntax::tree::{Guard, Prefix, Text};
use std::collections::{BTreeMap, BTreeSet};

/// The instructions of a case at a width with constants in place, between loads of the inputs and a store.
fn case_text(body: &str, width: u32, constants: [u64; 2]) -> String {
    let output = ["%w9", "%n9", "%x9", "%p9"]
        .into_iter()
        .find(|name| body.contains(name))
        .expect("something comes out");
    let kind = match output {
        "%w9" => "b$d",
        "%n9" => "b$h",
        "%x9" => "b$w",
        _ => "pred",
    };
    let text = format!(
        "ld.volatile.b$w %x1, 0; ld.volatile.b$w %x2, 0; ld.volatile.b32 %c1, 0; ld.volatile.pred %p1, 0; {body} st.{kind} 0, {output}; ret"
    );
    text.replace("$w", &width.to_string())
        .replace("$d", &(2 * width).to_string())
        .replace("$h", &(width / 2).to_string())
        .replace("$1", &constants[0].to_string())
        .replace("$2", &constants[1].to_string())
}

/// Straight code in SSA form. Registers are typed by their first letter.
fn function(text: &str, width: u32) -> Function {
    let mut builder = FunctionBuilder::new(Text::default(), FunctionKind::Entry, Formats::new());
    let block = builder.add_block(None);
    let mut current: BTreeMap<String, Value> = BTreeMap::new();
    for statement in text.split(';').map(str::trim) {
        let (guard, statement) = match statement.strip_prefix('@') {
            Some(rest) => {
                let (guard, rest) = rest.split_once(' ').expect("a guard and an instruction");
                match guard.strip_prefix('!') {
                    Some(guard) => (Some((guard, Guard::IfNot)), rest),
                    None => (Some((guard, Guard::If)), rest),
                }
            }
            None => (None, statement),
        };
        let (mnemonic, operands) = statement.split_once(' ').unwrap_or((statement, ""));
        let mut shape = Vec::new();
        let mut leaves = Vec::new();
        // The groups here have two members: a vector's, or the address of a load or store.
        let group = |kind, size| ShapeNode {
            kind,
            size,
            ..ShapeNode::LEAF
        };
        for word in operands
            .split(',')
            .map(str::trim)
            .filter(|word| !word.is_empty())
        {
            if word.starts_with('{') {
                shape.push(group(ShapeKind::Vector, 3));
            } else if word == "0" && matches!(&mnemonic[..3], "ld." | "st.") {
                shape.push(group(ShapeKind::Address, 2));
            }
            shape.push(ShapeNode::LEAF);
            leaves.push(word.trim_matches(['{', '}']).to_owned());
        }
        let kind = guard.map_or(Guard::None, |(_, kind)| kind);
        let format = builder
            .formats_mut()
            .intern(mnemonic, kind, shape.iter().copied());
        let roles: Vec<Role> = builder
            .function()
            .format_data(format)
            .leaves
            .iter()
            .map(|leaf| leaf.role)
            .collect();
        let defined: Vec<String> = leaves
            .iter()
            .zip(&roles)
            .filter(|(_, role)| role.defines())
            .map(|(name, _)| name.clone())
            .collect();
        let mut operands = Vec::new();
        if let Some((name, _)) = guard {
            operands.push(Operand::Value(current[name]));
            operands.extend(defined.iter().map(|name| Operand::Value(current[name])));
        }
        let mut results = 0;
        for (name, role) in leaves.iter().zip(&roles) {
            operands.push(if role.defines() {
                results += 1;
                Operand::Result(results - 1)
            } else if let Some(&value) = current.get(name) {
                Operand::Value(value)
            } else {
                let literal = literal::evaluate(name).expect("a register or a number");
                Operand::Constant(builder.constant(ConstantData {
                    literal: Some(literal),
                    text: None,
                }))
            });
        }
        let instruction = builder.append(block, format, &operands, u32::MAX);
        for (index, name) in defined.into_iter().enumerate() {
            let scalar_type = match &name[..2] {
                "%x" => format!("b{width}"),
                "%w" => format!("b{}", 2 * width),
                "%n" => format!("b{}", width / 2),
                "%c" => "b32".to_owned(),
                _ => "pred".to_owned(),
            };
            let value = builder.add_value(ValueData {
                definition: Definition::Instruction(instruction),
                name: None.into(),
                scalar_type: ScalarType::from_text(&scalar_type).expect("a type"),
            });
            if index == 0 {
                builder.set_results(instruction, value, results);
            }
            current.insert(name, value);
        }
    }
    builder.finish()
}

/// An instruction of straight code, ready to run.
struct Step<'f> {
    mnemonic: &'f Mnemonic,
    sources: Vec<Source>,
    results: Vec<Value>,
    /// The type of the only result, and the width of its register.
    given: Option<(ScalarType, u32)>,
    guard: Option<(Value, bool)>,
    otherwise: Vec<Value>,
}

enum Source {
    Value(Value),
    /// The opposite of a predicate.
    Negated(Value),
    Constant(u128),
}

fn steps(function: &Function) -> Vec<Step<'_>> {
    let all = function.instructions_of(function.entry());
    all.map(|instruction| step(function, instruction)).collect()
}

fn step(function: &Function, instruction: Instruction) -> Step<'_> {
    let format = function.format(instruction);
    let mut nodes = format
        .shape
        .iter()
        .filter(|node| node.kind == ShapeKind::Leaf);
    let mut sources = Vec::new();
    for (leaf, &operand) in format.leaves.iter().zip(function.leaves(instruction)) {
        let node = nodes.next().expect("a node for each leaf");
        if leaf.in_address || !matches!(leaf.role, Role::Use | Role::Constant) {
            continue;
        }
        let negated = node.prefix == Prefix::Not;
        assert!(negated || node.prefix == Prefix::None);
        let wanted = format
            .mnemonic
            .operand_type(usize::from(leaf.operand), format.operand_count);
        sources.push(match operand {
            Operand::Value(value) if negated => Source::Negated(value),
            Operand::Value(value) => Source::Value(value),
            Operand::Constant(constant) => {
                let literal = function.constants()[constant].literal;
                Source::Constant(match literal.expect("a number") {
                    Literal::Integer { bits, .. } if wanted == Some(ScalarType::Pred) => {
                        u128::from(bits != 0)
                    }
                    Literal::Integer { bits, .. } => {
                        let width = wanted.map_or(64, ScalarType::bits);
                        u128::from(bits & (u64::MAX >> (64 - width)))
                    }
                    Literal::Single(bits) => u128::from(bits),
                    Literal::Double(bits) => u128::from(bits),
                })
            }
            _ => panic!("an operand that cannot be run"),
        });
    }
    let results: Vec<Value> = function.results(instruction).collect();
    let value = |operand: &Operand| operand.value().expect("a value");
    Step {
        mnemonic: &format.mnemonic,
        sources,
        given: match *results {
            [result] => format
                .mnemonic
                .operand_type(0, format.operand_count)
                .map(|given| (given, function.values()[result].scalar_type.bits())),
            _ => None,
        },
        results,
        guard: function
            .guard(instruction)
            .map(|guard| (value(&guard), format.guard == Guard::If)),
        otherwise: function.otherwise(instruction).iter().map(value).collect(),
    }
}

/// Runs straight code. What it stores, or nothing where a result is not certain.
fn interpret(steps: &[Step<'_>], inputs: &[u128], values: &mut [u128]) -> Option<u128> {
    let mut inputs = inputs.iter();
    for step in steps {
        let mut sources = [0; 8];
        for (source, slot) in step.sources.iter().zip(&mut sources) {
            *slot = match *source {
                Source::Value(value) => values[value.index()],
                Source::Negated(value) => values[value.index()] ^ 1,
                Source::Constant(bits) => bits,
            };
        }
        let sources = &sources[..step.sources.len()];
        match step.mnemonic.opcode() {
            Opcode::St => return Some(sources[0]),
            Opcode::Ld => {
                let input = *inputs.next()?;
                values[step.results[0].index()] = match step.given {
                    Some((given, held)) if given != ScalarType::Pred => {
                        extend(input & (u128::MAX >> (128 - given.bits())), given, held)
                    }
                    _ => input,
                };
                continue;
            }
            _ => {}
        }
        if let Some((guard, wanted)) = step.guard
            && (values[guard.index()] != 0) != wanted
        {
            for (result, other) in step.results.iter().zip(&step.otherwise) {
                values[result.index()] = values[other.index()];
            }
            continue;
        }
        if step.mnemonic.opcode() == Opcode::Cvta {
            values[step.results[0].index()] = sources[0];
            continue;
        }
        let outputs = match step.results.len() {
            1 => evaluate(step.mnemonic, sources)?,
            count => evaluate_unpack(step.mnemonic, sources[0], count)?,
        };
        for (result, &output) in step.results.iter().zip(outputs.values()) {
            values[result.index()] = match step.given {
                Some((given, held)) => extend(output, given, held),
                None => output,
            };
        }
    }
    None
}

/// How many instructions lead to what is stored.
fn needed(function: &Function) -> usize {
    let mut values = BTreeSet::new();
    let order: Vec<Instruction> = function.instructions_of(function.entry()).collect();
    let mut count = 0;
    for &instruction in order.iter().rev() {
        let stores = function.format(instruction).mnemonic.opcode() == Opcode::St;
        let read = function
            .results(instruction)
            .any(|result| values.contains(&result));
        if stores || read {
            count += 1;
            values.extend(function.uses(instruction));
        }
    }
    count
}

struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }
}

fn edges(width: u32) -> Vec<u64> {
    let all = u64::MAX >> (64 - width);
    let top = 1u64 << (width - 1);
    let width = u64::from(width);
    vec![
        0,
        1,
        2,
        3,
        8,
        width - 2,
        width - 1,
        width,
        all,
        top,
        top - 1,
        all - 1,
        all & !7,
        all & 0xFF,
    ]
}

/// Operands: all of them at 8 bits (of the second, where constants vary too, the edges), else edges and random ones.
fn operands(width: u32, two: bool, vary: bool, random: &mut Random) -> Vec<[u64; 2]> {
    let mut first: Vec<u64> = edges(width);
    if width == 8 {
        first = (0..256).collect();
    } else {
        let floats: [u64; 6] = [
            0x7FC0_0001,
            0xFF80_0000,
            0x7F80_0001,
            0x8000_0001,
            0x7FF8_0000_0000_0001,
            0x7E01,
        ];
        first.extend(floats.iter().map(|bits| bits & (u64::MAX >> (64 - width))));
        first.extend((0..16).map(|_| random.next() & (u64::MAX >> (64 - width))));
    }
    let second = match (two, width == 8 && !vary) {
        (false, _) => vec![5],
        (true, true) => (0..256).collect(),
        (true, false) => edges(width),
    };
    first
        .iter()
        .flat_map(|&a| second.iter().map(move |&b| [a, b]))
        .collect()
}

fn simplify(function: &mut Function, passes: &[&str]) -> Statistics {
    let mut statistics = Statistics::default();
    let knobs = Knobs::default();
    let mut fuel = Fuel::unlimited();
    let mut context = Context {
        knobs: &knobs,
        fuel: &mut fuel,
        statistics: &mut statistics,
        remarks: None,
        hooks: &crate::Hooks::default(),
        environment: &oriole_ir::Environment::default(),
        callees: &crate::Callees::default(),
    };
    let phases = select(passes.iter().copied()).expect("passes");
    run(function, &mut Analyses::new(), &phases, &mut context, None);
    statistics
}

/// Runs a case at one width; the counters that went up.
fn check(body: &str, width: u32, constants: [u64; 2], random: &mut Random) -> Vec<&'static str> {
    let text = case_text(body, width, constants);
    let before = function(&text, width);
    let mut after = function(&text, width);
    let statistics = simplify(&mut after, &["algebraic-simplification"]);
    assert!(needed(&after) <= needed(&before), "longer:\n{text}");
    let two = body.contains("%x2");
    let vary = body.contains('$') && (body.contains("$1") || body.contains("$2"));
    let amounts: &[u64] = match body.contains("%c1") {
        true => &[0, 3, 7, 8, 31, 32, 64, 0xFFFF_FFFF],
        false => &[0],
    };
    let predicates: &[u64] = if body.contains("%p1") { &[0, 1] } else { &[0] };
    let (before, after) = (steps(&before), steps(&after));
    let mut values = vec![0; 64];
    for [a, b] in operands(width, two, vary, random) {
        for &amount in amounts {
            for &predicate in predicates {
                // What a case loads itself is the first operand.
                let inputs = [a, b, amount, predicate, a].map(u128::from);
                let Some(expected) = interpret(&before, &inputs, &mut values) else {
                    continue;
                };
                assert_eq!(
                    interpret(&after, &inputs, &mut values),
                    Some(expected),
                    "inputs {inputs:x?} of\n{text}"
                );
            }
        }
    }
    statistics
        .iter()
        .filter_map(|(name, _)| name.strip_prefix("algebraic-simplification."))
        .collect()
}

#[test]
fn rules_keep_what_is_computed() {
    let mut random = Random(0x9E37_79B9_7F4A_7C15);
    let mut fired_ever: BTreeSet<&'static str> = BTreeSet::new();
    let mut failures = Vec::new();
    for &(rule, widths, body) in cases::CASES.iter().chain(choices::CASES) {
        for &width in widths {
            let mut fired = BTreeSet::new();
            let choices = edges(width);
            let none = [0u64];
            let first: &[u64] = if body.contains("$1") { &choices } else { &none };
            let second: &[u64] = if body.contains("$2") { &choices } else { &none };
            for (i, &one) in first.iter().enumerate() {
                for (j, &two) in second.iter().enumerate() {
                    // Fewer pairs where operands are a sample anyway, or many.
                    let sampled = width != 8 || body.contains("%x2");
                    if second.len() > 1 && sampled && (i * 5 + j) % 5 != 0 {
                        continue;
                    }
                    fired.extend(check(body, width, [one, two], &mut random));
                }
            }
            let expected = match rule {
                "" => fired.is_empty(),
                rule => fired.contains(rule),
            };
            if !expected {
                failures.push(format!("`{rule}`: {fired:?} at {width} on {body}"));
            }
            fired_ever.extend(fired);
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    for rule in rules::ALL {
        let name = rule.counter.strip_prefix("algebraic-simplification.");
        assert!(
            name.is_some_and(|name| fired_ever.contains(name)),
            "nothing fires {}",
            rule.counter
        );
    }
}

/// Straight code at random, made of what rules look for: few registers, so that definitions meet.
fn random_text(random: &mut Random) -> String {
    let mut text = String::new();
    let pick = |random: &mut Random, words: &[&str]| -> String {
        words[random.next() as usize % words.len()].to_owned()
    };
    for _ in 0..24 {
        let register = |random: &mut Random, letter: char, constants: bool| -> String {
            if constants && random.next().is_multiple_of(3) {
                let constants = [
                    "0", "1", "2", "4", "5", "31", "16", "255", "-1", "-8", "65535",
                ];
                return constants[random.next() as usize % constants.len()].to_owned();
            }
            format!("%{letter}{}", 1 + random.next() % 4)
        };
        let (x, a, b) = (
            register(random, 'x', false),
            register(random, 'x', true),
            register(random, 'x', true),
        );
        let v = register(random, 'x', false);
        let w = register(random, 'w', false);
        let (wa, wb) = (register(random, 'w', true), register(random, 'w', true));
        let (n, na, nv) = (
            register(random, 'n', false),
            register(random, 'n', true),
            register(random, 'n', false),
        );
        let (p, q, r) = (
            register(random, 'p', false),
            register(random, 'p', false),
            register(random, 'p', false),
        );
        let amount = pick(
            random,
            &["0", "1", "2", "3", "8", "16", "31", "32", "40", "%c1"],
        );
        let compare = pick(random, &["eq", "ne", "lt", "le", "gt", "ge"]);
        let sign = pick(random, &["s", "u"]);
        let logic = pick(random, &["and", "or", "xor"]);
        let sum = pick(random, &["add", "sub"]);
        let statement = match random.next() % 26 {
            0 | 1 => format!("{sum}.{sign}32 {x}, {a}, {b};"),
            2 => format!("{logic}.b32 {x}, {a}, {b};"),
            3 => format!("mul.lo.{sign}32 {x}, {a}, {b};"),
            4 => format!("shl.b32 {x}, {v}, {amount};"),
            5 => format!("shr.{sign}32 {x}, {v}, {amount};"),
            6 => format!("mad.lo.{sign}32 {x}, {a}, {b}, {v};"),
            7 => format!("cvt.{sign}64.{sign}32 {w}, {v};"),
            8 => format!("cvt.u32.u64 {x}, {};", register(random, 'w', false)),
            9 => format!("{sum}.{sign}64 {w}, {wa}, {wb};"),
            10 => format!("shl.b64 {w}, {}, {amount};", register(random, 'w', false)),
            11 => format!("mul.wide.{sign}32 {w}, {a}, {b};"),
            12 => format!("mad.wide.{sign}32 {w}, {a}, {b}, {wa};"),
            13 => format!("setp.{compare}.{sign}32 {p}, {a}, {b};"),
            14 => format!("setp.{compare}.{sign}64 {p}, {wa}, {wb};"),
            15 => format!("not.pred {p}, {q};"),
            16 => format!("{logic}.pred {p}, {q}, {r};"),
            17 if random.next().is_multiple_of(2) => {
                let other = register(random, 'x', true);
                let (yes, no) = match random.next() % 2 {
                    0 => (&v, &other),
                    _ => (&other, &v),
                };
                format!(
                    "setp.{compare}.{sign}32 {p}, {v}, {other}; selp.b32 {x}, {yes}, {no}, {p};"
                )
            }
            17 => format!("selp.b32 {x}, {a}, {b}, {p};"),
            18 => format!("selp.b16 {n}, {na}, 1, {p};"),
            19 => format!("cvt.{sign}32.{sign}16 {x}, {nv};"),
            20 => format!("cvt.u16.u32 {n}, {v};"),
            21 => format!("{logic}.b16 {n}, {nv}, {na};"),
            22 => format!("@{p} {sum}.s32 {x}, {a}, {b};"),
            23 => match random.next() % 6 {
                0 => format!("@{p} mov.pred {q}, {r};"),
                1 => format!("@!{p} mov.pred {q}, {};", random.next() % 2),
                2 => format!(
                    "mov.pred {q}, {}; @{p} setp.{compare}.{sign}32 {q}, {v}, {a};",
                    random.next() % 2
                ),
                3 => format!("@!{p} setp.{compare}.{sign}32 {p}, {v}, {a};"),
                _ => format!("@!{p} mov.b32 {x}, {a};"),
            },
            24 => format!("{}.b32 {x}, {v};", pick(random, &["not", "mov"])),
            _ => format!(
                "{}.{sign}32 {x}, {a}, {b};",
                pick(random, &["div", "rem", "min", "max"])
            ),
        };
        text.push_str(&statement);
        text.push(' ');
    }
    let last = random.next();
    match last % 3 {
        0 => text.push_str("xor.b32 %x9, %x1, %x2;"),
        1 => text.push_str("cvt.u32.u64 %x9, %w1; selp.b32 %x9, %x9, %x3, %p2;"),
        _ => text.push_str("cvt.u32.u16 %x9, %n1; selp.b32 %x9, %x4, %x9, %p3;"),
    }
    text
}

#[test]
fn rules_agree_with_each_other() {
    const SETUP: &str = "mov.b32 %x3, %x1; xor.b32 %x4, %x1, %x2; cvt.u64.u32 %w1, %x2; mov.b64 %w2, {%x1, %x2}; \
         mov.b64 %w3, 7; not.b64 %w4, %w2; cvt.u16.u32 %n1, %x1; cvt.u16.u32 %n2, %x2; mov.b16 %n3, 3; \
         not.b16 %n4, %n1; setp.lt.s32 %p2, %x1, %x2; setp.gt.u32 %p3, %x1, 77; xor.pred %p4, %p1, %p2; ";
    let rounds = std::env::var("ORIOLE_ROUNDS").map_or(600, |text| text.parse().expect("a number"));
    let mut random = Random(0xD1B5_4A32_D192_ED03);
    for _ in 0..rounds {
        let body = format!("{SETUP}{}", random_text(&mut random));
        let text = case_text(&body, 32, [0, 0]);
        let before = function(&text, 32);
        let mut after = function(&text, 32);
        let passes = [
            "algebraic-simplification",
            "copy-propagation",
            "constant-folding",
            "algebraic-simplification",
        ];
        simplify(&mut after, &passes);
        assert!(needed(&after) <= needed(&before), "longer:\n{text}");
        let mut values = vec![0; before.values().len().max(after.values().len())];
        let (first, then) = (steps(&before), steps(&after));
        for [a, b] in operands(32, true, true, &mut random).into_iter().step_by(7) {
            let inputs = [a, b, random.next() % 40, random.next() % 2].map(u128::from);
            if let Some(expected) = interpret(&first, &inputs, &mut values) {
                let found = interpret(&then, &inputs, &mut values);
                assert_eq!(found, Some(expected), "inputs {inputs:x?} of\n{text}");
            }
        }
    }
}
