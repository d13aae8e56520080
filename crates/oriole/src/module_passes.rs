//! Runs module passes before and behind what is done to functions.

use crate::{Diagnostic, Fuel, Module, Observer, Options, Phase, Remark, Report, Severity, driver};
use oriole_ir::{Environment, Formats, FunctionId};
use oriole_opt::{Callees, Context, Program, Statistics};
use oriole_syntax::scopes::Globals;

/// See [`crate::optimize_with`]; for phases with module passes. Those before all others run first, and all others behind.
pub(crate) fn optimize(
    module: &mut Module,
    options: &Options,
    observer: Option<&mut Observer<'_>>,
    fuel: &mut Fuel,
) -> Result<Report, Vec<Diagnostic>> {
    let phases = &options.phases;
    let is_for_modules = |phase: &&Phase| phase.pass.is_for_modules();
    let first = phases.iter().take_while(is_for_modules).count();
    let (before, behind) = phases.split_at(first);
    let mut report = Report::default();
    for phase in before {
        report.merge(run(module, options, phase, fuel)?);
    }
    report.merge(driver::functions(module, options, observer, fuel)?);
    for phase in behind.iter().filter(is_for_modules) {
        report.merge(run(module, options, phase, fuel)?);
    }
    Ok(report)
}

/// Runs one module pass.
fn run(
    module: &mut Module,
    options: &Options,
    phase: &Phase,
    fuel: &mut Fuel,
) -> Result<Report, Vec<Diagnostic>> {
    let (globals, errors) = Globals::of(module);
    if !errors.is_empty() {
        return Err(errors);
    }
    let outside = oriole_translate::module_of(module, &globals);
    let mentions = oriole_translate::other_mentions(module, &globals, &outside);
    let mut statistics = Statistics::default();
    let mut remarks = Vec::new();
    let spent = fuel.spent();
    let mut context = Context {
        knobs: &options.knobs,
        fuel,
        statistics: &mut statistics,
        remarks: options.remarks.then_some(&mut remarks),
        hooks: &options.hooks,
        environment: &Environment::default(),
        callees: &Callees::default(),
    };
    let mut formats = Formats::new();
    let mut errors = Vec::new();
    let mut read = |id: FunctionId, look: &mut dyn FnMut(&oriole_ir::Function)| {
        if module.functions[id.index()].body.is_none() {
            return false;
        }
        match oriole_translate::into_ssa(module, &globals, id.index(), &mut formats) {
            Ok(translated) => {
                look(&translated.function);
                formats = translated.function.into_formats();
                true
            }
            Err(found) => {
                let is_error = |found: &Diagnostic| found.severity == Severity::Error;
                errors.extend(found.into_iter().filter(is_error));
                false
            }
        }
    };
    let mut program = Program::new(&outside, &mentions, &mut read);
    oriole_opt::run_on_module(phase, &mut program, &mut context);
    let (functions, variables) = (program.removed_functions, program.removed_variables);
    if !errors.is_empty() {
        return Err(errors);
    }
    let named = functions.iter().map(|&own| outside.functions()[own].name);
    let named = named.chain(variables.iter().map(|&own| outside.variables()[own].name));
    let mut names: Vec<&str> = named.map(|name| module.text(name)).collect();
    names.sort_unstable();
    names.dedup();
    let remarks = remarks.into_iter().map(|remark| Remark {
        function: names.join(", "),
        counter: remark.counter,
        mnemonic: remark.mnemonic,
        why: remark.why,
        line: None,
        equal_line: None,
        source: None,
    });
    let report = Report {
        rewrites: fuel.spent() - spent,
        remarks: remarks.collect(),
        statistics,
        ..Report::default()
    };
    oriole_translate::remove_from_module(module, &outside, &functions, &variables);
    Ok(report)
}
