//! What each kind of test does with its file.

use crate::execution::{self, Execution};
use crate::test_file::{Fact, Section, SectionName, TestFile};
use crate::{Header, Outcome};
use oriole::{
    Diagnostic, Fuel, Keep, Knobs, LaunchLimits, Level, Module, Options, Profile, Source, Verdict,
};
use oriole_analysis::delinearization::Dependence;
use oriole_analysis::liveness;
use oriole_diagnostics::ColorChoice;
use oriole_ir::text::{self, Printer};
use oriole_ir::{Environment, Formats, Function};
use oriole_isa::Target;
use oriole_opt::{Callees, Context, Hooks, Statistics, UnknownProfile};
use oriole_syntax::scopes::{Globals, resolve};
use serde::Deserialize;
use similar::{ChangeTag, TextDiff};
use std::fmt::Write;

/// What is done with a file.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Parse and print.
    Syntax,
    /// Also resolve names, go into SSA form and out again.
    Check,
    /// Show the SSA form.
    Ssa,
    /// Show where registers are live.
    Live,
    /// Run passes.
    Opt,
    /// Read functions in SSA form and run passes on them, one after the other.
    Pass,
    /// Say how often loops run and what integers are.
    Scev,
    /// Say what memory accesses cost.
    Analyze,
    /// Say what is wrong.
    Findings,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Kind; 9] = [
        Kind::Syntax,
        Kind::Check,
        Kind::Ssa,
        Kind::Live,
        Kind::Opt,
        Kind::Pass,
        Kind::Scev,
        Kind::Analyze,
        Kind::Findings,
    ];
}

/// Sections that a file of a kind must have when there is nothing wrong with it: of each group one.
pub(crate) fn required(kind: Kind) -> &'static [&'static [SectionName]] {
    match kind {
        Kind::Syntax | Kind::Check | Kind::Scev | Kind::Analyze | Kind::Findings => &[],
        Kind::Ssa | Kind::Live => &[&[SectionName::Output]],
        Kind::Opt | Kind::Pass => &[&[
            SectionName::Diff,
            SectionName::Unchanged,
            SectionName::Output,
        ]],
    }
}

/// The name that files have in diagnostics, whatever their path.
const NAME: &str = "test.ptx";

/// The percentage of a function's instructions that must run.
const HALF: usize = 50;

/// Does what the file asks for.
pub(crate) fn run(file: &TestFile) -> Outcome {
    let mut run = Run {
        header: &file.header,
        source: Source::new(NAME, &file.source),
        outcome: Outcome::default(),
    };
    if file.header.kind == Kind::Pass {
        let errors = run.passes();
        run.say(&errors);
        return run.finish(&errors);
    }
    let (module, errors) = oriole_syntax::parse(NAME, file.source.as_str());
    if run.say(&errors) {
        return run.finish(&errors);
    }
    run.round_trip(&module);
    if file.header.kind == Kind::Syntax {
        return run.finish(&[]);
    }
    let diagnostics = match file.header.kind {
        Kind::Check => oriole::check_and_warn(&module),
        _ => oriole::check(&module),
    };
    if run.say(&diagnostics) {
        return run.finish(&diagnostics);
    }
    run.out_again(&module);
    match file.header.kind {
        Kind::Syntax | Kind::Check | Kind::Pass => {}
        Kind::Ssa => run.ssa(&module),
        Kind::Live => run.liveness(&module),
        Kind::Scev => run.evolution(&module),
        Kind::Analyze => run.accesses(&module),
        Kind::Findings => run.findings(&module),
        Kind::Opt => {
            let notes = run.optimize(&module);
            run.say(&notes);
            return run.finish(&notes);
        }
    }
    run.finish(&[])
}

struct Run<'file> {
    header: &'file Header,
    source: Source<'file>,
    outcome: Outcome,
}

impl Run<'_> {
    fn finish(mut self, diagnostics: &[Diagnostic]) -> Outcome {
        if !diagnostics.is_empty() {
            let text = diagnostics
                .iter()
                .map(|diagnostic| {
                    oriole_diagnostics::render(&self.source, diagnostic, ColorChoice::Never)
                })
                .collect::<Vec<String>>()
                .join("\n");
            self.section(SectionName::Diagnostics, text);
        }
        self.outcome
    }

    /// Turns diagnostics into facts; gives whether there are any.
    fn say(&mut self, diagnostics: &[Diagnostic]) -> bool {
        for diagnostic in diagnostics {
            let position = self.source.position(diagnostic.span().start);
            self.outcome.facts.push(Fact {
                line: position.line as usize,
                text: format!(
                    "{}[{}] {}: {}",
                    diagnostic.severity.text(),
                    diagnostic.id,
                    position.column,
                    diagnostic.message
                ),
            });
        }
        !diagnostics.is_empty()
    }

    fn fail(&mut self, failure: impl Into<String>) {
        self.outcome.failures.push(failure.into());
    }

    fn section(&mut self, name: SectionName, text: String) {
        self.outcome.sections.push(Section { name, text });
    }

    /// The text of a module, spoiled if the file asks for it.
    fn print(&self, module: &Module) -> String {
        self.spoil(oriole::print(module))
    }

    fn spoil(&self, text: String) -> String {
        match &self.header.sabotage {
            Some([from, to]) => text.replace(from.as_str(), to),
            None => text,
        }
    }

    /// Printing loses nothing, and prints the same when read again.
    fn round_trip(&mut self, module: &Module) {
        let printed = self.print(module);
        let source = self.source.text();
        if let Some(difference) = token_difference(source, &printed) {
            self.fail(format!("printing changes tokens: {difference}"));
        }
        let (before, after) = (
            oriole_syntax::comments(source),
            oriole_syntax::comments(&printed),
        );
        if before != after {
            self.fail("printing changes comments");
        }
        let (again, errors) = oriole_syntax::parse(NAME, printed.as_str());
        if let Some(error) = errors.first() {
            self.fail(format!("the printed text is wrong: {}", error.message));
        } else if self.outcome.failures.is_empty() && self.print(&again) != printed {
            self.fail("printing again gives another text");
        }
    }

    /// Into SSA form and out again, without passes, changes nothing.
    fn out_again(&mut self, module: &Module) {
        let mut copy = module.clone();
        match oriole::optimize(&mut copy, &Options::level(Level::None)) {
            Ok(_) => {
                let printed = self.print(&copy);
                if let Some(difference) = token_difference(self.source.text(), &printed) {
                    self.fail(format!("into SSA form and out: {difference}"));
                }
            }
            Err(error) => self.fail(format!("into SSA form and out: {error}")),
        }
    }

    /// Says how often the back edges of loops are taken, at the first line of each loop, and what integers are, at theirs.
    fn evolution(&mut self, module: &Module) {
        let options = oriole::EvolutionOptions {
            block: self.header.block,
            ..oriole::EvolutionOptions::default()
        };
        let reports = match oriole::evolution(module, &options) {
            Ok((reports, _)) => reports,
            Err(error) => return self.fail(format!("into SSA form: {error}")),
        };
        for report in reports {
            for own in report.loops {
                let text = self.spoil(format!("trips: {}", own.count));
                let line = own.line as usize;
                self.outcome.facts.push(Fact { line, text });
            }
            for value in report.values {
                let range = match value.range.as_str() {
                    "any" => String::new(),
                    range if range == value.expression => String::new(),
                    range => format!(" in {range}"),
                };
                let behind = value
                    .behind
                    .map_or(String::new(), |it| format!(", {it} when the loop is left"));
                let text = format!("scev: {} = {}{range}{behind}", value.name, value.expression);
                let text = self.spoil(text);
                let line = value.line as usize;
                self.outcome.facts.push(Fact { line, text });
            }
        }
    }

    /// What is known of the accesses of all kernels; the test fails if nothing is.
    fn kernels(&mut self, module: &Module) -> Option<Vec<oriole::KernelAccesses>> {
        let options = oriole::AccessOptions {
            block: self.header.block,
            with_summary: true,
            ..oriole::AccessOptions::default()
        };
        match oriole::accesses(module, &options) {
            Ok((kernels, _)) => Some(kernels),
            Err(error) => {
                self.fail(format!("into SSA form: {error}"));
                None
            }
        }
    }

    /// Says what is wrong, with severity and kind.
    fn findings(&mut self, module: &Module) {
        let Some(kernels) = self.kernels(module) else {
            return;
        };
        let kernels = oriole::report::of(module, &kernels);
        for finding in kernels.iter().flat_map(|kernel| &kernel.findings) {
            let (severity, kind) = (finding.severity.text(), finding.kind.text());
            let text = self.spoil(format!("{severity} {kind}: {}", finding.message));
            let line = finding.line as usize;
            self.outcome.facts.push(Fact { line, text });
        }
    }

    /// Says what each access to memory costs: `banks` of shared memory, `coalescing` of others.
    fn accesses(&mut self, module: &Module) {
        let Some(kernels) = self.kernels(module) else {
            return;
        };
        let pairs = kernels.iter().flat_map(|kernel| {
            let own = kernel.dependences.iter();
            own.map(move |own| (kernel, own))
        });
        for (kernel, own) in pairs {
            if own.dependence != Dependence::Unknown && own.lines[0] != own.lines[1] {
                let [first, second] = own.lines;
                let mut accesses = kernel.accesses.iter();
                let other = accesses.find(|access| access.line == first);
                let other = other.map_or("", |access| &access.mnemonic);
                let text = format!("dependence: on `{other}`, {}", own.dependence);
                let (line, text) = (second as usize, self.spoil(text));
                self.outcome.facts.push(Fact { line, text });
            }
        }
        for access in kernels.iter().flat_map(|kernel| &kernel.accesses) {
            let name = match access.is_shared() {
                true => "banks",
                false => "coalescing",
            };
            let text = self.spoil(format!("{name}: {access}"));
            let line = access.line as usize;
            self.outcome.facts.push(Fact { line, text });
            if let Some(array) = access.array.as_ref().filter(|it| it.subscripts.len() > 1) {
                let text = self.spoil(format!("array: {array}"));
                self.outcome.facts.push(Fact { line, text });
            }
            for fix in &access.fixes {
                let text = self.spoil(format!("fix: {fix}"));
                self.outcome.facts.push(Fact { line, text });
            }
            if let Some(wasteful) = access.wasteful() {
                let text = self.spoil(format!("waste: {wasteful}"));
                self.outcome.facts.push(Fact { line, text });
            }
            if !access.cost.strides.is_empty() {
                let text = self.spoil(format!("strides: {}", access.strides()));
                self.outcome.facts.push(Fact { line, text });
            }
        }
    }

    fn liveness(&mut self, module: &Module) {
        let (globals, _) = Globals::of(module);
        let mut text = String::new();
        for function in module.functions.iter().filter(|it| it.body.is_some()) {
            // Names that do not resolve are facts of the file already.
            let (scopes, _) = resolve(module, &globals, function);
            let formats = &mut Formats::new();
            text.push_str(&liveness::text::print(module, function, &scopes, formats));
        }
        let text = self.spoil(text);
        self.section(SectionName::Output, text);
    }

    fn ssa(&mut self, module: &Module) {
        let (globals, _) = Globals::of(module);
        let mut text = String::new();
        for (index, function) in module.functions.iter().enumerate() {
            if function.body.is_none() {
                continue;
            }
            match oriole_translate::into_ssa(module, &globals, index, &mut Formats::new()) {
                Ok(translated) => {
                    text.push_str(&oriole_ir::text::print(
                        module.whole_text(),
                        &translated.function,
                    ));
                }
                Err(errors) => {
                    self.fail(format!("into SSA form: {}", errors.len()));
                }
            }
        }
        let text = self.spoil(text);
        self.section(SectionName::Output, text);
    }

    /// The environment of functions in SSA form for the target of the header.
    fn environment(&self, launch: Option<LaunchLimits>) -> Environment {
        let Some(target) = &self.header.target else {
            return Environment::default();
        };
        let mut module = oriole_ir::Module::new(Target::from_text(target), 64);
        if let (Some(limits), Some(launch)) = (&mut module.limits, launch) {
            limits.launch = limits.launch.or_more(launch);
        }
        Environment::like(module)
    }

    /// The same options without the last of the knobs, if there are knobs.
    fn without_last_knob(&self, options: Options) -> Option<Options> {
        let (_, others) = self.header.knobs.split_last()?;
        let mut knobs = Knobs::default();
        for knob in others {
            knobs.set(knob).expect("set before");
        }
        Some(Options { knobs, ..options })
    }

    /// Runs the passes; gives what they had to say.
    fn optimize(&mut self, module: &Module) -> Vec<Diagnostic> {
        let options = match options(self.header, module.target()) {
            Ok(options) => options,
            Err(error) => {
                self.fail(error);
                return Vec::new();
            }
        };
        let mut copy = module.clone();
        let mut unreadable = None;
        let result = oriole::optimize_with(&mut copy, &options, &mut |module, phase, function| {
            if !is_readable(module.whole_text(), std::slice::from_ref(function)) {
                unreadable = Some(phase.pass.name);
            }
        });
        if let Some(pass) = unreadable {
            self.fail(format!("what {pass} left cannot be read"));
        }
        let report = match result {
            Ok(report) => report,
            Err(error) => return error.into(),
        };
        let (before, after) = (oriole::print(module), self.print(&copy));
        let again = oriole::parse(NAME, after.as_str()).map(|again| oriole::check(&again));
        if let Some(wrong) = again.unwrap_or_else(Vec::from).first() {
            self.fail(format!("the output is wrong: {}", wrong.message));
        } else {
            self.execute(&before, &after, execution::modules);
        }
        if let Some(options) = self.without_last_knob(options) {
            let mut plain = module.clone();
            if let Err(error) = oriole::optimize(&mut plain, &options) {
                return error.into();
            }
            self.knob_section(&self.print(&plain), &after);
        }
        let remarks = report.remarks.iter().map(ToString::to_string).collect();
        self.sections(&before, after, &report.statistics, remarks);
        report.notes
    }

    /// Runs the passes on functions in SSA form; gives what is wrong with the text.
    fn passes(&mut self) -> Vec<Diagnostic> {
        let options = match options(self.header, None) {
            Ok(options) => options,
            Err(error) => {
                self.fail(error);
                return Vec::new();
            }
        };
        let source = self.source.text();
        let functions = match text::read(source) {
            Ok(functions) => functions,
            Err(errors) => return errors,
        };
        let before = print_functions(source, &functions);
        if !is_readable(source, &functions) {
            self.fail("what was read is not printed as it can be read");
        }
        let environment = self.environment(options.launch);
        let (after, statistics, remarks) = run_passes(source, functions, &environment, &options);
        let after = self.spoil(after);
        if let Err(errors) = text::read(&after) {
            self.fail(format!("the output is wrong: {}", errors[0].message));
        } else {
            self.execute(&before, &after, execution::ssa);
        }
        if let Some(options) = self.without_last_knob(options) {
            let functions = text::read(source).unwrap_or_default();
            let (plain, ..) = run_passes(source, functions, &environment, &options);
            self.knob_section(&self.spoil(plain), &after);
        }
        self.sections(&before, after, &statistics, remarks);
        Vec::new()
    }

    /// Fails where a function runs otherwise after the passes, where it cannot run and the file gives no reason, and where the
    /// file gives a reason for one that can run.
    fn execute(
        &mut self,
        before: &str,
        after: &str,
        run: fn(&str, &str, Option<LaunchLimits>) -> Vec<Execution>,
    ) {
        let runnable = |text: &str| match &self.header.runs_as {
            Some([from, to]) => text.replace(from.as_str(), to),
            None => text.to_owned(),
        };
        let executions = run(&runnable(before), &runnable(after), launch_of(self.header));
        let ran = |name: &String| executions.iter().any(|own| own.function == *name);
        let mut unknown = self.header.not_run.keys().filter(|&name| !ran(name));
        if let Some(name) = unknown.next() {
            self.fail(format!(
                "{name} is in `not_run`, but there is no such function"
            ));
        }
        for Execution { function, verdict } in executions {
            let excuse = self.header.not_run.get(&function);
            let verdict = match verdict {
                Verdict::Equal { executed, .. } if executed < HALF => {
                    Verdict::Unknown(format!("only {executed} % of its instructions run"))
                }
                verdict => verdict,
            };
            match (verdict, excuse) {
                (Verdict::Different(how), _) => {
                    self.fail(format!("{function} runs otherwise: {how}"))
                }
                (Verdict::Equal { inputs, .. }, Some(_)) => self.fail(format!(
                    "{function} is in `not_run`, but it runs: on {inputs} inputs"
                )),
                (Verdict::Unknown(why), None) => {
                    self.fail(format!(
                        "{function} cannot be run, and `not_run` does not say why: {why}"
                    ));
                }
                _ => {}
            }
        }
    }

    /// What the last of the knobs changes.
    fn knob_section(&mut self, without: &str, with: &str) {
        if without == with {
            self.fail("the last of the knobs changes nothing");
        }
        self.section(SectionName::Knobs, difference(without, with));
    }

    /// What passes made of a text, and what they counted and said.
    fn sections(
        &mut self,
        before: &str,
        after: String,
        statistics: &Statistics,
        remarks: Vec<String>,
    ) {
        if before == after {
            self.section(SectionName::Unchanged, String::new());
        } else {
            self.section(SectionName::Diff, difference(before, &after));
        }
        self.section(SectionName::Output, after);
        let mut stats = String::new();
        for (name, count) in statistics.iter() {
            let _ = writeln!(stats, "{name} = {count}");
        }
        let stats = self.spoil(stats);
        self.section(SectionName::Stats, stats);
        let remarks: String = remarks.iter().map(|remark| format!("{remark}\n")).collect();
        let remarks = self.spoil(remarks);
        self.section(SectionName::Remarks, remarks);
    }
}

/// Larger limits of launches that the header asks for.
fn launch_of(header: &Header) -> Option<LaunchLimits> {
    header.threads.map(|threads| {
        let own = LaunchLimits::of(Target::from_text("sm_90"));
        LaunchLimits {
            threads,
            block: [threads, threads, own.block[2]],
            ..own
        }
    })
}

/// The options that a header asks for, for a file with this target.
pub(crate) fn options(header: &Header, target: Option<&str>) -> Result<Options, String> {
    let mut options = match header.level {
        Some(0) => Options::level(Level::None),
        Some(1) => Options::level(Level::Less),
        Some(3) => Options::level(Level::Aggressive),
        _ => Options::level(Level::Default),
    };
    if let Some(passes) = &header.passes {
        options.phases = oriole_opt::select(passes.iter().map(String::as_str))
            .map_err(|error| error.to_string())?;
        options.keep = Keep::All;
    }
    let mut knobs = Knobs::default();
    for knob in &header.knobs {
        knobs.set(knob).map_err(|error| error.to_string())?;
    }
    options.knobs = knobs;
    options.launch = launch_of(header);
    if let Some(fuel) = header.fuel {
        options.fuel = Fuel::limited(fuel);
    }
    if let Some(name) = &header.profile {
        let profile: Profile = name
            .parse()
            .map_err(|error: UnknownProfile| error.to_string())?;
        let target = target
            .and_then(Target::from_text)
            .ok_or("a profile needs a target")?;
        options.phases = profile.choose(&options.phases, target.number(), &options.knobs, false);
    }
    options.remarks = true;
    Ok(options)
}

/// Functions in SSA form as text, with the lines that were given to instructions.
pub(crate) fn print_functions(names: &str, functions: &[Function]) -> String {
    let line_of = |line| Some(line);
    let print = |function| {
        Printer::new(names, function)
            .with_lines(&line_of)
            .function()
    };
    functions.iter().map(print).collect()
}

/// Whether functions in SSA form can be read from what is printed of them, and are then printed the same.
fn is_readable(names: &str, functions: &[Function]) -> bool {
    let text = print_functions(names, functions);
    text::read(&text).is_ok_and(|again| print_functions(&text, &again) == text)
}

/// Runs the phases on each function; gives the functions as text, the counters and the remarks.
fn run_passes(
    names: &str,
    mut functions: Vec<Function>,
    environment: &Environment,
    options: &Options,
) -> (String, Statistics, Vec<String>) {
    let mut fuel = options.fuel.clone();
    let mut statistics = Statistics::default();
    let mut remarks = Vec::new();
    for function in &mut functions {
        let mut context = Context {
            knobs: &options.knobs,
            fuel: &mut fuel,
            statistics: &mut statistics,
            remarks: Some(&mut remarks),
            hooks: &Hooks::default(),
            environment,
            callees: &Callees::default(),
        };
        oriole_opt::run(
            function,
            &mut oriole_analysis::Analyses::of(environment.clone()),
            &options.phases,
            &mut context,
            None,
        );
    }
    let remarks = remarks.iter().map(|remark| {
        let line = remark.statement.map(|line| format!("line {line}: "));
        let line = line.unwrap_or_default();
        let equal = remark.equal.map(|line| format!(", as line {line}"));
        let equal = equal.unwrap_or_default();
        let (counter, mnemonic, why) = (remark.counter, &remark.mnemonic, remark.why);
        format!("{line}`{mnemonic}`: {counter}: {why}{equal}")
    });
    let remarks = remarks.collect();
    (print_functions(names, &functions), statistics, remarks)
}

/// The first token in which two texts differ.
fn token_difference(before: &str, after: &str) -> Option<String> {
    let (mut left, mut right) = (oriole_syntax::tokens(before), oriole_syntax::tokens(after));
    loop {
        match (left.next(), right.next()) {
            (None, None) => return None,
            (left, right) if left == right => {}
            (left, right) => {
                let show = |token: Option<&str>| {
                    token.map_or("the end".to_owned(), |token| format!("`{token}`"))
                };
                return Some(format!("{} became {}", show(left), show(right)));
            }
        }
    }
}

/// The lines that differ, with two lines around them.
fn difference(before: &str, after: &str) -> String {
    let diff = TextDiff::from_lines(before, after);
    let mut text = String::new();
    for (index, group) in diff.grouped_ops(2).iter().enumerate() {
        if index > 0 {
            text.push_str("...\n");
        }
        for change in group
            .iter()
            .flat_map(|operation| diff.iter_changes(operation))
        {
            let sign = match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            };
            text.push(sign);
            text.push_str(change.value().trim_end_matches('\n'));
            text.push('\n');
        }
    }
    text
}
