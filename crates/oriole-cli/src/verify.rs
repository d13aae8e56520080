//! Runs every kernel of a module before and after optimization, in the emulator, on generated inputs.
//!
//! What is compared is what can be seen from outside: every buffer, every global variable, what `printf` wrote. Inputs on which
//! the kernel itself traps say nothing and are passed over; so is a difference in a kernel whose result nobody can rely on,
//! because it reads what nothing wrote, races, or reads a clock.

mod inputs;
mod pointers;

use crate::Failure;
use crate::report::Reporter;
use inputs::Input;
use oriole::Module;
use oriole_emulator::{Machine, Options, Report, Trap};
use oriole_syntax::tree::{Body, FunctionKind, OperandKind, Statement, Storage};
use std::collections::BTreeSet;

/// Inputs on which a kernel is compared, at most.
const COMPARISONS: usize = 3;
/// Thread instructions of a run, at most.
const STEPS: u64 = 20_000_000;

/// What came of a kernel.
enum Verdict {
    /// Equal on this many inputs, which executed this many percent of its instructions.
    Verified { inputs: usize, executed: usize },
    /// No input told.
    CouldNotRun(String),
    /// An input that tells the two apart.
    Different(String),
}

/// What a run left behind.
struct Outcome {
    report: Report,
    /// Name and contents of each buffer and variable.
    memory: Vec<(String, Vec<u8>)>,
}

/// Compares a module with the text that optimization made of it.
pub fn run(original: &Module, text: &str, report: &Reporter) -> Result<(), Failure> {
    let optimized = oriole::parse(original.name(), text).map_err(|errors| {
        Failure::Wrong(format!(
            "what Oriole printed cannot be read: {}",
            errors[0].message
        ))
    })?;
    let mut different = Vec::new();
    for function in &original.functions {
        let Some(body) = &function.body else { continue };
        if function.kind != FunctionKind::Entry {
            continue;
        }
        let name = original.text(function.name);
        let verdict = verify(original, &optimized, name, body);
        match verdict {
            Verdict::Verified { inputs, executed } => {
                let plural = if inputs == 1 { "" } else { "s" };
                report.message(
                    "note",
                    &format!(
                        "verified: {name}: equal on {inputs} input{plural}, {executed} % of its instructions executed"
                    ),
                );
            }
            Verdict::CouldNotRun(reason) => {
                report.message("note", &format!("could not verify: {name}: {reason}"));
            }
            Verdict::Different(difference) => {
                report.message("error", &format!("DIFFERENT: {name}: {difference}"));
                different.push(name);
            }
        }
    }
    if different.is_empty() {
        Ok(())
    } else {
        Err(Failure::Wrong(format!(
            "optimization changed what {} does; nothing was written",
            different.join(", ")
        )))
    }
}

fn verify(original: &Module, optimized: &Module, kernel: &str, body: &Body) -> Verdict {
    let shape = match Machine::new(original).map(|machine| machine.signature(kernel)) {
        Ok(Some(signature)) => signature,
        Ok(None) => return Verdict::CouldNotRun("the emulator does not know it".to_owned()),
        Err(errors) => return Verdict::CouldNotRun(errors[0].message.clone()),
    };
    let pointers = pointers::of(original, body, &shape);
    let mut reason = None;
    let mut compared = 0;
    let mut executed = BTreeSet::new();
    for input in inputs::generate(original, body, &shape, &pointers) {
        let expected = match execute(original, kernel, &input, false) {
            Ok(outcome) => outcome,
            Err(why) => {
                reason.get_or_insert(why);
                continue;
            }
        };
        if let Some(difference) = compare(&expected, execute(optimized, kernel, &input, false)) {
            return match unreliable(original, kernel, body, &input) {
                Some(why) => Verdict::CouldNotRun(format!("{why}; and {difference}")),
                None => Verdict::Different(difference),
            };
        }
        let entries = expected.report.profile.iter();
        executed.extend(
            entries
                .filter(|entry| entry.function == kernel)
                .map(|entry| entry.span),
        );
        compared += 1;
        if compared == COMPARISONS {
            break;
        }
    }
    if compared == 0 {
        let reason = reason.unwrap_or_else(|| "there is no input for it".to_owned());
        return Verdict::CouldNotRun(reason);
    }
    let all = body
        .statements
        .iter()
        .filter(|statement| matches!(statement, Statement::Instruction(_)))
        .count();
    Verdict::Verified {
        inputs: compared,
        executed: 100 * executed.len().min(all) / all.max(1),
    }
}

fn execute(module: &Module, kernel: &str, input: &Input, check: bool) -> Result<Outcome, String> {
    let mut machine = Machine::new(module).map_err(|errors| errors[0].message.clone())?;
    let (launch, buffers) = input.launch(&mut machine, kernel);
    let options = Options {
        step_limit: STEPS,
        profile: !check,
        check_uninitialized: check,
        check_races: check,
        ..Options::default()
    };
    let report = machine
        .launch(&launch, &options)
        .map_err(|trap: Box<Trap>| trap.to_string())?;
    let mut memory: Vec<(String, Vec<u8>)> = buffers
        .into_iter()
        .map(|(name, buffer)| (name, machine.read(buffer)))
        .collect();
    for declaration in &module.top.declarations {
        if declaration.storage == Storage::Global {
            for declarator in module.top.declarators(declaration) {
                let name = module.text(declarator.name);
                if let Some(bytes) = machine.read_variable(name) {
                    memory.push((name.to_owned(), bytes));
                }
            }
        }
    }
    Ok(Outcome { report, memory })
}

/// The first difference between what the two left behind.
fn compare(expected: &Outcome, found: Result<Outcome, String>) -> Option<String> {
    let found = match found {
        Ok(found) => found,
        Err(trap) => return Some(format!("it now stops: {trap}")),
    };
    for ((name, left), (_, right)) in expected.memory.iter().zip(&found.memory) {
        let place = left
            .iter()
            .zip(right)
            .position(|(left, right)| left != right);
        if let Some(byte) = place {
            let word = byte / 4 * 4;
            let value = |bytes: &[u8]| -> String {
                let end = bytes.len().min(word + 4);
                let digits = bytes[word..end].iter().rev();
                digits.map(|byte| format!("{byte:02x}")).collect()
            };
            return Some(format!(
                "`{name}` holds 0x{} at byte {word} before and 0x{} after",
                value(left),
                value(right)
            ));
        }
    }
    (expected.report.output != found.report.output).then(|| "it prints something else".to_owned())
}

/// Why nobody can rely on what a kernel does with an input.
fn unreliable(module: &Module, kernel: &str, body: &Body, input: &Input) -> Option<String> {
    let clock = ["%clock", "%globaltimer"];
    for operand in &body.operands {
        if operand.kind == OperandKind::Name {
            let name = module.text(operand.text);
            if clock.iter().any(|prefix| name.starts_with(prefix)) {
                return Some(format!("it reads `{name}`"));
            }
        }
    }
    let checked = execute(module, kernel, input, true).ok()?;
    let finding = checked.report.findings.first()?;
    Some(format!("line {}: {}", finding.ptx_line, finding.message))
}
