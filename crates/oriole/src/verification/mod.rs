//! Runs every kernel of a module before and after optimization, in the emulator, on generated inputs.
//!
//! [`verify`] says what is compared.

mod inputs;
mod pointers;

use crate::{Error, Module, Severity};
use inputs::{Input, Library};
use oriole_emulator::{Machine, MachineOptions, Options, Report, Signature, TrapKind};
use oriole_isa::LaunchLimits;
use oriole_syntax::tree::{Body, Function, FunctionKind, OperandKind, Statement, Storage};
use pointers::Pointers;
use rayon::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// Inputs on which a kernel is compared, at most.
const COMPARISONS: usize = 3;
/// Inputs with differences that nobody can rely on, after which the kernel is given up.
const DOUBTFUL: usize = 12;
/// Inputs on which a kernel runs on and on, after which it is given up: most such kernels wait for another one, whatever the input.
const ENDLESS: usize = 3;
/// How many times as large buffers become, at most, for a kernel that goes beyond them.
const MOST_GROWTH: usize = 64;
/// Inputs for which the largest buffers were too small, after which no others are tried.
const TOO_LARGE: usize = 3;
/// Thread instructions of a run, at most.
const STEPS: u64 = 20_000_000;
/// Thread instructions of a run on a thorough input, at most.
const FEW_STEPS: u64 = 64_000;
/// The part of them that is enough for a thread alone.
const ALONE_PART: u64 = 16;
/// Thread instructions of a run for each instruction of the kernel, at least: two blocks of 256 threads.
const STEPS_OF_EACH: u64 = 512;

/// What verification may use.
#[derive(Clone, Copy, Debug)]
pub struct VerifyOptions {
    /// For all kernels together.
    pub time: Duration,
    /// Bytes for one run of a kernel.
    pub memory: u64,
    /// Larger limits of launches than the module's target has.
    pub launch: Option<LaunchLimits>,
    /// Tries many small inputs full of edge values, also with one thread alone. Only those count on which the kernel writes
    /// something.
    pub thorough: bool,
}

impl Default for VerifyOptions {
    /// Two minutes and a gibibyte.
    fn default() -> VerifyOptions {
        VerifyOptions {
            time: Duration::from_secs(120),
            memory: 1 << 30,
            launch: None,
            thorough: false,
        }
    }
}

/// Both modules, decoded once for all kernels, and until when to go on.
struct Judge<'a> {
    original: &'a Module,
    machines: [Machine; 2],
    library: Library,
    deadline: Instant,
    memory: u64,
    thorough: bool,
}

/// What came of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// The kernel.
    pub kernel: String,
    /// What the inputs said.
    pub verdict: Verdict,
}

/// What inputs said of the two versions of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Verdict {
    /// Equal on all inputs that were tried.
    Equal {
        /// How many.
        inputs: usize,
        /// How many percent of the instructions they executed.
        executed: usize,
    },
    /// No input told, and why.
    Unknown(String),
    /// An input tells the two apart: how.
    Different(String),
}

/// What a run left behind.
struct Outcome {
    report: Report,
    /// A buffer or a variable has changed, or something was printed.
    writes: bool,
    /// Name and contents of each buffer, in the order of the parameters.
    buffers: Vec<(String, Vec<u8>)>,
    /// Contents of the variables of the original, as far as they are still there.
    variables: BTreeMap<String, Vec<u8>>,
}

/// Runs every kernel of a module and of what was made of it in the emulator, on generated inputs; several at once where a rayon
/// pool has threads for it.
///
/// What is compared is what can be seen from outside: every buffer, every global variable, what `printf` wrote. Inputs on which
/// the kernel itself traps say nothing and are passed over; so is a difference in a kernel whose result nobody can rely on,
/// because it reads what nothing wrote, races, or reads a clock.
///
/// ```
/// use oriole::{Options, Verdict, VerifyOptions};
///
/// let original = oriole::parse("example.ptx", oriole::EXAMPLE)?;
/// let mut optimized = original.clone();
/// oriole::optimize(&mut optimized, &Options::default())?;
/// for kernel in oriole::verify(&original, &optimized, &VerifyOptions::default())? {
///     assert!(matches!(kernel.verdict, Verdict::Equal { .. }));
/// }
/// # Ok::<(), oriole::Error>(())
/// ```
///
/// # Errors
/// If one of the two cannot be decoded.
pub fn verify(
    original: &Module,
    optimized: &Module,
    options: &VerifyOptions,
) -> Result<Vec<Verification>, Error> {
    let judge = Judge::new(original, optimized, options)?;
    let verdicts = original
        .functions
        .par_iter()
        .filter(|function| function.kind == FunctionKind::Entry)
        .filter_map(|function| {
            let name = original.text(function.name);
            let verdict = judge.verify(function, name, function.body.as_ref()?);
            Some(Verification {
                kernel: name.to_owned(),
                verdict,
            })
        });
    Ok(verdicts.collect())
}

/// Why a run says nothing, or what it ended with.
enum Stopped {
    /// The emulator's own time or memory was over.
    Limit(String),
    /// It executed more instructions than it may.
    Endless(String),
    /// It went beyond a buffer.
    Outside(String),
    Trap(String),
}

impl Stopped {
    fn into_text(self) -> String {
        match self {
            Stopped::Limit(text)
            | Stopped::Endless(text)
            | Stopped::Outside(text)
            | Stopped::Trap(text) => text,
        }
    }
}

impl<'a> Judge<'a> {
    fn new(
        original: &'a Module,
        optimized: &Module,
        limits: &VerifyOptions,
    ) -> Result<Judge<'a>, Error> {
        let options = MachineOptions {
            memory_limit: limits.memory,
            launch: limits.launch,
            ..MachineOptions::default()
        };
        let decode = |module: &Module| Machine::with_options(module, &options);
        let now = Instant::now();
        Ok(Judge {
            original,
            machines: [decode(original)?, decode(optimized)?],
            library: Library::default(),
            deadline: now.checked_add(limits.time).unwrap_or(now),
            memory: limits.memory,
            thorough: limits.thorough,
        })
    }

    fn verify(&self, function: &Function, kernel: &str, body: &Body) -> Verdict {
        let Some(shape) = self.machines[0].signature(kernel) else {
            return Verdict::Unknown("the emulator does not know it".to_owned());
        };
        let bytes: usize = shape.parameters.iter().map(|parameter| parameter.1).sum();
        let limits = self.machines[0].launch_limits();
        if bytes > limits.parameter_bytes as usize {
            return Verdict::Unknown(format!("it has {bytes} bytes of parameters"));
        }
        let mut pointers = pointers::of(self.original, function, body, &shape);
        let mut reason = None;
        let (mut compared, mut passed_over, mut endless) = (0, 0, 0);
        let mut executed = BTreeSet::new();
        let of_each = u64::from(limits.threads.min(inputs::MOST_TRIED)).max(STEPS_OF_EACH);
        let most = if self.thorough { FEW_STEPS } else { STEPS };
        let steps = most.max(of_each * body.statements.len() as u64);
        let mut too_large = 0;
        let (inputs, others) = self.inputs(body, &shape, &limits, &mut pointers);
        let first = inputs.len();
        for (index, mut input) in inputs.into_iter().chain(others).enumerate() {
            if index >= first && compared > 0 {
                break;
            }
            let mut result = self.execute(0, kernel, &input, steps, false);
            while matches!(result, Err(Stopped::Outside(_)))
                && too_large < TOO_LARGE
                && input.grow(self.memory)
            {
                result = self.execute(0, kernel, &input, steps, false);
            }
            too_large += usize::from(matches!(result, Err(Stopped::Outside(_))));
            let expected = match result {
                Ok(outcome) => outcome,
                Err(why) => {
                    endless += usize::from(matches!(why, Stopped::Endless(_)));
                    reason.get_or_insert(why.into_text());
                    if endless == ENDLESS && !self.thorough {
                        break;
                    }
                    continue;
                }
            };
            let found = match self.execute(1, kernel, &input, steps, false) {
                Err(Stopped::Limit(why)) => {
                    reason.get_or_insert(why);
                    continue;
                }
                Err(Stopped::Endless(why) | Stopped::Outside(why) | Stopped::Trap(why)) => Err(why),
                Ok(outcome) => Ok(outcome),
            };
            if let Some(difference) = compare(&expected, found) {
                match self.unreliable(kernel, body, &input, steps) {
                    Some(why) => {
                        reason.get_or_insert(format!("{why}; and {difference}"));
                        passed_over += 1;
                        if passed_over == DOUBTFUL && !self.thorough {
                            break;
                        }
                        continue;
                    }
                    None => return Verdict::Different(difference),
                }
            }
            if self.thorough && !expected.writes {
                reason.get_or_insert("it writes nothing that can be seen".to_owned());
                continue;
            }
            let entries = expected.report.profile.iter();
            executed.extend(
                entries
                    .filter(|entry| entry.function == kernel)
                    .map(|entry| entry.span),
            );
            compared += 1;
            if compared == COMPARISONS && !self.thorough {
                break;
            }
        }
        if compared == 0 {
            let reason = reason.unwrap_or_else(|| "there is no input for it".to_owned());
            return Verdict::Unknown(reason);
        }
        let all = body
            .statements
            .iter()
            .filter(|statement| matches!(statement, Statement::Instruction(_)))
            .count();
        Verdict::Equal {
            inputs: compared,
            executed: 100 * executed.len().min(all) / all.max(1),
        }
    }

    /// Inputs for a kernel, and others for when no run on these says anything.
    fn inputs(
        &self,
        body: &Body,
        shape: &Signature,
        limits: &LaunchLimits,
        pointers: &mut Pointers,
    ) -> (Vec<Input>, Vec<Input>) {
        let mut inputs = inputs::generate(self.original, body, shape, limits, pointers);
        let mut others = Vec::new();
        // Values taken for indices may in fact be pointers.
        if !pointers.indices.is_empty() {
            pointers.indices.clear();
            others = inputs::generate(self.original, body, shape, limits, pointers);
        }
        if self.thorough {
            let unsure = inputs::split_off_unsure(&mut inputs);
            let unsure = [unsure, others].map(|others| inputs::thorough(&others));
            return (inputs::thorough(&inputs), unsure.concat());
        }
        (inputs, others)
    }

    /// Runs a kernel of one of the two machines.
    fn execute(
        &self,
        which: usize,
        kernel: &str,
        input: &Input,
        steps: u64,
        check: bool,
    ) -> Result<Outcome, Stopped> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Stopped::Limit(
                "the time for verification is over".to_owned(),
            ));
        }
        let mut machine = self.machines[which].fresh();
        let (launch, buffers) = input.launch(&mut machine, kernel, &self.library);
        let steps = match input.alone {
            Some(_) => steps / ALONE_PART,
            None => steps,
        };
        let options = Options {
            // The second version may take a few more.
            step_limit: steps * (1 + which as u64),
            memory_limit: self.memory,
            time_limit: Some(left),
            profile: !check,
            check_uninitialized: check,
            check_padding: check,
            check_races: check,
            // In one order, so that a kernel that races does the same each time.
            parallel: false,
            alone: input.alone,
            ..Options::default()
        };
        let contents = |machine: &Machine| -> (Vec<_>, _) {
            let all = buffers.iter();
            let all = all.map(|(name, buffer)| (name.clone(), machine.read(*buffer)));
            (all.collect(), self.variables(machine))
        };
        let before = (self.thorough && which == 0).then(|| contents(&machine));
        let report = machine.launch(&launch, &options).map_err(|trap| {
            let text = trap.to_string();
            match trap.kind {
                TrapKind::TimeLimit | TrapKind::MemoryLimit => Stopped::Limit(text),
                TrapKind::StepLimit => Stopped::Endless(text),
                TrapKind::OutOfBounds => Stopped::Outside(text),
                _ => Stopped::Trap(text),
            }
        })?;
        let after = contents(&machine);
        let writes = !report.output.is_empty() || before.is_some_and(|before| before != after);
        let (buffers, variables) = after;
        Ok(Outcome {
            report,
            writes,
            buffers,
            variables,
        })
    }

    /// Contents of the variables of the original, as far as a machine has them.
    fn variables(&self, machine: &Machine) -> BTreeMap<String, Vec<u8>> {
        let mut variables = BTreeMap::new();
        let top = &self.original.top;
        for declaration in &top.declarations {
            if declaration.storage == Storage::Global {
                for declarator in top.declarators(declaration) {
                    let name = self.original.text(declarator.name);
                    if let Some(bytes) = machine.read_variable(name) {
                        variables.insert(name.to_owned(), bytes);
                    }
                }
            }
        }
        variables
    }

    /// The clock that a function reads, or one that it names and so may call.
    fn clock_read_by(&self, body: &'a Body) -> Option<&'a str> {
        let module = self.original;
        let mut bodies: BTreeMap<&str, &Body> = BTreeMap::new();
        for function in &module.functions {
            if let Some(body) = &function.body {
                bodies.insert(module.text(function.name), body);
            }
        }
        let mut work = vec![body];
        while let Some(body) = work.pop() {
            for operand in &body.operands {
                if operand.kind != OperandKind::Name {
                    continue;
                }
                let name = module.text(operand.text);
                if ["%clock", "%globaltimer"]
                    .iter()
                    .any(|clock| name.starts_with(clock))
                {
                    return Some(name);
                }
                work.extend(bodies.remove(name));
            }
        }
        None
    }

    /// Why nobody can rely on what a kernel does with an input.
    fn unreliable(&self, kernel: &str, body: &Body, input: &Input, steps: u64) -> Option<String> {
        if let Some(name) = self.clock_read_by(body) {
            return Some(format!("it reads `{name}`"));
        }
        let checked = match self.execute(0, kernel, input, steps, true) {
            Ok(checked) => checked,
            // Checks find more accesses out of bounds.
            Err(Stopped::Trap(text) | Stopped::Outside(text)) => return Some(text),
            Err(_) => return None,
        };
        let finding = checked
            .report
            .findings
            .iter()
            .find(|finding| finding.severity >= Severity::Warning)?;
        Some(format!("line {}: {}", finding.ptx_line, finding.message))
    }
}

/// The first difference between what the two left behind.
fn compare(expected: &Outcome, found: Result<Outcome, String>) -> Option<String> {
    let found = match found {
        Ok(found) => found,
        Err(trap) => return Some(format!("it now stops: {trap}")),
    };
    let buffers = expected.buffers.iter().zip(&found.buffers);
    let buffers = buffers.map(|((name, left), (_, right))| (name, left, right));
    // A removed variable had no uses.
    let variables = expected.variables.iter();
    let variables =
        variables.filter_map(|(name, left)| Some((name, left, found.variables.get(name)?)));
    for (name, left, right) in buffers.chain(variables) {
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

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = "
.version 8.0
.target sm_80
.address_size 64
.global .u32 total;
.visible .entry scale(.param .u64 out, .param .u64 in, .param .u32 n, .param .f32 factor)
{
    .reg .pred %p; .reg .b32 %r<6>; .reg .f32 %f<3>; .reg .b64 %rd<7>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [in];
    ld.param.u32 %r1, [n];
    ld.param.f32 %f1, [factor];
    cvta.to.global.u64 %rd3, %rd1;
    mov.u32 %r2, %tid.x;
    mov.u32 %r3, %ctaid.x;
    mad.lo.u32 %r4, %r3, 64, %r2;
    setp.ge.u32 %p, %r4, %r1;
    @%p bra done;
    mul.wide.u32 %rd4, %r4, 4;
    add.s64 %rd5, %rd2, %rd4;
    ld.global.f32 %f2, [%rd5];
    mul.f32 %f2, %f2, %f1;
    add.s64 %rd6, %rd3, %rd4;
    st.global.f32 [%rd6], %f2;
done:
    ret;
}
";

    /// The verdict about a kernel of which some text was replaced.
    fn verdict(text: &str, from: &str, to: &str) -> String {
        judged(text, from, to, false)
    }

    fn judged(text: &str, from: &str, to: &str, thorough: bool) -> String {
        let original = crate::parse("k.ptx", text).unwrap();
        let changed = crate::parse("k.ptx", text.replace(from, to)).unwrap();
        let mut kernels = original.functions.iter();
        let function = kernels.find(|own| own.kind == FunctionKind::Entry).unwrap();
        let name = original.text(function.name);
        let limits = VerifyOptions {
            time: Duration::from_secs(600),
            memory: 1 << 30,
            launch: None,
            thorough,
        };
        let judge = Judge::new(&original, &changed, &limits).unwrap();
        match judge.verify(function, name, function.body.as_ref().unwrap()) {
            Verdict::Equal { inputs, executed } => format!("{inputs} inputs, {executed} %"),
            Verdict::Unknown(reason) => format!("could not run: {reason}"),
            Verdict::Different(difference) => format!("different: {difference}"),
        }
    }

    #[test]
    fn pointers_are_told_from_numbers() {
        let module = crate::parse("k.ptx", KERNEL).unwrap();
        let signature = Machine::new(&module).unwrap().signature("scale").unwrap();
        let function = &module.functions[0];
        let body = function.body.as_ref().unwrap();
        let pointers = pointers::of(&module, function, body, &signature);
        let places: Vec<_> = pointers.certain.into_iter().collect();
        assert_eq!(places, [(0, 0), (1, 0)]);
    }

    #[test]
    fn equal_kernels_are_verified() {
        assert_eq!(verdict(KERNEL, "", ""), "3 inputs, 100 %");
        // Commuted.
        assert_eq!(
            verdict(KERNEL, "%f2, %f2, %f1", "%f2, %f1, %f2"),
            "3 inputs, 100 %"
        );
    }

    /// An array as CuPy passes it: its address, its length, and the bytes from one element to the next.
    const STRUCTURE: &str = "
.version 8.0
.target sm_90
.address_size 64
.visible .entry fill(.param .align 8 .b8 array[24])
{
    .reg .pred %p;
    .reg .b32 %r<4>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [array];
    ld.param.u64 %rd2, [array+8];
    ld.param.u64 %rd3, [array+16];
    cvta.to.global.u64 %rd4, %rd1;
    mov.u32 %r1, %tid.x;
    cvt.u64.u32 %rd5, %r1;
again:
    setp.ge.s64 %p, %rd5, %rd2;
    @%p bra done;
    mad.lo.s64 %rd6, %rd5, %rd3, %rd4;
    st.global.u32 [%rd6], %r1;
    mov.u32 %r2, %ntid.x;
    cvt.u64.u32 %rd7, %r2;
    add.s64 %rd5, %rd5, %rd7;
    bra again;
done:
    ret;
}
";

    #[test]
    fn numbers_of_64_bits_in_structures_are_small_too() {
        assert_eq!(verdict(STRUCTURE, "", ""), "3 inputs, 100 %");
        let wrong = verdict(STRUCTURE, "setp.ge.s64", "setp.gt.s64");
        assert!(wrong.starts_with("different: "), "{wrong}");
    }

    #[test]
    fn kernels_of_few_threads_run_with_as_many_as_they_may() {
        let few = KERNEL.replacen("{\n", ".maxntid 8, 1, 1\n{\n", 1);
        assert_eq!(verdict(&few, "", ""), "3 inputs, 100 %");
    }

    #[test]
    fn differences_are_found() {
        let wrong = verdict(KERNEL, "mul.f32", "add.f32");
        assert!(wrong.starts_with("different: `out` holds 0x"), "{wrong}");
        let stops = verdict(KERNEL, "st.global.f32 [%rd6]", "st.global.f32 [%rd6+1]");
        assert!(
            stops.starts_with("different: it now stops: misaligned"),
            "{stops}"
        );
        let variable = verdict(KERNEL, "done:", "done:\n st.global.u32 [total], 7;");
        assert!(
            variable.starts_with("different: `total` holds"),
            "{variable}"
        );
    }

    #[test]
    fn thorough_inputs_tell_more() {
        let body = "
    ld.param.u64 %rd1, [out];
    ld.param.u32 %r1, [n];
    cvta.to.global.u64 %rd2, %rd1;
    mov.u32 %r2, %tid.x;
    setp.eq.u32 %p, %r2, 0;
    selp.b32 %r3, 1, 2, %p;
    add.u32 %r3, %r3, %r1;
    st.global.u32 [%rd2], %r3;
done:";
        let start = KERNEL.find("    ld.param").unwrap();
        let end = KERNEL.find("done:").unwrap();
        let races = format!("{}{body}{}", &KERNEL[..start], &KERNEL[end + 5..]);
        // Every thread writes to the same word, and the first one's is not what is left.
        let from = "selp.b32 %r3, 1,";
        let to = "selp.b32 %r3, 7,";
        assert_eq!(judged(&races, from, to, false), "3 inputs, 100 %");
        let wrong = judged(&races, from, to, true);
        assert!(wrong.starts_with("different: `out` holds"), "{wrong}");
        // Equal unless numbers are negative.
        let sum = "add.u32 %r3, %r3, %r1";
        let equal = races.replace(sum, "max.u32 %r3, %r1, %r1;\nmax.u32 %r3, %r3, 0");
        let same = judged(&equal, "max.u32 %r3, %r1, %r1", "mov.u32 %r3, %r1", true);
        assert!(same.ends_with("inputs, 100 %"), "{same}");
        let signed = judged(&equal, "max.u32 %r3, %r3, 0", "max.s32 %r3, %r3, 0", true);
        assert!(signed.starts_with("different: "), "{signed}");
        let silent = races.replace("st.global.u32 [%rd2], %r3;", "");
        assert_eq!(judged(&silent, "", "", false), "3 inputs, 100 %");
        assert_eq!(
            judged(&silent, "", "", true),
            "could not run: it writes nothing that can be seen"
        );
    }

    #[test]
    fn variables_are_paired_by_name() {
        let text = KERNEL.replace(
            ".global .u32 total;",
            ".global .u32 unused = 7;\n.global .u32 total = 9;",
        );
        let removed = verdict(&text, ".global .u32 unused = 7;\n", "");
        assert_eq!(removed, "3 inputs, 100 %");
        let wrong = verdict(
            &text,
            ".global .u32 unused = 7;\n.global .u32 total = 9",
            ".global .u32 total = 8",
        );
        assert!(
            wrong.starts_with("different: `total` holds 0x00000009"),
            "{wrong}"
        );
    }

    #[test]
    fn buffers_grow_until_kernels_fit() {
        // 128 threads, 8 KB from one to the next.
        let far = KERNEL.replace(
            "mul.wide.u32 %rd4, %r4, 4;",
            "mul.wide.u32 %rd4, %r4, 8192;",
        );
        assert_eq!(verdict(&far, "", ""), "3 inputs, 100 %");
        let wrong = verdict(&far, "mul.f32", "add.f32");
        assert!(wrong.starts_with("different: `out` holds 0x"), "{wrong}");
        let farther = KERNEL.replace(
            "ld.global.f32 %f2, [%rd5];",
            "ld.global.f32 %f2, [%rd5+67108864];",
        );
        let verdict = self::verdict(&farther, "", "");
        assert!(
            verdict.starts_with("could not run: out-of-bounds"),
            "{verdict}"
        );
    }

    #[test]
    fn loaded_indices_stay_within_buffers() {
        for (width, bits) in [("u64", 64), ("u32", 32), ("u16", 16)] {
            let convert = match bits {
                64 => "mov.b64 %rd4, %i;".to_owned(),
                _ => format!("cvt.u64.{width} %rd4, %i;"),
            };
            let gather = KERNEL
                .replace(
                    "ld.global.f32 %f2, [%rd5];",
                    &format!(
                        "ld.global.{width} %i, [%rd5];\n{convert}\nshl.b64 %rd4, %rd4, 10;\n\
                         add.s64 %rd5, %rd3, %rd4;\nld.global.f32 %f2, [%rd5];\nmul.wide.u32 %rd4, %r4, 4;"
                    ),
                )
                .replace("mul.wide.u32 %rd4, %r4, 4;\n    add.s64 %rd5", "mul.wide.u32 %rd4, %r4, 8;\n    add.s64 %rd5")
                .replace(".reg .pred %p;", &format!(".reg .pred %p; .reg .b{bits} %i;"));
            let same = verdict(&gather, "", "");
            assert_eq!(same, "3 inputs, 100 %", "{gather}");
        }
    }

    #[test]
    fn kernels_that_nobody_can_rely_on_are_not_judged() {
        let clock = KERNEL.replace("%f2, %f2, %f1;", "%f2, %f2, %f1;\n mov.u32 %r5, %clock;");
        let verdict = self::verdict(&clock, "mul.f32", "add.f32");
        assert!(
            verdict.starts_with("could not run: it reads `%clock`"),
            "{verdict}"
        );
        // In a function that it calls.
        let called = KERNEL
            .replace("%f2, %f2, %f1;", "%f2, %f2, %f1;\n call now;")
            .replace(
                ".visible .entry",
                ".func now() { .reg .b32 %t; mov.u32 %t, %clock; ret; }\n.visible .entry",
            );
        let verdict = self::verdict(&called, "mul.f32", "add.f32");
        assert!(
            verdict.starts_with("could not run: it reads `%clock`"),
            "{verdict}"
        );
        // One of two words that are stored together.
        let half = KERNEL
            .replace(
                "st.global.f32 [%rd6], %f2;",
                "st.global.v2.f32 [%rd6], {%f2, %f0};",
            )
            .replace("%rd4, %r4, 4;", "%rd4, %r4, 8;");
        let verdict = self::verdict(&half, "%f0}", "%f2}");
        assert!(verdict.contains("register `%f0` is read"), "{verdict}");
        let beside = KERNEL
            .replace(
                ".reg .pred %p;",
                ".local .b32 one[4]; .local .b32 two[4]; .reg .pred %p;",
            )
            .replace(
                "%f2, %f2, %f1;",
                "%f2, %f2, %f1;\nst.local.f32 [two], %f1;\nld.local.f32 %f2, [one+16];",
            );
        let verdict = self::verdict(&beside, "[one+16]", "[two]");
        assert!(verdict.contains("out-of-bounds"), "{verdict}");
        let unset = KERNEL.replace("%f2, %f2, %f1;", "%f2, %f2, %f0;");
        let verdict = self::verdict(&unset, "mul.f32", "add.f32");
        assert!(
            verdict.starts_with("could not run: line 22: register `%f0` is read"),
            "{verdict}"
        );
        let unknown = KERNEL.replace("mul.f32", "frobnicate.f32");
        let verdict = self::verdict(&unknown, "", "");
        assert!(
            verdict.starts_with("could not run: not-emulated"),
            "{verdict}"
        );
    }
}
