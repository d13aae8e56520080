//! The part of the Python package that is Rust: texts in, texts and JSON out. `oriole/__init__.py` makes classes of it.

use oriole::extract::Image;
use oriole::{AccessOptions, Level, Options};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::Serialize;
use std::collections::BTreeMap;
use std::panic::AssertUnwindSafe;

pyo3::create_exception!(
    oriole,
    PtxError,
    PyValueError,
    "PTX, or a file that holds it, is malformed."
);

/// Why something cannot be done.
enum Failure {
    Error(oriole::Error),
    Message(String),
}

impl From<oriole::Error> for Failure {
    fn from(error: oriole::Error) -> Failure {
        Failure::Error(error)
    }
}

/// Does something without the interpreter's lock. What is wrong becomes an exception.
fn run<T: Send>(
    py: Python<'_>,
    text: &str,
    act: impl Fn() -> Result<T, Failure> + Sync,
) -> PyResult<T> {
    let result = py.detach(|| std::panic::catch_unwind(AssertUnwindSafe(&act)));
    match result {
        Ok(Ok(made)) => Ok(made),
        Ok(Err(Failure::Message(message))) => Err(PtxError::new_err(message)),
        Ok(Err(Failure::Error(error))) => Err(PtxError::new_err(error.excerpts(text))),
        Err(_) => Err(PyRuntimeError::new_err(
            "this is a bug in Oriole, not in the input; please report it",
        )),
    }
}

/// A function that was optimized.
#[derive(Serialize)]
struct Function<'a> {
    name: &'a str,
    before: u64,
    after: u64,
    is_better: bool,
}

/// The result of an optimization.
#[derive(Serialize)]
struct Done<'a> {
    rewrites: u64,
    functions: Vec<Function<'a>>,
    notes: Vec<&'a str>,
}

/// A text of a container.
#[derive(Serialize)]
struct About<'a> {
    architecture: String,
    source: Option<&'a str>,
    member: Option<&'a str>,
    options: Option<&'a str>,
    stored: &'a str,
}

/// JSON.
fn written(value: &impl Serialize) -> String {
    serde_json::to_string(value).unwrap_or_default()
}

/// Optimized PTX, and JSON that says what was done.
#[pyfunction]
fn optimize(py: Python<'_>, ptx: &str, name: &str, level: u8) -> PyResult<(String, String)> {
    let level = match level {
        0 => Level::None,
        1 => Level::Less,
        2 => Level::Default,
        3 => Level::Aggressive,
        _ => {
            return Err(PyValueError::new_err(format!(
                "the level is {level}, not 0 to 3"
            )));
        }
    };
    run(py, ptx, || {
        let mut module = oriole::parse(name, ptx)?;
        let report = oriole::optimize(&mut module, &Options::level(level))?;
        let functions = report.functions.iter().map(|own| Function {
            name: &own.name,
            before: own.before,
            after: own.after,
            is_better: own.is_better,
        });
        let done = Done {
            rewrites: report.rewrites,
            functions: functions.collect(),
            notes: report.notes.iter().map(|note| &note.message[..]).collect(),
        };
        Ok((oriole::print(&module), written(&done)))
    })
}

/// The JSON document of an analysis.
#[pyfunction]
fn analyze(
    py: Python<'_>,
    ptx: &str,
    name: &str,
    block: Option<[u32; 3]>,
    arguments: BTreeMap<u32, u64>,
    kernel: Option<String>,
    shared: Option<u32>,
) -> PyResult<String> {
    let options = AccessOptions {
        block,
        arguments,
        kernel,
        shared,
        ..AccessOptions::default()
    };
    run(py, ptx, || {
        let module = oriole::parse(name, ptx)?;
        let (kernels, _) = oriole::report::kernels(&module, &options)?;
        if let (Some(name), true) = (&options.kernel, kernels.is_empty()) {
            return Err(Failure::Message(format!("no kernel is named {name}")));
        }
        let parameters = kernels.iter().map(|own| own.parameters.len()).max();
        let mut given = options.arguments.keys();
        if let Some(number) = given.find(|&&own| own as usize >= parameters.unwrap_or(0)) {
            let message = format!("no kernel has a parameter {number}");
            return Err(Failure::Message(message));
        }
        Ok(oriole_report::json::write(&oriole::report::Report::new(
            kernels,
        )))
    })
}

/// The PTX of a container: JSON that describes each text, and the text.
#[pyfunction]
fn extract(py: Python<'_>, data: &[u8]) -> PyResult<Vec<(String, String)>> {
    let message = |error: oriole::extract::ExtractError| Failure::Message(error.to_string());
    let described = |image: &Image<'_>| -> Result<(String, String), Failure> {
        let about = About {
            architecture: image.architecture(),
            source: image.source.as_deref(),
            member: image.member.as_deref(),
            options: image.options.as_deref(),
            stored: image.compression.text(),
        };
        Ok((written(&about), image.text().map_err(message)?))
    };
    run(py, "", || {
        let images = oriole::extract::images(data).map_err(message)?;
        images.iter().map(described).collect()
    })
}

/// Whether bytes are a file that PTX is looked for in.
#[pyfunction]
fn is_container(data: &[u8]) -> bool {
    oriole::extract::is_container(data)
}

/// The compiled part of the package `oriole`.
#[pymodule]
fn _oriole(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("EXAMPLE", oriole::EXAMPLE)?;
    module.add("PtxError", module.py().get_type::<PtxError>())?;
    module.add_function(wrap_pyfunction!(optimize, module)?)?;
    module.add_function(wrap_pyfunction!(analyze, module)?)?;
    module.add_function(wrap_pyfunction!(extract, module)?)?;
    module.add_function(wrap_pyfunction!(is_container, module)?)?;
    Ok(())
}
