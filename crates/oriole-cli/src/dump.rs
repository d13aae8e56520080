//! `oriole dump`.

use crate::arguments::DumpArguments;
use crate::files;
use crate::report::Reporter;
use crate::{Failure, graphviz, tree_text};
use oriole::{Diagnostic, Module};
use oriole_diagnostics::printable_text;
use oriole_ir::Formats;
use oriole_syntax::scopes::Globals;

pub fn run(arguments: &DumpArguments, report: &Reporter) -> Result<(), Failure> {
    let input = files::read_or_example(arguments.file.as_deref(), report)?;
    let source = input.source();
    let reported = |errors: Vec<Diagnostic>| {
        report.diagnostics(&source, &errors);
        Failure::Reported
    };
    let module = input.parse().map_err(reported)?;
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
        each_function(&module, &functions, arguments.what.cfg).map_err(reported)?
    };
    files::write(None, &printable_text(&output))
}

fn each_function(
    module: &Module,
    functions: &[usize],
    as_graph: bool,
) -> Result<String, Vec<Diagnostic>> {
    let (globals, errors) = Globals::of(module);
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut output = String::new();
    let mut formats = Formats::new();
    for &index in functions {
        if module.functions[index].body.is_none() {
            continue;
        }
        let translated = oriole_translate::into_ssa(module, &globals, index, formats)?;
        if as_graph {
            output.push_str(&graphviz::function(module, &translated.function));
        } else {
            output.push_str(&oriole_ir::display(module, &translated.function));
        }
        formats = translated.function.into_formats();
    }
    Ok(output)
}
