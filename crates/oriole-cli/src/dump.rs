//! `oriole dump`.

use crate::arguments::DumpArguments;
use crate::files;
use crate::report::Reporter;
use crate::{Failure, graphviz, tree_text};
use oriole::{Diagnostic, Module, Source};
use oriole_analysis::liveness;
use oriole_diagnostics::printable_text;
use oriole_ir::Formats;
use oriole_ir::text::{self, Printer};
use oriole_syntax::scopes::Globals;
use oriole_syntax::tree::Statement;

pub fn run(arguments: &DumpArguments, report: &Reporter) -> Result<(), Failure> {
    let input = files::read_or_example(arguments.file.as_deref(), arguments.example, report)?;
    let source = input.source();
    let module = input
        .parse()
        .map_err(|error| report.failed(&source, error))?;
    let wanted = |index: usize| {
        arguments
            .function
            .as_deref()
            .is_none_or(|name| module.text(module.functions[index].name) == name)
    };
    let functions: Vec<usize> = (0..module.functions.len())
        .filter(|&index| wanted(index))
        .collect();
    if let (Some(name), true) = (&arguments.function, functions.is_empty()) {
        return Err(Failure::message(format!("there is no function `{name}`")));
    }
    let output = if arguments.what.tree {
        tree_text::module(&module, arguments.function.is_none(), &functions)
    } else {
        each_function(&module, &functions, arguments)
            .map_err(|errors| report.failed(&source, errors))?
    };
    files::write(None, &printable_text(&output))
}

/// The line of a statement of a function in the file.
fn line_of(module: &Module, source: &Source<'_>, function: usize, statement: u32) -> Option<u32> {
    let body = module.functions[function].body.as_ref()?;
    match body.statements.get(statement as usize)? {
        Statement::Instruction(instruction) => {
            Some(source.position(instruction.mnemonic.span().start).line)
        }
        _ => None,
    }
}

fn each_function(
    module: &Module,
    functions: &[usize],
    arguments: &DumpArguments,
) -> Result<String, Vec<Diagnostic>> {
    let (globals, errors) = Globals::of(module);
    if !errors.is_empty() {
        return Err(errors);
    }
    let source = Source::new(module.name(), module.source());
    let mut output = String::new();
    let mut formats = Formats::new();
    for &index in functions {
        if module.functions[index].body.is_none() {
            continue;
        }
        let translated = oriole_translate::into_ssa(module, &globals, index, &mut formats)?;
        let function = &translated.function;
        output.push_str(&if arguments.what.cfg {
            graphviz::function(module, function)
        } else if arguments.what.live {
            let (function, scopes) = (&module.functions[index], &translated.scopes);
            liveness::text::print(module, function, scopes, &mut Formats::new())
        } else if arguments.lines {
            let line_of = |statement| line_of(module, &source, index, statement);
            let printer = Printer::new(module.whole_text(), function);
            printer.with_lines(&line_of).function()
        } else {
            text::print(module.whole_text(), function)
        });
        formats = translated.function.into_formats();
    }
    Ok(output)
}
