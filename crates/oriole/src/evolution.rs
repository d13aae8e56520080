//! What ScalarEvolution says of each function: its loops with their counts, and its values with their expressions.

use crate::blocks;
use crate::error_of;
use crate::remarks::SourceLine;
use crate::targets::{target_of, unlisted_target};
use oriole_analysis::Analyses;
use oriole_analysis::launch::LaunchShape;
use oriole_analysis::scalar_evolution::{
    Assumption, CountKind, Expression, Knobs, Names, Query, ScalarEvolution,
};
use oriole_analysis::source_lines::{SourceFiles, SourceLines};
use oriole_diagnostics::{Diagnostic, Error, Severity, Source};
use oriole_ir::{Block, Definition, Environment, Formats, Function, FunctionId, Instruction};
use oriole_isa::{Flag, Opcode};
use oriole_opt::{Callees, Context, Fuel, Hooks, Statistics};
use oriole_syntax::scopes::{Globals, Scopes};
use oriole_syntax::tree::{Body, Module, Statement};
use oriole_translate::Translated;
use std::sync::Arc;

/// What to ask.
#[derive(Clone, Debug, Default)]
pub struct EvolutionOptions {
    /// The shape of blocks, if it is known; else what the kernel says.
    pub block: Option<[u32; 3]>,
    /// The shape of the grid, if it is known.
    pub grid: Option<[u32; 3]>,
    /// Whether local variables stay in memory. If not, those whose address is nowhere taken are values, and counters among them are
    /// seen.
    pub keep_local_variables: bool,
    /// Only the function of this name.
    pub function: Option<String>,
    /// Whether values are left out.
    pub without_values: bool,
    /// Limits.
    pub knobs: Knobs,
}

/// What is known of a count.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CountReport {
    /// How much is known, assumptions included.
    pub kind: CountKind,
    /// The number, or the largest.
    pub value: Option<u64>,
    /// The expression; if the kind is that of a maximum, what the count is at most.
    pub expression: Option<String>,
    /// What it takes for granted.
    pub assumptions: Vec<String>,
}

/// An exit of a loop.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExitReport {
    /// Its line in the PTX.
    pub line: u32,
    /// Its line in the source.
    pub source: Option<SourceLine>,
    /// How often the back edge is taken before it is.
    pub count: CountReport,
}

impl std::fmt::Display for CountReport {
    /// How often the back edge is taken, as a sentence goes on behind it.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.kind, &self.expression, self.value) {
            (CountKind::Exact, Some(_), Some(value)) => write!(formatter, "taken {value} times")?,
            (CountKind::Symbolic, Some(expression), None) => {
                write!(formatter, "taken {expression} times")?;
            }
            (CountKind::Symbolic, Some(expression), Some(most)) => {
                write!(formatter, "taken {expression} times, at most {most}")?;
            }
            (CountKind::Maximum, Some(expression), most) => {
                write!(formatter, "taken at most {expression} times")?;
                if let Some(most) = most {
                    write!(formatter, ", at most {most}")?;
                }
            }
            (CountKind::Maximum, None, Some(most)) => {
                write!(formatter, "taken at most {most} times")?;
            }
            _ => formatter.write_str("taken an unknown number of times")?,
        }
        for (index, assumption) in self.assumptions.iter().enumerate() {
            let word = if index == 0 { ", if" } else { " and" };
            write!(formatter, "{word} {assumption}")?;
        }
        Ok(())
    }
}

/// A loop.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoopReport {
    /// Its label, or else its line.
    pub name: String,
    /// The first line of its header in the PTX.
    pub line: u32,
    /// Its line in the source.
    pub source: Option<SourceLine>,
    /// How many loops there are around and including it.
    pub depth: u32,
    /// How often its back edges are taken.
    pub count: CountReport,
    /// Its exits.
    pub exits: Vec<ExitReport>,
}

/// A value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ValueReport {
    /// The register it came from, or its number.
    pub name: String,
    /// Its line in the PTX.
    pub line: u32,
    /// Its line in the source.
    pub source: Option<SourceLine>,
    /// What it is.
    pub expression: String,
    /// Where it lies.
    pub range: String,
    /// What it is when the loop is left at whose header it joins, if that is known before.
    pub behind: Option<String>,
}

/// A function.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EvolutionReport {
    /// Its name.
    pub name: String,
    /// Its loops, outer before inner.
    pub loops: Vec<LoopReport>,
    /// Its integers, in order.
    pub values: Vec<ValueReport>,
}

/// A function in SSA form; nothing but a note if it cannot be told where control goes, so that nothing can be said of it.
pub(crate) fn translated_or_noted(
    module: &Module,
    globals: &Globals,
    index: usize,
    formats: &mut Formats,
    notes: &mut Vec<Diagnostic>,
) -> Result<Option<Translated>, Vec<Diagnostic>> {
    match oriole_translate::into_ssa(module, globals, index, formats) {
        Ok(translated) => Ok(Some(translated)),
        Err(errors) if errors.iter().all(|own| own.severity == Severity::Note) => {
            notes.extend(errors);
            Ok(None)
        }
        Err(errors) => Err(errors),
    }
}

/// What ScalarEvolution says of the functions of a module, and notes about those it can say nothing of.
///
/// # Errors
/// What is wrong with the module.
pub fn evolution(
    module: &Module,
    options: &EvolutionOptions,
) -> Result<(Vec<EvolutionReport>, Vec<Diagnostic>), Error> {
    evolution_of(module, options).map_err(|errors| error_of(module, errors))
}

fn evolution_of(
    module: &Module,
    options: &EvolutionOptions,
) -> Result<(Vec<EvolutionReport>, Vec<Diagnostic>), Vec<Diagnostic>> {
    let (globals, errors) = Globals::of(module);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut declared = oriole_translate::module_of(module, &globals);
    declared.limits = target_of(module).limits();
    let declared = Arc::new(declared);
    let files = SourceFiles::of(&declared, module);
    let source = Source::new(module.name(), module.source());
    let mut reports = Vec::new();
    let is_asked = |name: &str| options.function.as_deref().is_none_or(|own| own == name);
    let mut notes = blocks::check(module, &declared, options.block, is_asked)?;
    notes.extend(unlisted_target(module, None));
    let mut formats = Formats::new();
    for (index, function) in module.functions.iter().enumerate() {
        let Some(body) = &function.body else {
            continue;
        };
        let name = module.text(function.name);
        if options.function.as_deref().is_some_and(|own| own != name) {
            continue;
        }
        let Some(translated) =
            translated_or_noted(module, &globals, index, &mut formats, &mut notes)?
        else {
            continue;
        };
        let mut ssa = translated.function;
        let environment = Environment::new(Arc::clone(&declared), FunctionId::from_index(index));
        if !options.keep_local_variables {
            promote(&mut ssa, &environment);
        }
        let lines = SourceLines::of(module, &files, body);
        let line_of = |statement: u32| line_of(body, &source, statement);
        // Any kernel may call a function, but the launch that was asked about is one.
        let mut bounds = LaunchShape::of(&environment, function.kind);
        bounds.block = blocks::allowed(options.block, environment.bounds()).or(bounds.block);
        bounds.grid = options.grid;
        let scopes = &translated.scopes;
        let label_of = |label: u32| label_of(module, scopes, label);
        let reporter = Reporter {
            label_of: &label_of,
            function: &ssa,
            text: module.whole_text(),
            line_of: &line_of,
            lines: &lines,
        };
        let (loops, values, wrong) = reporter.report(bounds, options);
        if !wrong.is_empty() {
            let message = format!("`{name}` is not what it was at first: {}", wrong.join("; "));
            let place = function.name.span();
            return Err(vec![Diagnostic::error("scalar-evolution", place, message)]);
        }
        reports.push(EvolutionReport {
            name: name.to_owned(),
            loops,
            values,
        });
        formats = ssa.into_formats();
    }
    Ok((reports, notes))
}

/// Passes by which accesses through the stack pointer name the variable they reach, and variables become values.
const PROMOTING: [&str; 4] = [
    "address-spaces",
    "copy-propagation",
    "dead-code",
    "local-promotion",
];

/// Makes values of local variables whose address is nowhere taken, once accesses name them.
fn promote(function: &mut Function, environment: &Environment) {
    if oriole_analysis::memory::has_local_variables(function) {
        let mut analyses = Analyses::of(environment.clone());
        run_passes(function, &mut analyses, &PROMOTING);
    }
}

/// Likewise, and has accesses name the state space that they reach. Gives whether the function may have changed.
pub(crate) fn name_spaces(function: &mut Function, analyses: &mut Analyses) -> bool {
    let passes = match oriole_analysis::memory::has_local_variables(function) {
        true => &PROMOTING[..],
        false if converts_addresses(function) => &PROMOTING[..1],
        false => return false,
    };
    run_passes(function, analyses, passes);
    true
}

/// Whether there is an address that becomes generic, without which there is nothing to find its state space by.
fn converts_addresses(function: &Function) -> bool {
    function.block_order().iter().any(|&block| {
        function.instructions_of(block).any(|instruction| {
            let mnemonic = &function.format(instruction).mnemonic;
            mnemonic.opcode() == Opcode::Cvta && !mnemonic.has(Flag::ToSpace)
        })
    })
}

fn run_passes(function: &mut Function, analyses: &mut Analyses, passes: &[&str]) {
    let Ok(phases) = oriole_opt::select(passes.iter().copied()) else {
        return;
    };
    let environment = &analyses.environment().clone();
    let mut context = Context {
        knobs: &oriole_opt::Knobs::default(),
        fuel: &mut Fuel::unlimited(),
        statistics: &mut Statistics::default(),
        remarks: None,
        hooks: &Hooks::default(),
        environment,
        callees: &Callees::default(),
    };
    oriole_opt::run(function, analyses, &phases, &mut context, None);
}

/// The loops of a function whose local variables are values, outer before inner.
pub(crate) fn loops(
    module: &Module,
    body: &Body,
    scopes: &Scopes,
    lines: &SourceLines<'_>,
    source: &Source<'_>,
    function: &Function,
    evolution: &ScalarEvolution,
) -> Vec<LoopReport> {
    let reporter = Reporter {
        function,
        text: module.whole_text(),
        line_of: &|statement| line_of(body, source, statement),
        label_of: &|label| label_of(module, scopes, label),
        lines,
    };
    reporter.loops(evolution)
}

/// The line of a statement in the PTX.
fn line_of(body: &Body, source: &Source<'_>, statement: u32) -> u32 {
    match body.statements.get(statement as usize) {
        Some(Statement::Instruction(own)) => source.position(own.mnemonic.span().start).line,
        _ => 0,
    }
}

fn label_of(module: &Module, scopes: &Scopes, label: u32) -> Option<String> {
    let label = scopes.labels.get(label as usize)?;
    Some(module.text(label.name).to_owned())
}

struct Reporter<'report> {
    function: &'report Function,
    text: &'report str,
    line_of: &'report dyn Fn(u32) -> u32,
    label_of: &'report dyn Fn(u32) -> Option<String>,
    lines: &'report SourceLines<'report>,
}

impl Reporter<'_> {
    /// Loops, values, and what knobs that ask for verification found to be wrong.
    fn report(
        &self,
        bounds: LaunchShape,
        options: &EvolutionOptions,
    ) -> (Vec<LoopReport>, Vec<ValueReport>, Vec<String>) {
        let evolution = ScalarEvolution::new(self.function, bounds, options.knobs);
        let loops = self.loops(&evolution);
        let mut query = evolution.on(self.function);
        let header = |header: Block| self.loop_name(header);
        let names = Names {
            text: self.text,
            header: &header,
        };
        let mut values = Vec::new();
        let blocks = match options.without_values {
            true => &[],
            false => self.function.block_order(),
        };
        for &block in blocks {
            let parameters = &self.function.blocks()[block].parameters;
            let first = self.function.instructions_of(block).next();
            for &parameter in parameters {
                self.value_report(&mut query, &names, parameter, first, &mut values);
            }
            for instruction in self.function.instructions_of(block) {
                for result in self.function.results(instruction) {
                    self.value_report(&mut query, &names, result, Some(instruction), &mut values);
                }
            }
        }
        drop(query);
        (loops, values, evolution.verify_by_knobs(self.function))
    }

    /// Loops, outer before inner.
    fn loops(&self, evolution: &ScalarEvolution) -> Vec<LoopReport> {
        let mut query = evolution.on(self.function);
        let header = |header: Block| self.loop_name(header);
        let names = Names {
            text: self.text,
            header: &header,
        };
        let headers = query.headers().into_iter();
        headers
            .map(|header| self.loop_report(&mut query, &names, header))
            .collect()
    }

    /// The line of an instruction in the PTX and in the source.
    fn at(&self, instruction: Instruction) -> Option<(u32, Option<SourceLine>)> {
        let statement = self.function.location(instruction)?;
        Some(((self.line_of)(statement), self.lines.at(statement)))
    }

    /// The line of the first instruction of a block that has one, or else of the first block behind it that has.
    fn place(&self, block: Block) -> (u32, Option<SourceLine>) {
        let order = self.function.block_order();
        let start = order.iter().position(|&own| own == block).unwrap_or(0);
        let mut instructions = order[start..]
            .iter()
            .flat_map(|&block| self.function.instructions_of(block));
        instructions
            .find_map(|instruction| self.at(instruction))
            .unwrap_or((0, None))
    }

    /// The label of a loop, or else its line in the PTX.
    fn loop_name(&self, header: Block) -> String {
        let label = self.function.blocks()[header].label;
        let label = label.and_then(|label| (self.label_of)(label));
        label.unwrap_or_else(|| format!("line {}", self.place(header).0))
    }

    /// The line of the last instruction of a block.
    fn end(&self, block: Block) -> (u32, Option<SourceLine>) {
        let last = self.function.last_instruction(block);
        last.and_then(|last| self.at(last))
            .unwrap_or_else(|| self.place(block))
    }

    fn loop_report(&self, query: &mut Query<'_>, names: &Names<'_>, header: Block) -> LoopReport {
        let taken = query.backedge_taken(header).expect("a header");
        let predicated = query.predicated_backedge_taken(header).expect("a header");
        let mut count = count_report(
            query,
            names,
            predicated.count,
            &predicated.assumptions,
            taken.maximum,
        );
        let most = taken.symbolic_maximum;
        if count.expression.is_none() && query.expressions().as_constant(most).is_none() {
            let is_known = !query.expressions().is_unknown(most);
            count.expression = is_known.then(|| query.print(names, most));
            if is_known {
                count.kind = CountKind::Maximum;
            }
        }
        let exits = taken
            .exits
            .iter()
            .filter_map(|&from| {
                let exit = query.exit_count_of(header, from)?;
                let (line, source) = self.end(from);
                let (count, assumptions) = match &exit.predicated {
                    Some((count, assumptions)) => (*count, assumptions.as_slice()),
                    None => (exit.exact, [].as_slice()),
                };
                let count = count_report(query, names, count, assumptions, exit.maximum);
                Some(ExitReport {
                    line,
                    source,
                    count,
                })
            })
            .collect();
        let (line, source) = self.place(header);
        LoopReport {
            name: self.loop_name(header),
            line,
            source,
            depth: query.depth(header),
            count,
            exits,
        }
    }

    fn value_report(
        &self,
        query: &mut Query<'_>,
        names: &Names<'_>,
        value: oriole_ir::Value,
        instruction: Option<Instruction>,
        reports: &mut Vec<ValueReport>,
    ) {
        let data = self.function.values()[value];
        if !matches!(data.scalar_type.bits(), 8..=64) || data.scalar_type.is_float() {
            return;
        }
        let expression = query.expression(value);
        let Some(range) = query.value_range(value) else {
            return;
        };
        let bits = data.scalar_type.bits();
        let leaf = query.expressions_mut().unknown(value, bits);
        // What is a leaf without bounds is not worth a line.
        if expression == leaf && range == oriole_analysis::scalar_evolution::Range::full(bits) {
            return;
        }
        let is_parameter = matches!(data.definition, Definition::Parameter(_));
        let place = instruction.and_then(|instruction| self.at(instruction));
        let (line, source) = match (place, data.definition) {
            (Some(place), _) if !is_parameter => place,
            (_, Definition::Parameter(block)) => self.place(block),
            _ => (0, None),
        };
        let behind = match data.definition {
            Definition::Parameter(block) => query.exit_value(value, block),
            _ => None,
        };
        reports.push(ValueReport {
            behind: behind.map(|behind| query.print(names, behind)),
            name: query.print(names, leaf),
            line,
            source,
            expression: query.print(names, expression),
            range: range.to_string(),
        });
    }
}

fn count_report(
    query: &Query<'_>,
    names: &Names<'_>,
    count: Expression,
    assumptions: &[Assumption],
    maximum: Option<u64>,
) -> CountReport {
    let expressions = query.expressions();
    let constant = expressions.as_constant(count);
    let is_known = !expressions.is_unknown(count);
    let kind = match (constant, is_known, maximum) {
        (Some(_), _, _) => CountKind::Exact,
        (None, true, _) => CountKind::Symbolic,
        (None, false, Some(_)) => CountKind::Maximum,
        (None, false, None) => CountKind::Unknown,
    };
    CountReport {
        kind,
        value: constant.or(maximum),
        expression: is_known.then(|| query.print(names, count)),
        assumptions: assumptions
            .iter()
            .map(|assumption| query.print_assumption(names, assumption))
            .collect(),
    }
}
