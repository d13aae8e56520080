//! What is wrong with a kernel besides what its accesses cost: each kind of finding with its rule.
//!
//! Rules are made so that what is found is worth reading: where it cannot be told whether something is wrong, nothing is said.

mod accesses;
mod divergence;
mod double_precision;
mod kind;
mod loads;
mod local;
mod origins;
mod picture;
mod pressure;
mod roots;

pub use kind::FindingKind;
pub use picture::picture;
pub(crate) use pressure::least_registers;

use crate::remarks::SourceLine;
use crate::report::Facts;
use origins::Origins;
use oriole_analysis::lane_patterns::{LanePatterns, Setting};
use oriole_analysis::memory_requests::{RequestCost, executions};
use oriole_analysis::scalar_evolution::ScalarEvolution;
use oriole_analysis::{
    Analyses, ControlFlow, Dominators, Loops, PostDominators, Uniformity as UniformValues,
};
use oriole_ir::{Block, Environment, Function, Instruction, Value};
use roots::Roots;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Something that is wrong, and where.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Finding {
    /// What it is.
    pub kind: FindingKind,
    /// The part of its severity that the rule decides.
    pub impact: Impact,
    /// The line in the PTX.
    pub line: u32,
    /// Where the instruction's mnemonic starts in the text.
    pub offset: u32,
    /// The line in the source.
    pub source: Option<SourceLine>,
    /// The column there, from 1, where the PTX says one.
    pub column: Option<u32>,
    /// The callers, if it was inlined, innermost first.
    pub inlined_at: Vec<SourceLine>,
    /// The instruction, without operands.
    pub mnemonic: String,
    /// What is wrong, in a clause.
    pub what: String,
    /// The reason, in a clause.
    pub why: String,
    /// Numbers of the clauses.
    pub facts: Facts,
    /// What is wasted, about, in sectors, wavefronts or instructions of a warp, times how often.
    pub weight: f64,
    /// Instructions of the line that the finding is about.
    pub count: u32,
}

/// The part of a severity that a rule decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impact {
    /// Little: the machine may hide it, or it is rare.
    Minor,
    /// As much as findings of the kind have.
    Usual,
    /// The kernel does not work as it is.
    Wrong,
}

/// A finding, by instruction.
pub(crate) struct Found {
    kind: FindingKind,
    impact: Impact,
    instruction: Instruction,
    what: String,
    why: String,
    facts: Facts,
    weight: f64,
}

/// Where an instruction stands.
pub(crate) struct Place {
    /// Its line in the PTX.
    pub line: u32,
    /// Where its mnemonic starts in the text.
    pub offset: u32,
    /// Its mnemonic as the text has it: a pass may have found the state space of a generic access.
    pub mnemonic: String,
    /// Its line in the source.
    pub source: Option<SourceLine>,
    /// The callers, if it was inlined, innermost first.
    pub inlined_at: Vec<SourceLine>,
    /// Its column there, from 1.
    pub column: Option<u32>,
}

/// What rules look at.
pub(crate) struct Subject<'run> {
    function: &'run Function,
    text: &'run str,
    environment: Environment,
    flow: Rc<ControlFlow>,
    dominators: Rc<Dominators>,
    post_dominators: Rc<PostDominators>,
    loops: Rc<Loops>,
    uniform: Rc<UniformValues>,
    evolution: &'run ScalarEvolution,
    setting: &'run Setting,
    costs: &'run [RequestCost],
    /// Accesses that were generic before it was found which state space they reach.
    generic: &'run [Instruction],
    place: &'run dyn Fn(Instruction) -> Option<Place>,
    known_least: Option<u32>,
    least_registers: &'run dyn Fn() -> Option<u32>,
    /// What addresses were computed from, and why values differ by lane, once that was asked.
    roots: OnceCell<Roots>,
    origins: OnceCell<Origins>,
}

impl Subject<'_> {
    /// What addresses were computed from.
    fn roots(&self) -> &Roots {
        self.roots.get_or_init(|| Roots::of(self))
    }

    /// Where it comes from that values differ from lane to lane.
    fn origins(&self) -> &Origins {
        self.origins.get_or_init(|| Origins::of(self))
    }

    /// The name of a variable or parameter.
    fn name(&self, symbol: oriole_ir::Symbol) -> &str {
        let name = self.function.symbols()[symbol].name;
        let span = name.span();
        let text = self.text.get(span.start as usize..span.end as usize);
        text.unwrap_or("?")
    }

    /// Whether control comes to some block again.
    fn has_cycles(&self) -> bool {
        self.loops.iter().next().is_some() || !self.loops.irreducible_edges().is_empty()
    }

    /// How often a block is executed, about.
    fn executions(&self, block: Block) -> f64 {
        executions(&mut self.evolution.on(self.function), &self.loops, block)
    }

    /// A value as messages name it: by its register.
    fn register(&self, value: Value) -> String {
        let name = self.function.values()[value].name.expand();
        let name = name.map(|register| self.function.registers()[register].name.span());
        let text = name.and_then(|span| self.text.get(span.start as usize..span.end as usize));
        text.map_or_else(|| "a value".to_owned(), str::to_owned)
    }

    /// Where an instruction stands, in words.
    fn at(&self, instruction: Instruction) -> String {
        match (self.place)(instruction) {
            Some(Place {
                line,
                source: Some(source),
                ..
            }) => format!("{source} (PTX {line})"),
            Some(Place { line, .. }) => format!("PTX line {line}"),
            None => "another line".to_owned(),
        }
    }

    /// Instructions in order.
    fn instructions(&self) -> impl Iterator<Item = (Block, Instruction)> + '_ {
        let blocks = self.function.block_order().iter().copied();
        let reachable = blocks.filter(|&block| self.flow.is_reachable(block));
        reachable.flat_map(move |block| {
            let instructions = self.function.instructions_of(block);
            instructions.map(move |instruction| (block, instruction))
        })
    }

    /// Asks about the first warp of a block.
    fn ask<T>(
        &self,
        analyses: &mut Analyses,
        questions: impl FnMut(&mut LanePatterns<'_>) -> T,
    ) -> T {
        let query = self.evolution.on(self.function);
        let mut patterns = LanePatterns::new(self.function, analyses, self.setting.clone(), query);
        patterns.ask(0, questions)
    }
}

/// What a kernel is analyzed with.
pub(crate) struct Input<'run> {
    /// The kernel.
    pub function: &'run Function,
    /// The text of its module.
    pub text: &'run str,
    /// How it is launched.
    pub setting: &'run Setting,
    /// The evolution of its integers in such launches.
    pub evolution: &'run ScalarEvolution,
    /// What its accesses cost.
    pub costs: &'run [RequestCost],
    /// Its generic accesses before state spaces were found.
    pub generic: &'run [Instruction],
    /// Where instructions stand.
    pub place: &'run dyn Fn(Instruction) -> Option<Place>,
    /// The registers that it needs, if they were counted before.
    pub known_least: Option<u32>,
    /// Likewise; takes longer than the rest.
    pub least_registers: &'run dyn Fn() -> Option<u32>,
}

/// Generic accesses of a function.
pub(crate) fn generic_accesses(function: &Function) -> Vec<Instruction> {
    let mut found = Vec::new();
    for &block in function.block_order() {
        let instructions = function.instructions_of(block);
        found.extend(instructions.filter(|&instruction| {
            let access = function.access(instruction);
            access.is_some_and(|access| access.space == oriole_isa::Space::Generic)
        }));
    }
    found
}

/// What is wrong with a kernel, in order of its lines. Findings of one kind at one line of the source are one.
pub(crate) fn find(input: &Input<'_>, analyses: &mut Analyses) -> Vec<Finding> {
    let function = input.function;
    let subject = Subject {
        function,
        text: input.text,
        environment: analyses.environment().clone(),
        flow: analyses.get::<ControlFlow>(function),
        dominators: analyses.get::<Dominators>(function),
        post_dominators: analyses.get::<PostDominators>(function),
        loops: analyses.get::<Loops>(function),
        uniform: analyses.get::<UniformValues>(function),
        evolution: input.evolution,
        setting: input.setting,
        costs: input.costs,
        generic: input.generic,
        place: input.place,
        known_least: input.known_least,
        least_registers: input.least_registers,
        roots: OnceCell::new(),
        origins: OnceCell::new(),
    };
    let mut found = Vec::new();
    loads::find(&subject, &mut found);
    divergence::find(&subject, analyses, &mut found);
    double_precision::find(&subject, &mut found);
    local::find(&subject, analyses, &mut found);
    accesses::find(&subject, analyses, &mut found);
    merged(&subject, found)
}

/// Findings with their places, those of one kind at one line together.
fn merged(subject: &Subject<'_>, found: Vec<Found>) -> Vec<Finding> {
    let mut findings: Vec<(Finding, u32)> = Vec::new();
    // By kind, and by the line of the source or else of the PTX.
    let mut places: BTreeMap<(FindingKind, Option<SourceLine>, u32), usize> = BTreeMap::new();
    for own in found {
        let Some(place) = (subject.place)(own.instruction) else {
            continue;
        };
        let line = match place.source {
            Some(_) => 0,
            None => place.line,
        };
        let key = (own.kind, place.source.clone(), line);
        if let Some(&at) = places.get(&key) {
            let (finding, more) = &mut findings[at];
            finding.weight += own.weight;
            if own.impact == Impact::Wrong || finding.impact == Impact::Minor {
                finding.impact = own.impact;
            }
            *more += 1;
            continue;
        }
        places.insert(key, findings.len());
        let finding = Finding {
            kind: own.kind,
            impact: own.impact,
            line: place.line,
            offset: place.offset,
            source: place.source,
            column: place.column,
            inlined_at: place.inlined_at,
            mnemonic: place.mnemonic,
            what: own.what,
            why: own.why,
            facts: own.facts,
            weight: own.weight,
            count: 1,
        };
        findings.push((finding, 0));
    }
    let with_count = |(mut finding, more): (Finding, u32)| {
        finding.count += more;
        finding
    };
    let mut findings: Vec<Finding> = findings.into_iter().map(with_count).collect();
    findings.sort_by_key(|finding| finding.line);
    findings
}
