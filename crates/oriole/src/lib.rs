//! Oriole as a library: read PTX, check it, optimize it, print it.
//!
//! ```
//! use oriole::{Options, optimize, parse, print};
//!
//! let text = "
//! .version 8.0
//! .target sm_80
//! .address_size 64
//! .visible .entry kernel(.param .u64 out)
//! {
//!     .reg .b64 %rd<2>;
//!     .reg .b32 %r<3>;
//!     ld.param.u64 %rd1, [out];
//!     mov.u32 %r1, %tid.x;
//!     add.s32 %r2, %r1, 1;
//!     st.global.u32 [%rd1], %r1;
//!     ret;
//! }
//! ";
//! let mut module = parse("kernel.ptx", text).expect("well-formed PTX");
//! let report = optimize(&mut module, &Options::default()).expect("sound names");
//! assert_eq!(report.statistics.get("dead-code.instructions"), 1);
//! assert!(!print(&module).contains("add.s32"));
//! ```
//!
//! The layers below are crates of their own, for those who need them: `oriole-syntax` (the tree), `oriole-ir` (SSA form),
//! `oriole-translate` (between the two), `oriole-analysis`, `oriole-opt` (passes).

#![forbid(unsafe_code)]

mod acceptance;
mod cost;
mod reduce;
mod remarks;

use oriole_analysis::Analyses;
use oriole_analysis::ptxas_hazards::{Hazard, hazards};
use oriole_ir::{Formats, verify};
use oriole_opt::Callees;
use oriole_syntax::scopes::Globals;
use oriole_syntax::tree::{Body, FunctionKind, Linkage, Statement};
use oriole_translate::Translated;

pub use oriole_diagnostics::{Diagnostic, Severity, Source, Span};
pub use oriole_ir::Function;
pub use oriole_opt::{BackPropagation, Fuel, Hooks, Knobs, Level, Phase, Profile, Statistics};
pub use oriole_syntax::print;
pub use oriole_syntax::tree::Module;
pub use reduce::{Reduced, reduce};
pub use remarks::{Remark, SourceLine};

/// The kernel the command uses when it is given no file.
pub const EXAMPLE: &str = include_str!("example.ptx");

/// Reads PTX text. `name` is what diagnostics call it.
///
/// # Errors
/// Everything that is wrong with the text.
pub fn parse(name: impl Into<String>, text: impl Into<String>) -> Result<Module, Vec<Diagnostic>> {
    let (module, errors) = oriole_syntax::parse(name, text);
    if errors.is_empty() {
        Ok(module)
    } else {
        Err(errors)
    }
}

/// Checks a module: names resolve, every function goes into SSA form, and that is well formed.
pub fn check(module: &Module) -> Vec<Diagnostic> {
    check_with(module, false)
}

/// Like [`check`], with warnings about what `ptxas` refuses although Oriole can make sense of it, and about what it may get
/// wrong.
pub fn check_and_warn(module: &Module) -> Vec<Diagnostic> {
    check_with(module, true)
}

fn check_with(module: &Module, warn: bool) -> Vec<Diagnostic> {
    let (globals, mut diagnostics) = Globals::of(module);
    let mut formats = Formats::new();
    let mut acceptance = acceptance::Acceptance::default();
    if warn {
        diagnostics.extend(acceptance::of_module(module));
    }
    for (index, function) in module.functions.iter().enumerate() {
        let Some(body) = &function.body else {
            continue;
        };
        match oriole_translate::into_ssa(module, &globals, index, std::mem::take(&mut formats)) {
            Ok(translated) => {
                for violation in verify(&translated.function) {
                    diagnostics.push(Diagnostic::error(
                        "internal",
                        function.name.span(),
                        format!(
                            "Oriole translated `{}` wrongly: {violation}",
                            module.text(function.name)
                        ),
                    ));
                }
                if warn {
                    let found = acceptance.of_function(module, body, &translated.function);
                    diagnostics.extend(found);
                    for hazard in hazards(&translated.function, &mut Analyses::new()) {
                        diagnostics.extend(hazard_warning(body, &translated, hazard));
                    }
                }
                formats = translated.function.into_formats();
            }
            Err(errors) => {
                // The formats are lost with the function: what is known of them is no longer about them.
                acceptance = acceptance::Acceptance::default();
                diagnostics.extend(errors);
            }
        }
    }
    diagnostics.sort_by_key(|diagnostic| diagnostic.span());
    diagnostics
}

/// What to say of a place that ptxas gets wrong.
fn hazard_warning(body: &Body, translated: &Translated, hazard: Hazard) -> Option<Diagnostic> {
    let function = &translated.function;
    let place = |instruction| {
        let statement = function.location(instruction)?;
        match body.statements.get(statement as usize)? {
            Statement::Instruction(instruction) => Some(instruction.mnemonic.span()),
            _ => None,
        }
    };
    let mnemonic = |instruction| function.format(instruction).mnemonic.text();
    let warning = match hazard {
        Hazard::PartialLoad {
            partial,
            dropped,
            replaced,
        } => Diagnostic::warning(
            "partial-load",
            place(partial)?,
            format!("ptxas may take this `{}` for one that always happens", mnemonic(partial)),
        )
        .context(place(dropped)?, "this equal load may be dropped")
        .context(place(replaced)?, "and what is computed here taken from the other")
        .with_note("the register is undefined where the load does not happen: define it before, for example as 0"),
        Hazard::HighHalf { load, unpack } => Diagnostic::warning(
            "high-half-of-narrow-load",
            place(unpack)?,
            format!("ptxas will miscompile this `{}`: it gives the low half", mnemonic(unpack)),
        )
        .context(place(load)?, "of what is loaded here")
        .with_note("shift the register right by 16 and convert it, instead of taking it apart"),
        Hazard::FoldedSaturation {
            wrapping,
            saturating,
        } => Diagnostic::warning(
            "folded-saturation",
            place(saturating)?,
            format!("ptxas will miscompile this `{}`: it does not saturate what wraps before", mnemonic(saturating)),
        )
        .context(place(wrapping)?, "the sum that it is folded with")
        .with_note("compute in 64 bits and clamp the result instead"),
    };
    Some(warning)
}

/// What to do to a module.
#[derive(Debug, Clone)]
pub struct Options {
    /// The phases to run, in order; see [`oriole_opt::pipeline`] and [`oriole_opt::select`].
    pub phases: Vec<Phase>,
    /// Settings of passes.
    pub knobs: Knobs,
    /// Rewrites allowed, over all functions.
    pub fuel: Fuel,
    /// Whether to say what each rewrite was and why.
    pub remarks: bool,
    /// How often the phases run over each function.
    pub rounds: Rounds,
    /// Decisions of passes that you want to take.
    pub hooks: Hooks,
}

/// How often phases run over a function.
#[derive(Debug, Clone)]
pub enum Rounds {
    /// As long as it gets better by it, at most so often. A function that does not get better at all keeps its code but for
    /// what is dead. So what comes out does not change when it is optimized again.
    WhileBetter(u32),
    /// Just so often, by function, whether it gets better or not; only dead code is removed from functions with no round and
    /// from those not named. [`FunctionReport::rounds`] of an earlier run says what to ask for: with little fuel a function
    /// may look worse halfway.
    Exactly(Vec<(String, u32)>),
}

/// Rounds after which even a function that still gets better is left. Each makes it cheaper, and no function is known to need
/// more than six; this only bounds the time that one can take.
const MOST_ROUNDS: u32 = 64;

impl Default for Options {
    fn default() -> Options {
        Options::level(Level::default())
    }
}

impl Options {
    /// The phases of an optimization level.
    pub fn level(level: Level) -> Options {
        Options {
            phases: oriole_opt::pipeline(level),
            knobs: Knobs::default(),
            fuel: Fuel::unlimited(),
            remarks: false,
            rounds: Rounds::WhileBetter(MOST_ROUNDS),
            hooks: Hooks::default(),
        }
    }
}

/// What was done to a module.
#[derive(Debug, Default)]
pub struct Report {
    /// Counters of all passes over all functions.
    pub statistics: Statistics,
    /// How many rewrites were made.
    pub rewrites: u64,
    /// How many copies leaving SSA form inserted.
    pub copies: usize,
    /// Functions left as they were, and why; a diagnostic of severity note each.
    pub notes: Vec<Diagnostic>,
    /// Functions that were optimized, in order.
    pub functions: Vec<FunctionReport>,
    /// Every rewrite in order, if [`Options::remarks`] asks for them.
    pub remarks: Vec<Remark>,
}

/// What was done to a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionReport {
    /// Its name.
    pub name: String,
    /// Instructions before.
    pub before: u64,
    /// Instructions after, copies included.
    pub after: u64,
    /// How often the phases ran to its advantage; if never, only dead code was removed.
    pub rounds: u32,
}

/// Optimizes every function of a module, in place.
///
/// # Errors
/// What is wrong with the module's names. Functions are then left as they were.
pub fn optimize(module: &mut Module, options: &Options) -> Result<Report, Vec<Diagnostic>> {
    optimize_with(module, options, &mut |_, _, _| {})
}

/// Sees each function after each phase.
pub type Observer<'run> = dyn FnMut(&Module, &Phase, &Function) + 'run;

/// Like [`optimize`], with an observer.
///
/// # Errors
/// As [`optimize`].
pub fn optimize_with(
    module: &mut Module,
    options: &Options,
    observer: &mut Observer<'_>,
) -> Result<Report, Vec<Diagnostic>> {
    let (globals, mut errors) = Globals::of(module);
    let mut report = Report::default();
    let mut fuel = options.fuel.clone();
    let mut formats = Formats::new();
    let mut originals: Vec<(usize, Body)> = Vec::new();
    let is_asked_for = |name: &str| options.phases.iter().any(|phase| phase.pass.includes(name));
    let callees = match is_asked_for("leaf-inlining") {
        true => callees(module, &globals),
        false => Callees::default(),
    };
    let removals = oriole_opt::removals(&options.phases);
    for index in 0..module.functions.len() {
        if module.functions[index].body.is_none() {
            continue;
        }
        let mut run = Run {
            module,
            globals: &globals,
            options,
            removals: &removals,
            callees: &callees,
            observer,
            fuel: &mut fuel,
            formats: &mut formats,
            originals: &mut originals,
            report: &mut report,
        };
        if let Err(more) = run.function(index, !errors.is_empty()) {
            let (wrong, notes): (Vec<_>, Vec<_>) = more
                .into_iter()
                .partition(|diagnostic| diagnostic.severity == Severity::Error);
            errors.extend(wrong);
            report.notes.extend(notes);
        }
    }
    report.rewrites = fuel.spent();
    if errors.is_empty() {
        Ok(report)
    } else {
        for (index, body) in originals {
            module.functions[index].body = Some(body);
        }
        errors.sort_by_key(|error| error.span());
        Err(errors)
    }
}

/// The functions that calls can be replaced by, as they are before anything is optimized.
fn callees(module: &Module, globals: &Globals) -> Callees {
    let mut callees = Callees::default();
    for (index, function) in module.functions.iter().enumerate() {
        // The linker may choose another definition of what is weak.
        let is_candidate = function.kind == FunctionKind::Function
            && function.body.is_some()
            && !matches!(function.linkage, Linkage::Weak | Linkage::Common);
        let Some(global) = globals
            .index(module.text(function.name))
            .filter(|_| is_candidate)
        else {
            continue;
        };
        let Ok(translated) = oriole_translate::into_ssa(module, globals, index, Formats::new())
        else {
            continue;
        };
        let declared_in = |range: &Option<std::ops::Range<u32>>| -> Vec<u32> {
            let variables = translated.scopes.variables.iter().enumerate();
            variables
                .filter(|(_, variable)| {
                    variable.in_header
                        && range
                            .as_ref()
                            .is_some_and(|range| range.contains(&variable.declaration))
                })
                .map(|(number, _)| number as u32)
                .collect()
        };
        let (results, parameters) = (
            declared_in(&function.returns),
            declared_in(&function.parameters),
        );
        callees.add(global, translated.function, results, parameters);
    }
    callees
}

/// What the functions of a module share while they are optimized.
struct Run<'run, 'observer> {
    module: &'run mut Module,
    globals: &'run Globals,
    options: &'run Options,
    /// The phases for functions that those asked for do not make better.
    removals: &'run [Phase],
    callees: &'run Callees,
    observer: &'run mut Observer<'observer>,
    fuel: &'run mut Fuel,
    formats: &'run mut Formats,
    /// Functions that were rewritten, and what they were.
    originals: &'run mut Vec<(usize, Body)>,
    report: &'run mut Report,
}

impl Run<'_, '_> {
    /// Optimizes one function, or only translates it.
    fn function(&mut self, index: usize, only_translate: bool) -> Result<(), Vec<Diagnostic>> {
        let translated = self.translate(index)?;
        // With errors elsewhere the rest is only checked.
        if only_translate {
            return Ok(());
        }
        let hazards = count_hazards(&translated.function);
        // Every instruction of the text is one of the function.
        let before = translated.function.instruction_bound() as u64;
        let name = self.module.text(self.module.functions[index].name);
        let (most, must_improve) = match &self.options.rounds {
            Rounds::WhileBetter(most) => (*most, true),
            Rounds::Exactly(list) => {
                let own = list.iter().find(|(other, _)| other == name);
                (own.map_or(0, |&(_, rounds)| rounds), false)
            }
        };
        let phases = &self.options.phases;
        let removals = self.removals;
        let mut translated = Some(translated);
        let mut rounds = 0;
        // Each time round the function costs less, or this ends: what comes out is what a round found nothing better for.
        while rounds < most {
            let fuel = self.fuel.clone();
            let Some(done) = self.round(index, translated.take(), phases)? else {
                break;
            };
            if done.changes == 0 {
                self.record(index, done);
                break;
            }
            // What ptxas may get wrong and did not before is no improvement.
            if must_improve
                && !(self.is_cheaper(index, &done) && has_no_more(&done.hazards, &hazards))
            {
                self.module.functions[index].body = done.original;
                *self.fuel = fuel;
                // What did not get better stays as it was but for dead code, whose removal never makes a value live longer.
                if self.remove_dead(index, removals, must_improve, rounds)? {
                    continue;
                }
                break;
            }
            rounds += 1;
            self.record(index, done);
        }
        if !must_improve && rounds == 0 {
            self.remove_dead(index, removals, must_improve, rounds)?;
        }
        let function = &self.module.functions[index];
        let after = function.body.as_ref().map_or(0, cost::instructions);
        self.report.functions.push(FunctionReport {
            name: self.module.text(function.name).to_owned(),
            before,
            after,
            rounds,
        });
        Ok(())
    }

    /// Runs phases over a function, translating it first unless it is; nothing if it had to be left as it was.
    fn round(
        &mut self,
        index: usize,
        translated: Option<Translated>,
        phases: &[Phase],
    ) -> Result<Option<Done>, Vec<Diagnostic>> {
        let translated = match translated {
            Some(translated) => translated,
            None => self.translate(index)?,
        };
        Ok(self.phases(index, translated, phases))
    }

    /// Removes dead code only, in a function that got better so many times. Whether there was some.
    fn remove_dead(
        &mut self,
        index: usize,
        phases: &[Phase],
        must_improve: bool,
        rounds: u32,
    ) -> Result<bool, Vec<Diagnostic>> {
        let asked_for = &self.options.phases;
        let is_same = |phase: &Phase| phases.iter().all(|own| own.pass.name == phase.pass.name);
        if phases.is_empty() || asked_for.iter().all(is_same) {
            return Ok(false);
        }
        let fuel = self.fuel.clone();
        let Some(mut done) = self.round(index, None, phases)? else {
            return Ok(false);
        };
        let is_better = self.is_cheaper(index, &done);
        if done.original.is_some() && must_improve && !is_better {
            self.module.functions[index].body = done.original.take();
            *self.fuel = fuel;
            done.statistics = Statistics::default();
            done.remarks.clear();
        }
        if rounds == 0 {
            done.statistics.add("functions.not-worth-it", 1);
        }
        self.record(index, done);
        Ok(is_better)
    }

    /// Whether a function costs less than before.
    fn is_cheaper(&self, index: usize, done: &Done) -> bool {
        let (before, after) = (&done.original, &self.module.functions[index].body);
        before
            .as_ref()
            .zip(after.as_ref())
            .is_some_and(|(before, after)| cost::is_cheaper(self.module, after, before))
    }

    fn translate(&mut self, index: usize) -> Result<Translated, Vec<Diagnostic>> {
        let formats = std::mem::take(self.formats);
        oriole_translate::into_ssa(self.module, self.globals, index, formats)
    }

    /// Adds what was done to the report.
    fn record(&mut self, index: usize, done: Done) {
        self.report.statistics.merge(&done.statistics);
        self.report.copies += done.copies;
        let name = self.module.text(self.module.functions[index].name);
        if let Some(original) = &done.original {
            let remarks = remarks::locate(self.module, name, original, done.remarks);
            self.report.remarks.extend(remarks);
        }
        let is_first = self.originals.last().is_none_or(|&(last, _)| last != index);
        if let Some(original) = done.original.filter(|_| is_first) {
            self.originals.push((index, original));
        }
    }

    /// Runs phases and writes the function back; nothing if it had to be left as it was.
    fn phases(
        &mut self,
        index: usize,
        mut translated: Translated,
        phases: &[Phase],
    ) -> Option<Done> {
        let mut statistics = Statistics::default();
        let mut remarks = Vec::new();
        let (module, observer) = (&mut *self.module, &mut *self.observer);
        let mut context = oriole_opt::Context {
            knobs: &self.options.knobs,
            fuel: self.fuel,
            statistics: &mut statistics,
            remarks: self.options.remarks.then_some(&mut remarks),
            hooks: &self.options.hooks,
            callees: self.callees,
            is_numbered: false,
            is_done: false,
        };
        let mut observer = |phase: &Phase, function: &Function| observer(module, phase, function);
        let function = &mut translated.function;
        let changes = oriole_opt::run(function, phases, &mut context, &mut observer);
        if changes == 0 && !phases.is_empty() {
            *self.formats = translated.function.into_formats();
            return Some(Done {
                statistics,
                changes,
                copies: 0,
                hazards: HazardCounts::default(),
                original: None,
                remarks,
            });
        }
        let hazards = count_hazards(function);
        match oriole_translate::out_of_ssa(module, self.globals, index, translated) {
            Ok(written) => {
                *self.formats = written.formats;
                Some(Done {
                    statistics,
                    changes,
                    copies: written.copies,
                    hazards,
                    original: Some(written.original),
                    remarks,
                })
            }
            Err(error) => {
                self.report.notes.push(Diagnostic::note(
                    "left-alone",
                    module.functions[index].name.span(),
                    format!("the function is left as it was: {error}"),
                ));
                None
            }
        }
    }
}

/// How many places of each kind ptxas gets wrong.
type HazardCounts = [usize; Hazard::KINDS];

/// How many places of a function ptxas gets wrong.
fn count_hazards(function: &Function) -> HazardCounts {
    let mut counts = HazardCounts::default();
    for hazard in hazards(function, &mut Analyses::new()) {
        counts[hazard.kind()] += 1;
    }
    counts
}

/// Whether there are no more of any kind.
fn has_no_more(after: &HazardCounts, before: &HazardCounts) -> bool {
    after
        .iter()
        .zip(before)
        .all(|(after, before)| after <= before)
}

/// What phases did to one function.
struct Done {
    statistics: Statistics,
    changes: u64,
    copies: usize,
    /// Places that ptxas gets wrong.
    hazards: HazardCounts,
    /// The body before, if it was written anew.
    original: Option<Body>,
    remarks: Vec<oriole_opt::Remark>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_is_sound_and_improves() {
        let mut module = parse("example.ptx", EXAMPLE).unwrap();
        assert_eq!(check(&module), []);
        let report = optimize(&mut module, &Options::default()).unwrap();
        assert!(report.rewrites > 0);
        assert_eq!(report.copies, 0);
        let again = optimize(&mut module, &Options::default()).unwrap();
        assert_eq!(again.rewrites, 0, "a second run changes nothing");
    }

    #[test]
    fn control_flow_that_cannot_be_told_is_left_alone() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .b32 %r<3>;\nmov.u32 %r1, 0;\n\
                    hop.sideways L;\nadd.s32 %r2, %r1, 1;\nL:\nret;\n}\n";
        let mut module = parse("k.ptx", text).unwrap();
        assert!(
            check(&module)
                .iter()
                .all(|diagnostic| diagnostic.severity == Severity::Note)
        );
        let before = print(&module);
        let report = optimize(&mut module, &Options::default()).unwrap();
        assert_eq!(report.notes[0].id, "unknown-control-flow");
        assert_eq!(print(&module), before);
    }

    #[test]
    fn with_an_error_in_one_function_all_are_left_as_they_were() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry first()\n{\n.reg .b32 %r<3>;\n\
                    mov.u32 %r1, 0;\nadd.s32 %r2, %r1, 1;\nret;\n}\n\
                    .entry second()\n{\n.reg .b32 %r<3>;\nmov.u32 %r1, %nowhere;\nret;\n}\n";
        let mut module = parse("k.ptx", text).unwrap();
        let before = print(&module);
        let errors = optimize(&mut module, &Options::default()).unwrap_err();
        assert_eq!(errors.len(), 1);
        assert_eq!(print(&module), before);
    }

    #[test]
    fn what_ptxas_would_get_wrong_is_not_made() {
        // Each is right. With constants at the end of the sum, ptxas would fold the saturating one with it; with the load
        // extended by the conversion before the choice, it would take the low half for the high one.
        let kernel = |body: &str| {
            format!(
                ".version 8.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p)\n{{\n.reg .pred %p<3>;\n\
                 .reg .b16 %h<9>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<3>;\nld.param.u64 %rd1, [p];\n{body}\nret;\n}}\n"
            )
        };
        for body in [
            "ld.global.u32 %r1, [%rd1];\nld.global.u32 %r2, [%rd1+4];\nadd.s32 %r3, %r1, 5;\nadd.s32 %r4, %r3, %r2;\n\
             add.sat.s32 %r5, %r4, 7;\nst.global.u32 [%rd1], %r5;",
            "ld.global.u16 %h1, [%rd1];\nld.global.u32 %r2, [%rd1+4];\nsetp.lt.s32 %p1, %r2, 9;\ncvt.s32.s16 %r3, %h1;\n\
             selp.b32 %r4, %r3, %r2, %p1;\nmov.b32 {_, %h2}, %r4;\nst.global.u16 [%rd1], %h2;",
            "ld.global.u16 %h1, [%rd1];\ncvt.s32.s16 %r3, %h1;\nmov.b32 {_, %h2}, %r3;\nst.global.u16 [%rd1], %h2;",
        ] {
            let mut module = parse("k.ptx", kernel(body)).unwrap();
            assert_eq!(check_and_warn(&module), [], "{body}");
            optimize(&mut module, &Options::default()).unwrap();
            assert_eq!(check_and_warn(&module), [], "{}", print(&module));
        }
    }

    #[test]
    fn level_none_changes_nothing() {
        let mut module = parse("example.ptx", EXAMPLE).unwrap();
        let before = print(&module);
        optimize(&mut module, &Options::level(Level::None)).unwrap();
        assert_eq!(print(&module), before);
    }

    #[test]
    fn remarks_say_what_was_done_and_where() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.file 1 \"k.cu\"\n.entry k()\n{\n.reg .b32 %r<3>;\n\
                    .loc 1 7 3\nmov.u32 %r1, 0;\nadd.s32 %r2, %r1, 1;\nret;\n}\n";
        let mut module = parse("k.ptx", text).unwrap();
        let options = Options {
            remarks: true,
            ..Options::default()
        };
        let report = optimize(&mut module, &options).unwrap();
        assert_eq!(report.remarks.len() as u64, report.rewrites);
        let add = report
            .remarks
            .iter()
            .find(|remark| remark.mnemonic == "add.s32")
            .unwrap();
        assert_eq!((add.line, add.function.as_str()), (Some(10), "k"));
        assert_eq!(add.source.as_ref().unwrap().to_string(), "k.cu:7");
        assert_eq!(
            (report.functions[0].before, report.functions[0].after),
            (3, 1)
        );
        let mut again = parse("k.ptx", text).unwrap();
        let report = optimize(&mut again, &Options::default()).unwrap();
        assert!(report.remarks.is_empty());
    }

    #[test]
    fn a_hook_says_which_definitions_are_renamed() {
        let text = ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p)\n{\n.reg .b32 %r<9>;\n\
                    .reg .b64 %rd<2>;\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nadd.s32 %r2, %r1, 1;\n\
                    mov.u32 %r3, %r2;\nmul.lo.s32 %r4, %r1, 3;\nmov.u32 %r5, %r4;\nst.global.u32 [%rd1], %r3;\n\
                    st.global.u32 [%rd1+4], %r5;\nret;\n}\n";
        let phases = oriole_opt::select(["advanced-phase-back-prop-vreg"]).unwrap();
        let run = |hooks: Hooks| {
            let mut module = parse("k.ptx", text).unwrap();
            let options = Options {
                phases: phases.clone(),
                hooks,
                ..Options::default()
            };
            optimize(&mut module, &options).unwrap();
            print(&module)
        };
        let untouched = run(Hooks::default());
        assert!(untouched.contains("mov.u32 %r3, %r2") && untouched.contains("mov.u32 %r5, %r4"));
        let sums_only = |function: &Function, definer, _| {
            function.format(definer).mnemonic.text().starts_with("add")
        };
        let renamed = run(Hooks {
            back_propagation: Some(std::sync::Arc::new(sums_only)),
        });
        assert!(renamed.contains("add.s32 %r3, %r1, 1"));
        assert!(!renamed.contains("mov.u32 %r3") && renamed.contains("mov.u32 %r5, %r4"));
    }

    #[test]
    fn every_amount_of_fuel_gives_a_sound_module() {
        let full = optimize(&mut parse("e.ptx", EXAMPLE).unwrap(), &Options::default()).unwrap();
        for fuel in 0..=full.rewrites {
            let mut module = parse("e.ptx", EXAMPLE).unwrap();
            let options = Options {
                fuel: Fuel::limited(fuel),
                ..Options::default()
            };
            let report = optimize(&mut module, &options).unwrap();
            assert_eq!(report.rewrites, fuel);
            assert_eq!(check(&parse("again.ptx", print(&module)).unwrap()), []);
        }
    }
}
