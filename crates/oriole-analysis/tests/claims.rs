//! Holds claims of analyses against kernels in the emulator.
//!
//! In every step and lane, a value is in its range and has its known bits. Lanes that execute an instruction together have the same
//! uniform values, and take uniform branches and guards together.
//!
//! The kernels are made of all instructions and special registers that can be run, with loops and divergent branches. A new opcode
//! takes part by itself. `ORIOLE_KERNELS=5000` sets the number of kernels.

use oriole_analysis::launch::LaunchShape;
use oriole_analysis::scalar_evolution::{Knobs, Range, ScalarEvolution};
use oriole_analysis::{Analyses, Convergence, Known, KnownBits, Uniformity, mask};
use oriole_emulator::{Launch, Machine, Observer, Options, Step, Value as Argument};
use oriole_generate::{BLOCK, GRID, Kernel, Shapes, differential, generate, small};
use oriole_ir::{Block, Formats, Function, Instruction, Operand, Value};
use oriole_isa::ScalarType;
use oriole_syntax::scopes::Globals;
use oriole_syntax::tree::{Guard, Module, Statement};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// All claims about a kernel.
#[derive(Debug)]
struct Claims {
    function: Function,
    known: Vec<Known>,
    ranges: Vec<Option<Range>>,
    uniformity: Uniformity,
    converges: bool,
    /// The instruction of each statement, by the place of its mnemonic, with its block.
    instructions: BTreeMap<u32, (Instruction, Block)>,
    /// Places where blocks start.
    starts: BTreeMap<u32, Block>,
    /// The register each value is in, by its name.
    homes: Vec<Option<String>>,
}

impl Claims {
    fn of(module: &Module) -> Claims {
        let (globals, errors) = Globals::of(module);
        assert!(errors.is_empty(), "{errors:?}");
        let index = module.functions.iter().rposition(|own| own.body.is_some());
        let index = index.expect("a kernel");
        let body = module.functions[index].body.as_ref().expect("a body");
        let translated = oriole_translate::into_ssa(module, &globals, index, &mut Formats::new());
        let function = *translated.expect("SSA form").function;
        let mut analyses = Analyses::new();
        let known = analyses.get::<KnownBits>(&function);
        let uniformity = analyses.get::<Uniformity>(&function);
        let evolution = ScalarEvolution::new(&function, LaunchShape::default(), Knobs::default());
        let mut query = evolution.on(&function);
        let values = || function.values().iter();
        let ranges = values()
            .map(|(value, data)| {
                let is_integer =
                    data.scalar_type != ScalarType::Pred && !data.scalar_type.is_float();
                is_integer.then(|| query.value_range(value)).flatten()
            })
            .collect();
        drop(query);
        let (mut instructions, mut starts) = (BTreeMap::new(), BTreeMap::new());
        for &block in function.block_order() {
            for (number, instruction) in function.instructions_of(block).enumerate() {
                let statement = function.location(instruction).expect("a statement") as usize;
                let Statement::Instruction(own) = &body.statements[statement] else {
                    panic!("{instruction} is of no instruction");
                };
                let place = own.mnemonic.span().start;
                instructions.insert(place, (instruction, block));
                if number == 0 {
                    starts.insert(place, block);
                }
            }
        }
        let homes = values().map(|(_, data)| {
            let span = function.registers()[data.name.expand()?].name.span();
            Some(module.whole_text()[span.range()].to_owned())
        });
        Claims {
            known: values().map(|(value, _)| known.of(value)).collect(),
            homes: homes.collect(),
            converges: analyses.get::<Convergence>(&function).converges(),
            ranges,
            uniformity: Uniformity::clone(&uniformity),
            instructions,
            starts,
            function,
        }
    }
}

/// The number of comparisons with each kind of claim.
#[derive(Clone, Copy, Debug, Default)]
struct Compared {
    known: u64,
    ranges: u64,
    uniform: u64,
    guards: u64,
    together: u64,
}

/// Results of an instruction, which are compared before its lanes execute the next one.
#[derive(Debug)]
struct Pending {
    lanes: u32,
    values: Vec<Value>,
    text: String,
}

#[derive(Debug, Default)]
struct Watched {
    /// By block of the grid and first thread of the warp.
    warps: BTreeMap<([u32; 3], [u32; 3]), Vec<Pending>>,
    /// The register of each value.
    slots: Option<Vec<Option<usize>>>,
    compared: Compared,
    violations: Vec<String>,
}

#[derive(Debug)]
struct Watcher {
    claims: Claims,
    /// The kernel; functions that it calls are not watched.
    kernel: String,
    watched: Mutex<Watched>,
}

fn lanes_of(lanes: u32) -> impl Iterator<Item = usize> {
    (0..32).filter(move |lane| lanes >> lane & 1 != 0)
}

impl Watcher {
    /// Compares a value in lanes that have computed it together.
    fn check(&self, watched: &mut Watched, step: &Step<'_>, value: Value, lanes: u32, what: &str) {
        let claims = &self.claims;
        let slots = watched.slots.get_or_insert_with(|| {
            let places: BTreeMap<&str, usize> = step
                .register_names()
                .iter()
                .enumerate()
                .map(|(place, name)| (&name[..], place))
                .collect();
            let homes = claims.homes.iter();
            homes
                .map(|home| places.get(home.as_deref()?).copied())
                .collect()
        });
        let Some(slot) = slots[value.index()] else {
            return;
        };
        let bits = claims.function.values()[value].scalar_type.bits();
        if bits > 64 {
            return;
        }
        let (known, range) = (claims.known[value.index()], claims.ranges[value.index()]);
        let mut first = None;
        for lane in lanes_of(lanes) {
            let number = step.register(slot, lane).expect("a register") & mask(bits);
            let mut wrong = |claim: &dyn std::fmt::Debug| {
                watched.violations.push(format!(
                    "{what}: {value} is {number:#x} in lane {lane}, claimed is {claim:x?}"
                ));
            };
            if number & known.zeros != 0 || !number & known.ones != 0 {
                wrong(&known);
            }
            if let Some(range) = range
                && !range.contains(number)
            {
                wrong(&range);
            }
            let agrees = *first.get_or_insert(number) == number;
            if !agrees && claims.uniformity.is_uniform(value) {
                wrong(&"uniform");
            }
        }
        let compared = &mut watched.compared;
        compared.known += u64::from(known != Known::unknown(bits));
        compared.ranges += u64::from(range.is_some_and(|own| own != Range::full(bits)));
        compared.uniform +=
            u64::from(lanes.count_ones() > 1 && claims.uniformity.is_uniform(value));
    }

    /// Compares the lanes that execute a guarded instruction or take a branch.
    fn check_guard(&self, watched: &mut Watched, step: &Step<'_>, at: (Instruction, Block)) {
        let (claims, (instruction, block)) = (&self.claims, at);
        let format = claims.function.format(instruction);
        let text = format.mnemonic.text();
        if claims.converges && format.effects.convergent {
            watched.compared.together += 1;
            let count = step.active.count_ones() as usize;
            if count != 0 && count != step.threads.len().min(32) {
                let lanes = step.active;
                let wrong = format!("{text}: lanes {lanes:#x} alone, though all lanes meet");
                watched.violations.push(wrong);
            }
        }
        let Some(Operand::Value(guard)) = claims.function.guard(instruction) else {
            return;
        };
        let mut is_uniform = claims.uniformity.is_uniform(guard);
        if format.is_terminator() {
            is_uniform |= !claims.uniformity.is_divergent_branch(block);
        }
        let parts = step.active != 0 && step.active != step.lanes;
        watched.compared.guards += u64::from(is_uniform);
        if is_uniform && parts {
            let lanes = (step.lanes, step.active);
            let wrong =
                format!("{text}: lanes and active lanes are {lanes:x?}, claimed is uniform");
            watched.violations.push(wrong);
        }
        if let Some(constant) = claims.known[guard.index()].as_constant() {
            let is_executed = (constant != 0) == (format.guard == Guard::If);
            if step.active != if is_executed { step.lanes } else { 0 } {
                let wrong = format!("{text}: the guard {guard} is not always {constant}");
                watched.violations.push(wrong);
            }
        }
    }
}

impl Observer for Watcher {
    fn step(&self, step: &Step<'_>) {
        if step.function != self.kernel {
            return;
        }
        let watched = &mut *self.watched.lock().expect("no thread panicked");
        if watched.violations.len() > 8 {
            return;
        }
        let warp = (step.block, step.threads[0]);
        let all = watched.warps.remove(&warp).unwrap_or_default();
        let (due, mut waiting): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|own| own.lanes & step.lanes != 0);
        for pending in due {
            for &value in &pending.values {
                self.check(watched, step, value, pending.lanes, &pending.text);
            }
        }
        let place = step.span.start;
        if step.is_first {
            if let Some(&block) = self.claims.starts.get(&place) {
                for &parameter in &self.claims.function.blocks()[block].parameters {
                    self.check(watched, step, parameter, step.lanes, "parameter");
                }
            }
            if let Some(&at) = self.claims.instructions.get(&place) {
                self.check_guard(watched, step, at);
                let function = &self.claims.function;
                let values: Vec<Value> = function.results(at.0).collect();
                if !values.is_empty() {
                    waiting.push(Pending {
                        lanes: step.lanes,
                        values,
                        text: function.format(at.0).mnemonic.text().to_owned(),
                    });
                }
            }
        }
        watched.warps.insert(warp, waiting);
    }
}

/// Watches a kernel. Gives the number of comparisons, and the violations.
fn watch(module: &Module, name: &str, run: impl FnOnce(&Options)) -> (Compared, Vec<String>) {
    let watcher = Arc::new(Watcher {
        claims: Claims::of(module),
        kernel: name.to_owned(),
        watched: Mutex::default(),
    });
    run(&Options {
        step_limit: 50_000_000,
        parallel: false,
        observer: Some(watcher.clone()),
        ..Options::default()
    });
    let watched = watcher.watched.lock().expect("no thread panicked");
    (watched.compared, watched.violations.clone())
}

fn kernels(usual: u64) -> u64 {
    std::env::var("ORIOLE_KERNELS").map_or(usual, |count| count.parse().expect("a number"))
}

#[test]
fn claims_hold_in_small_kernels() {
    let mut total = Compared::default();
    for seed in 0..kernels(350) {
        let (text, block) = small::generate(seed, true);
        let module = oriole::parse("small.ptx", text.as_str()).expect("PTX");
        let (compared, violations) = watch(&module, "small", |options| {
            small::run(&module, block, options).expect("it ends");
        });
        assert!(
            violations.is_empty(),
            "seed {seed}: {violations:#?}\n{text}"
        );
        total.known += compared.known;
        total.ranges += compared.ranges;
        total.uniform += compared.uniform;
        total.guards += compared.guards;
        total.together += compared.together;
    }
    assert!(
        total.known > 1000
            && total.ranges > 1000
            && total.uniform > 1000
            && total.guards > 100
            && total.together > 100,
        "{total:?}"
    );
}

#[test]
fn claims_hold_in_generated_kernels() {
    let mut total = Compared::default();
    for seed in 0..kernels(15) {
        let shapes = Shapes::ALL;
        let options = oriole_generate::Options {
            shapes,
            ..oriole_generate::Options::default()
        };
        let kernel = generate(seed, options);
        let module = oriole::parse("generated.ptx", kernel.module()).expect("PTX");
        let (compared, violations) = watch(&module, &kernel.name, |options| {
            let mut machine = Machine::new(&module).expect("a sound module");
            let input = machine.buffer("input", &differential::input());
            let output = machine.buffer("output", &vec![0; Kernel::output_bytes()]);
            let launch = Launch {
                kernel: &kernel.name,
                grid: [GRID, 1, 1],
                block: [BLOCK, 1, 1],
                dynamic_shared: 0,
                arguments: vec![Argument::Buffer(input), Argument::Buffer(output)],
            };
            machine.launch(&launch, options).expect("it ends");
        });
        assert!(violations.is_empty(), "seed {seed}: {violations:#?}");
        total.uniform += compared.uniform;
        total.known += compared.known;
    }
    assert!(total.uniform > 100 && total.known > 100, "{total:?}");
}
