//! Runs functions before and after passes, in the emulator.

use crate::ssa_as_ptx::{self, Frame};
use crate::{Kind, TestFile, kinds};
use oriole::{LaunchLimits, Module, Options, Verdict, VerifyOptions};
use oriole_syntax::tree::{Declaration, Function, FunctionKind, OperandKind, Storage};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// The verdict about a function.
pub(crate) struct Execution {
    pub function: String,
    pub verdict: Verdict,
}

/// The prefix of the name of a kernel that is made to call a function.
const CALLER: &str = "call_of_";

fn verify(
    before: &str,
    after: &str,
    launch: Option<LaunchLimits>,
) -> Result<Vec<Execution>, String> {
    let parse = |text: &str| oriole::parse("test.ptx", text).map_err(|error| error.to_string());
    let options = VerifyOptions {
        time: Duration::from_secs(600),
        memory: 64 << 20,
        launch,
        thorough: true,
    };
    let verdicts = oriole::verify(&parse(before)?, &parse(after)?, &options);
    let verdicts = verdicts.map_err(|error| error.to_string())?;
    let executions = verdicts.into_iter().map(|own| Execution {
        function: own.kernel.trim_start_matches(CALLER).to_owned(),
        verdict: own.verdict,
    });
    Ok(executions.collect())
}

/// A module that a file test runs, and the passes that it runs.
#[derive(Clone, Debug)]
pub struct Runnable {
    /// The file, and of several functions in SSA form which one.
    pub name: String,
    /// PTX in which every function is a kernel or called by one.
    pub text: String,
    /// The options of the file.
    pub options: Options,
    /// The number of its functions that cannot run.
    pub not_run: usize,
}

/// The modules that the test in a file runs; none if it runs no passes.
///
/// # Errors
/// A header or a module that is wrong.
pub fn runnable(path: &Path) -> Result<Vec<Runnable>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    let file = TestFile::parse(&text)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let known = |text: String| match &file.header.runs_as {
        Some([from, to]) => text.replace(from.as_str(), to),
        None => text,
    };
    match file.header.kind {
        Kind::Opt => {
            let module = oriole::parse("test.ptx", file.source.as_str());
            let Ok(module) = module else {
                return Ok(Vec::new());
            };
            let options = kinds::options(&file.header, module.target())?;
            let text = oriole::print(&module) + &callers(&module).0;
            Ok(vec![Runnable {
                name: name.into_owned(),
                text: known(text),
                options,
                not_run: file.header.not_run.len(),
            }])
        }
        Kind::Pass => {
            let mut options = kinds::options(&file.header, None)?;
            // PTX has blocks of copies where SSA form has edges.
            let cleared =
                oriole_opt::select(["copy-propagation", "branch-simplification", "dead-code"]);
            let cleared = cleared.map_err(|error| error.to_string())?;
            options.phases = cleared.into_iter().chain(options.phases).collect();
            let Ok(functions) = oriole_ir::text::read(&file.source) else {
                return Ok(Vec::new());
            };
            let text = known(kinds::print_functions(&file.source, &functions));
            let all = ssa_as_ptx::functions(&text);
            let modules = all.into_iter().filter_map(|function| {
                let own = ssa_as_ptx::name_of(function);
                Some(Runnable {
                    name: format!("{name}: {own}"),
                    text: Frame::of(function).module(function).ok()?,
                    options: options.clone(),
                    not_run: usize::from(file.header.not_run.contains_key(own)),
                })
            });
            Ok(modules.collect())
        }
        _ => Ok(Vec::new()),
    }
}

/// Runs two versions of a module. Functions that nothing calls are called by kernels that are made for them.
pub(crate) fn modules(before: &str, after: &str, launch: Option<LaunchLimits>) -> Vec<Execution> {
    let all = |why: &str| {
        let function = "*".to_owned();
        let verdict = Verdict::Unknown(why.to_owned());
        vec![Execution { function, verdict }]
    };
    let module = match oriole::parse("test.ptx", before) {
        Ok(module) => module,
        Err(error) => return all(&error.to_string()),
    };
    let (callers, impossible) = callers(&module);
    let [before, after] = [before, after].map(|text| format!("{text}{callers}"));
    match verify(&before, &after, launch) {
        Ok(executions) => executions.into_iter().chain(impossible).collect(),
        Err(why) => all(&why),
    }
}

/// Runs two versions of functions in SSA form.
pub(crate) fn ssa(before: &str, after: &str, launch: Option<LaunchLimits>) -> Vec<Execution> {
    let after = ssa_as_ptx::functions(after);
    let pairs = ssa_as_ptx::functions(before).into_iter().zip(after);
    let run = |(before, after): (&str, &str)| {
        let frame = Frame::of(before);
        let executions = verify(&frame.module(before)?, &frame.module(after)?, launch)?;
        executions.into_iter().next().ok_or("no kernel".to_owned())
    };
    let or_unknown = |(before, after): (&str, &str)| {
        run((before, after)).unwrap_or_else(|why| Execution {
            function: ssa_as_ptx::name_of(before).to_owned(),
            verdict: Verdict::Unknown(why),
        })
    };
    pairs.map(or_unknown).collect()
}

/// Kernels that call the functions that nothing names, and the functions for which there is none.
fn callers(module: &Module) -> (String, Vec<Execution>) {
    let mut named = BTreeSet::new();
    for function in &module.functions {
        let operands = function.body.iter().flat_map(|body| &body.operands);
        let names = operands.filter(|operand| operand.kind == OperandKind::Name);
        // Its own calls do not count.
        let names = names.map(|operand| module.text(operand.text));
        named.extend(names.filter(|&name| name != module.text(function.name)));
    }
    let mut text = String::new();
    let mut impossible = Vec::new();
    for function in &module.functions {
        let name = module.text(function.name);
        let is_called = function.kind == FunctionKind::Entry || named.contains(name);
        if is_called || function.body.is_none() {
            continue;
        }
        match caller(module, function) {
            Some(caller) => text.push_str(&caller),
            None => impossible.push(Execution {
                function: name.to_owned(),
                verdict: Verdict::Unknown("its parameters are registers".to_owned()),
            }),
        }
    }
    (text, impossible)
}

/// The declaration of a parameter after `.param`, with another name; bits and number of its elements.
fn parameter(module: &Module, own: &Declaration, name: &str) -> Option<(String, u32, u32)> {
    if own.storage != Storage::Parameter {
        return None;
    }
    let element = module.text(own.element);
    let bits: u32 = element.get(2..)?.parse().ok()?;
    let declarator = module.top.declarators(own).first()?;
    let dimensions = module.top.words(declarator.dimensions).iter();
    let dimensions: Vec<&str> = dimensions.map(|&word| module.text(word)).collect();
    let count = dimensions
        .iter()
        .filter_map(|word| word.parse::<u32>().ok())
        .product::<u32>();
    let alignment = match own.alignment {
        0 => String::new(),
        bytes => format!(".align {bytes} "),
    };
    let dimensions = dimensions.concat();
    let declaration = format!("{alignment}.b{bits} {name}{dimensions}");
    Some((declaration, bits, count * u32::from(own.vector.max(1))))
}

/// A kernel that calls a function with its own parameters and stores what it returns, each thread in a place of its own.
fn caller(module: &Module, function: &Function) -> Option<String> {
    let name = module.text(function.name);
    let list = |range: &Option<std::ops::Range<u32>>| {
        let range = range.clone().unwrap_or(0..0);
        &module.top.declarations[range.start as usize..range.end as usize]
    };
    let (mut outer, mut inner, mut loads, mut stores) =
        (Vec::new(), String::new(), String::new(), String::new());
    let mut names = [Vec::new(), Vec::new()];
    let mut offset = 0;
    for (is_result, declarations) in [
        (true, list(&function.returns)),
        (false, list(&function.parameters)),
    ] {
        for (index, own) in declarations.iter().enumerate() {
            let local = format!("{}{index}", if is_result { "result" } else { "argument" });
            let (declaration, bits, count) = parameter(module, own, &local)?;
            let _ = writeln!(inner, ".param {declaration};");
            if !is_result {
                let pointer = declaration.replace(".b64 ", ".u64 .ptr ");
                outer.push(format!(
                    ".param {}",
                    pointer.replace("argument", "parameter")
                ));
            }
            for element in 0..count {
                let at = element * bits / 8;
                let register = format!("%b{}", bits.max(16));
                if is_result {
                    let _ = writeln!(stores, "ld.param.b{bits} {register}, [{local}+{at}];");
                    let _ = writeln!(
                        stores,
                        "st.global.b{bits} [%own+{}], {register};",
                        offset + at
                    );
                } else {
                    let _ = writeln!(
                        loads,
                        "ld.param.b{bits} {register}, [parameter{index}+{at}];"
                    );
                    let _ = writeln!(loads, "st.param.b{bits} [{local}+{at}], {register};");
                }
            }
            if is_result {
                offset += (count * bits / 8).next_multiple_of(16);
            }
            names[usize::from(is_result)].push(local);
        }
    }
    outer.push(".param .u64 .ptr results".to_owned());
    let results = match names[1].is_empty() {
        true => String::new(),
        false => format!("({}), ", names[1].join(", ")),
    };
    Some(format!(
        "\n.visible .entry {CALLER}{name}({})\n{{\n.reg .b16 %b16; .reg .b32 %b32, %at; .reg .b64 %b64, %own;\n\
         mov.u32 %at, %ctaid.x;\nmov.u32 %b32, %ntid.x;\nmul.lo.u32 %at, %at, %b32;\nmov.u32 %b32, %tid.x;\n\
         add.u32 %at, %at, %b32;\nld.param.u64 %own, [results];\nmad.wide.u32 %own, %at, {offset}, %own;\n\
         {{\n{inner}{loads}call {results}{name}, ({});\n{stores}}}\nret;\n}}\n",
        outer.join(", "),
        names[0].join(", ")
    ))
}
