//! Holds what ScalarEvolution says of a kernel against what the emulator does.
//!
//! A [`Watcher`] observes a launch. For some of the threads it notes what every value is when it is computed, how often each loop goes
//! round, and compares: every value with its range and, where all leaves are known, with its expression; every count with what was
//! predicted when the loop was entered. The emulator knows nothing of this.

#![forbid(unsafe_code)]

pub mod accesses;
pub mod addresses;
pub mod loops;
pub mod measured;
pub mod nests;
pub mod tiles;

use oriole_analysis::launch::LaunchShape;
use oriole_analysis::scalar_evolution::{
    Assumption, Expression, Expressions, Kind, Knobs, Leaf, Query, Range, ScalarEvolution,
};
use oriole_analysis::{ControlFlow, sign_extend};
use oriole_emulator::{Argument, Machine, Observer, Step};
use oriole_generate::Shapes;
use oriole_ir::{Block, Environment, Formats, Function, FunctionId, Instruction, Symbol, Value};
use oriole_isa::{Component, SpecialRegister, SpecialRegisterKind};
use oriole_syntax::scopes::Globals;
use oriole_syntax::tree::{Module, Statement};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// Arguments of a launch, as the corpus writes them.
pub fn parsed_arguments(machine: &mut Machine, texts: &[String]) -> Vec<oriole_emulator::Value> {
    let texts = texts.iter().enumerate();
    let parsed = texts.filter_map(|(index, text)| Argument::parse(text, index, 0).ok());
    machine.arguments(&parsed.collect::<Vec<_>>())
}

/// A generated kernel; every third has all the shapes there are.
pub fn generated(seed: u64) -> oriole_generate::Kernel {
    let shapes = match seed % 3 {
        0 => Shapes::ALL,
        _ => Shapes::default(),
    };
    let options = oriole_generate::Options {
        shapes,
        ..oriole_generate::Options::default()
    };
    oriole_generate::generate(seed, options)
}

/// Arguments of generated kernels.
pub fn generated_arguments(machine: &mut Machine) -> Vec<oriole_emulator::Value> {
    let input = machine.buffer("input", &oriole_generate::differential::input());
    let output = machine.buffer("output", &vec![0; oriole_generate::Kernel::output_bytes()]);
    [input, output].map(oriole_emulator::Value::Buffer).into()
}

/// A loop and what is said of it.
#[derive(Debug)]
struct Predicted {
    header: Block,
    exact: Expression,
    maximum: Option<u64>,
    symbolic_maximum: Expression,
    assumed: Expression,
    assumptions: Vec<Assumption>,
    /// What parameters of the header are when the loop is left.
    behind: Vec<(Value, Expression)>,
}

/// What is said of a function.
#[derive(Debug)]
pub struct Prediction {
    name: String,
    function: Function,
    expressions: Expressions,
    /// Of each value: its expression and its range.
    values: Vec<Option<(Expression, Range)>>,
    loops: Vec<Predicted>,
    /// By block: the loops around it, as numbers, outermost first.
    around: Vec<Vec<usize>>,
    /// The instruction of each statement, by the place of its mnemonic.
    instructions: BTreeMap<u32, Instruction>,
    /// Places where blocks start.
    starts: BTreeMap<u32, Block>,
    /// The register each value is in, by its name.
    homes: Vec<Option<String>>,
}

/// How much was compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compared {
    /// Values held against their ranges.
    pub ranges: u64,
    /// Values held against their expressions.
    pub expressions: u64,
    /// Counts of loops held against exact or symbolic ones.
    pub counts: u64,
    /// Counts of loops held against ones under assumptions that held.
    pub assumed: u64,
    /// Counts of loops held against a bound.
    pub maxima: u64,
    /// Values held against what was said that they are when their loop is left.
    pub behind: u64,
    /// Loops that were left.
    pub left: u64,
}

impl Compared {
    /// Adds what else was compared.
    pub fn add(&mut self, other: Compared) {
        self.ranges += other.ranges;
        self.expressions += other.expressions;
        self.counts += other.counts;
        self.assumed += other.assumed;
        self.maxima += other.maxima;
        self.behind += other.behind;
        self.left += other.left;
    }
}

/// What ScalarEvolution says of all functions of a module; nothing if one cannot be brought into SSA form.
pub fn predict(module: &Module, bounds: LaunchShape) -> Option<Vec<Prediction>> {
    let (globals, errors) = Globals::of(module);
    if !errors.is_empty() {
        return None;
    }
    let declared = Arc::new(oriole_translate::module_of(module, &globals));
    let mut predictions = Vec::new();
    for (index, function) in module.functions.iter().enumerate() {
        let Some(body) = &function.body else {
            continue;
        };
        let translated =
            oriole_translate::into_ssa(module, &globals, index, &mut Formats::new()).ok()?;
        let environment = Environment::new(Arc::clone(&declared), FunctionId::from_index(index));
        let mut own = LaunchShape::of(&environment, function.kind);
        if function.kind == oriole_ir::FunctionKind::Entry {
            own.block = bounds.block.or(own.block);
            own.grid = bounds.grid;
        }
        let place = |statement: u32| match body.statements.get(statement as usize) {
            Some(Statement::Instruction(own)) => Some(own.mnemonic.span().start),
            _ => None,
        };
        let name = module.text(function.name).to_owned();
        let names = module.whole_text();
        predictions.push(of_function(name, *translated.function, own, &place, names));
    }
    Some(predictions)
}

fn of_function(
    name: String,
    function: Function,
    bounds: LaunchShape,
    place: &dyn Fn(u32) -> Option<u32>,
    names: &str,
) -> Prediction {
    let evolution = ScalarEvolution::new(&function, bounds, Knobs::default());
    let mut query = evolution.on(&function);
    let mut values = Vec::new();
    for (value, data) in function.values().iter() {
        let is_integer = matches!(data.scalar_type.bits(), 8..=64) && !data.scalar_type.is_float();
        values.push(is_integer.then(|| said(&mut query, value)).flatten());
    }
    let headers = query.headers();
    let mut loops = Vec::new();
    for &header in &headers {
        let taken = query.backedge_taken(header).expect("a header");
        let predicated = query.predicated_backedge_taken(header).expect("a header");
        let parameters = function.blocks()[header].parameters.iter();
        let behind = parameters
            .filter_map(|&own| Some((own, query.exit_value(own, header)?)))
            .collect();
        loops.push(Predicted {
            behind,
            header,
            exact: taken.exact,
            maximum: taken.maximum,
            symbolic_maximum: taken.symbolic_maximum,
            assumed: predicated.count,
            assumptions: predicated.assumptions,
        });
    }
    let around = (0..function.blocks().len())
        .map(Block::from_index)
        .map(|block| {
            let contains = |&index: &usize| query.contains(headers[index], block);
            (0..headers.len()).filter(contains).collect()
        })
        .collect();
    let expressions = query.expressions().clone();
    drop(query);
    let flow = ControlFlow::of(&function);
    let mut instructions = BTreeMap::new();
    let mut starts = BTreeMap::new();
    for &block in function.block_order() {
        if !flow.is_reachable(block) {
            continue;
        }
        let mut is_first = true;
        for instruction in function.instructions_of(block) {
            if let Some(place) = function.location(instruction).and_then(place) {
                instructions.insert(place, instruction);
                if is_first {
                    starts.insert(place, block);
                }
            }
            is_first = false;
        }
    }
    let homes = function
        .values()
        .iter()
        .map(|(_, data)| {
            let register = data.name.expand()?;
            let span = function.registers()[register].name.span();
            Some(names.get(span.range())?.to_owned())
        })
        .collect();
    Prediction {
        name,
        function,
        expressions,
        values,
        loops,
        around,
        instructions,
        starts,
        homes,
    }
}

fn said(query: &mut Query<'_>, value: Value) -> Option<(Expression, Range)> {
    let expression = query.expression(value);
    let range = query.value_range(value)?;
    // It says more: that nothing wraps.
    Some((query.widened(expression), range))
}

/// One call of a function by one thread.
#[derive(Debug, Default)]
struct Frame {
    prediction: usize,
    /// The block of the last instruction.
    block: Option<Block>,
    /// Results that are in their registers when the next instruction comes.
    pending: Vec<Value>,
    values: BTreeMap<Value, u64>,
    /// What parameters of the kernel hold from a byte on, in so many bits, once they were loaded.
    parameters: BTreeMap<(Symbol, u32, u32), u64>,
    /// By loop: how often its back edge was taken since it was entered, now or the last time.
    iterations: BTreeMap<usize, u64>,
    /// By loop that was entered and not left: what was predicted when it was.
    entered: BTreeMap<usize, Expected>,
}

#[derive(Clone, Debug, Default)]
struct Expected {
    behind: Vec<(Value, u64)>,
    exact: Option<u64>,
    most: Option<u64>,
    assumed: Option<u64>,
}

/// The parameter that an expression is, with zeros or its sign above, and its width.
fn loaded(expressions: &Expressions, expression: Expression) -> Option<(Symbol, u32, u32)> {
    let inner = match expressions.kind(expression) {
        Kind::ZeroExtend | Kind::SignExtend => expressions.operands(expression)[0],
        _ => expression,
    };
    match expressions.as_leaf(inner)? {
        Leaf::Parameter(symbol, offset) => Some((symbol, offset, expressions.bits(inner))),
        _ => None,
    }
}

type Thread = ([u32; 3], [u32; 3]);

#[derive(Debug, Default)]
struct Watched {
    frames: BTreeMap<Thread, Vec<Frame>>,
    compared: Compared,
    violations: Vec<String>,
}

/// Watches a launch.
#[derive(Debug)]
pub struct Watcher {
    predictions: Vec<Prediction>,
    grid: [u32; 3],
    shape: [u32; 3],
    watched: Mutex<Watched>,
}

/// Of so many threads of a block one is watched.
const ONE_OF: u32 = 29;
/// So many violations are enough.
const ENOUGH: usize = 8;

impl Watcher {
    /// Watches a launch of this shape.
    pub fn new(predictions: Vec<Prediction>, grid: [u32; 3], block: [u32; 3]) -> Watcher {
        Watcher {
            predictions,
            grid,
            shape: block,
            watched: Mutex::default(),
        }
    }

    /// What was compared, and what was wrong.
    pub fn result(&self) -> (Compared, Vec<String>) {
        let watched = self.watched.lock().expect("no thread panicked");
        (watched.compared, watched.violations.clone())
    }

    fn special(&self, thread: Thread, special: SpecialRegister) -> Option<u64> {
        use SpecialRegisterKind::*;
        let index = match special.component() {
            Some(Component::X) => 0,
            Some(Component::Y) => 1,
            Some(Component::Z) => 2,
            _ => return None,
        };
        let value = match special.kind() {
            Tid => thread.1[index],
            Ntid => self.shape[index],
            Ctaid => thread.0[index],
            Nctaid => self.grid[index],
            _ => return None,
        };
        Some(value.into())
    }

    fn evaluate(&self, frame: &Frame, thread: Thread, expression: Expression) -> Option<u64> {
        let prediction = &self.predictions[frame.prediction];
        let leaf = |leaf: Leaf, bits: u32| match leaf {
            Leaf::Value(value) => frame.values.get(&value).copied(),
            Leaf::Special(special) => self.special(thread, special),
            Leaf::Parameter(symbol, offset) => {
                frame.parameters.get(&(symbol, offset, bits)).copied()
            }
            Leaf::Start(_) | Leaf::Symbol(_) => None,
        };
        let iteration = |header: Block| {
            let index = prediction
                .loops
                .iter()
                .position(|own| own.header == header)?;
            frame.iterations.get(&index).copied()
        };
        prediction.expressions.evaluate(expression, leaf, iteration)
    }

    /// What is predicted of a loop that is entered now.
    fn expected(&self, frame: &Frame, thread: Thread, index: usize) -> Expected {
        let prediction = &self.predictions[frame.prediction];
        let predicted = &prediction.loops[index];
        let holds = |assumption: &Assumption| match *assumption {
            Assumption::Compare(relation, left, right) => {
                let bits = prediction.expressions.bits(left);
                let left = self.evaluate(frame, thread, left)?;
                let right = self.evaluate(frame, thread, right)?;
                Some(relation.holds(left, right, bits))
            }
            Assumption::Multiple(expression, factor) => {
                Some(self.evaluate(frame, thread, expression)? % factor == 0)
            }
            Assumption::NoWrap(..) => None,
        };
        let all_hold = predicted
            .assumptions
            .iter()
            .all(|assumption| holds(assumption) == Some(true));
        let behind = predicted.behind.iter();
        Expected {
            behind: behind
                .filter_map(|&(own, it)| Some((own, self.evaluate(frame, thread, it)?)))
                .collect(),
            exact: self.evaluate(frame, thread, predicted.exact),
            most: self.evaluate(frame, thread, predicted.symbolic_maximum),
            assumed: match all_hold && !predicted.assumptions.is_empty() {
                true => self.evaluate(frame, thread, predicted.assumed),
                false => None,
            },
        }
    }

    /// A thread comes to an instruction.
    fn arrive(&self, watched: &mut Watched, thread: Thread, step: &Step<'_>, lane: usize) {
        let Watched {
            frames,
            compared,
            violations,
        } = watched;
        let stack = frames.entry(thread).or_default();
        // A call that ended, or one that started.
        stack.truncate(step.depth + 1);
        while stack.len() <= step.depth {
            stack.push(Frame {
                prediction: usize::MAX,
                ..Frame::default()
            });
        }
        let frame = stack.last_mut().expect("pushed above");
        let Some(index) = self
            .predictions
            .iter()
            .position(|it| it.name == step.function)
        else {
            return;
        };
        if frame.prediction != index {
            *frame = Frame {
                prediction: index,
                ..Frame::default()
            };
        }
        let prediction = &self.predictions[index];
        let mut read = |value: Value| {
            let name = prediction.homes[value.index()].as_ref()?;
            let mut slots = step.register_names().iter().enumerate();
            let (slot, _) = slots.find(|(_, own)| *own == name)?;
            // One of several of that name.
            if slots.any(|(_, own)| own == name) {
                return None;
            }
            let bits = prediction.function.values()[value].scalar_type.bits();
            Some(step.register(slot, lane)? & oriole_analysis::mask(bits))
        };
        for value in std::mem::take(&mut frame.pending) {
            if let Some(bits) = read(value) {
                frame.values.insert(value, bits);
                let said = prediction.values[value.index()].as_ref();
                let parameter = said.and_then(|it| loaded(&prediction.expressions, it.0));
                if let Some((symbol, offset, width)) = parameter {
                    let held = bits & oriole_analysis::mask(width);
                    let parameter = frame.parameters.entry((symbol, offset, width));
                    if *parameter.or_insert(held) != held {
                        violations.push(format!("{value}: a parameter changed"));
                    }
                }
                let wrong = self.check_value(frame, thread, value, bits, compared);
                violations.extend(wrong);
            }
        }
        if !step.is_first {
            return;
        }
        let place = step.span.start;
        if let Some(&block) = prediction.starts.get(&place) {
            self.enter(frame, thread, block, compared, violations, &mut read);
        }
        if let Some(&instruction) = prediction.instructions.get(&place) {
            frame.block = prediction.function.block_of(instruction);
            frame
                .pending
                .extend(prediction.function.results(instruction));
        }
    }

    /// A thread comes to the start of a block.
    fn enter(
        &self,
        frame: &mut Frame,
        thread: Thread,
        block: Block,
        compared: &mut Compared,
        violations: &mut Vec<String>,
        read: &mut dyn FnMut(Value) -> Option<u64>,
    ) {
        let prediction = &self.predictions[frame.prediction];
        let around = &prediction.around[block.index()];
        let left: Vec<usize> = frame
            .entered
            .keys()
            .copied()
            .filter(|index| !around.contains(index))
            .collect();
        for index in left {
            let expected = frame.entered.remove(&index).expect("entered");
            let wrong = self.check_count(frame, thread, index, expected, compared);
            violations.extend(wrong);
        }
        let parameters = &prediction.function.blocks()[block].parameters;
        let is_header = around
            .last()
            .copied()
            .filter(|&index| prediction.loops[index].header == block);
        let header = is_header.or_else(|| {
            let is_header = |&&index: &&usize| prediction.loops[index].header == block;
            around.iter().find(is_header).copied()
        });
        let is_entered = header.is_some_and(|index| !frame.entered.contains_key(&index));
        if let Some(index) = header {
            match is_entered {
                true => frame.iterations.insert(index, 0),
                false => {
                    let count = frame.iterations.get(&index).copied().unwrap_or(0) + 1;
                    frame.iterations.insert(index, count)
                }
            };
        }
        for &parameter in parameters {
            match read(parameter) {
                Some(bits) => {
                    frame.values.insert(parameter, bits);
                }
                None => {
                    frame.values.remove(&parameter);
                }
            }
        }
        for &parameter in parameters {
            if let Some(&bits) = frame.values.get(&parameter) {
                let wrong = self.check_value(frame, thread, parameter, bits, compared);
                violations.extend(wrong);
            }
        }
        if let (Some(index), true) = (header, is_entered) {
            let expected = self.expected(frame, thread, index);
            frame.entered.insert(index, expected);
        }
    }

    fn check_value(
        &self,
        frame: &Frame,
        thread: Thread,
        value: Value,
        bits: u64,
        compared: &mut Compared,
    ) -> Option<String> {
        let prediction = &self.predictions[frame.prediction];
        let &(expression, range) = prediction.values[value.index()].as_ref()?;
        let name = &prediction.name;
        compared.ranges += 1;
        if !range.contains(bits) {
            return Some(format!("{name}: {value} is {bits}, not in {range}"));
        }
        let width = prediction.expressions.bits(expression);
        let expected = self.evaluate(frame, thread, expression)?;
        compared.expressions += 1;
        (expected != bits).then(|| {
            let signed = sign_extend(bits, width);
            format!("{name}: {value} is {bits} ({signed}), not {expected}")
        })
    }

    fn check_count(
        &self,
        frame: &Frame,
        thread: Thread,
        index: usize,
        expected: Expected,
        compared: &mut Compared,
    ) -> Option<String> {
        let prediction = &self.predictions[frame.prediction];
        let predicted = &prediction.loops[index];
        let taken = frame.iterations.get(&index).copied()?;
        compared.left += 1;
        let what = format!("{}: {} in {thread:?}", prediction.name, predicted.header);
        if let Some(maximum) = predicted.maximum {
            compared.maxima += 1;
            if taken > maximum {
                return Some(format!("{what}: {taken} iterations, more than {maximum}"));
            }
        }
        for (value, behind) in expected.behind {
            let Some(&bits) = frame.values.get(&value) else {
                continue;
            };
            compared.behind += 1;
            if bits != behind {
                return Some(format!("{what}: {value} is {bits} behind it, not {behind}"));
            }
        }
        if let Some(most) = expected.most {
            compared.maxima += 1;
            if taken > most {
                return Some(format!("{what}: {taken} iterations, more than {most}"));
            }
        }
        if let Some(exact) = expected.exact {
            compared.counts += 1;
            if taken != exact {
                return Some(format!("{what}: {taken} iterations, not {exact}"));
            }
        }
        if let Some(assumed) = expected.assumed {
            compared.assumed += 1;
            if taken != assumed {
                return Some(format!(
                    "{what}: {taken} iterations, not {assumed} as assumed"
                ));
            }
        }
        None
    }
}

impl Observer for Watcher {
    fn step(&self, step: &Step<'_>) {
        for lane in 0..step.threads.len().min(32) {
            if step.lanes >> lane & 1 == 0 {
                continue;
            }
            let thread = step.threads[lane];
            let number = thread[0] + 7 * thread[1] + 13 * thread[2] + 3 * step.block[0];
            if !number.is_multiple_of(ONE_OF) {
                continue;
            }
            let watched = &mut *self.watched.lock().expect("no thread panicked");
            if watched.violations.len() < ENOUGH {
                self.arrive(watched, (step.block, thread), step, lane);
            }
        }
    }
}
