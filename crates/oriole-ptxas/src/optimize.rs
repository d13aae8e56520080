//! Optimizes the input files into a temporary folder.

use crate::arguments::Parsed;
use crate::cache::{self, Cache};
use crate::say;
use crate::settings::{Reports, Settings};
use oriole::machine::{Assembler, SelectionError, keep_better};
use oriole::{LaunchLimits, Module, Options, Report};
use oriole_isa::Target;
use serde::Serialize;
use std::io::{Read, Write};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};

/// Files that take the place of inputs, by the arguments that name these.
#[derive(Default)]
pub struct Optimized {
    /// Optimized texts.
    pub files: Vec<(usize, PathBuf)>,
    /// Copies of pipes, which can be read only once.
    pub read: Vec<(usize, PathBuf)>,
}

/// What became of a text.
struct Outcome {
    text: String,
    /// What was done; nothing if it was done before.
    report: Option<Report>,
}

/// What machine code is compared with: that of this program for this architecture.
struct Judge<'a> {
    ptxas: &'a Path,
    target: Target,
    /// The folder of temporary files.
    folder: &'a Path,
}

/// Optimizes what can be optimized, into a folder. Only what was read from a pipe has to be written there.
pub fn inputs(
    parsed: &Parsed,
    settings: &Settings,
    ptxas: &Path,
    folder: &Path,
) -> std::io::Result<Optimized> {
    let mut optimized = Optimized::default();
    let is_unoptimized = parsed.is_unoptimized();
    for &index in &parsed.inputs {
        let named = &parsed.arguments[index];
        let file = Path::new(named);
        let is_pipe = is_pipe(named);
        let is_file = file.metadata().is_ok_and(|data| data.is_file());
        if !is_pipe && (!is_file || is_unoptimized) {
            continue;
        }
        let Ok(bytes) = read(named) else {
            continue;
        };
        let write = |kind: &str, bytes: &[u8]| {
            let name = file.file_name().filter(|_| named != "-");
            let own = folder.join(format!("{kind}{index}"));
            std::fs::create_dir(&own)?;
            let file = own.join(name.unwrap_or("stdin".as_ref()));
            std::fs::write(&file, bytes)?;
            Ok::<_, std::io::Error>((index, file))
        };
        if is_pipe {
            optimized.read.push(write("read", &bytes)?);
        }
        // The real one complains about other files.
        let text = String::from_utf8(bytes)
            .ok()
            .filter(|text| !is_unoptimized && is_for_us(text));
        let Some(text) = text else {
            continue;
        };
        let made = text_for(file, text, parsed, settings, ptxas, folder);
        match made.map(|text| write("optimized", text.as_bytes())) {
            None => {}
            Some(Ok(file)) => optimized.files.push(file),
            Some(Err(error)) => say(&format!(
                "cannot write temporary files: {error}; the original is assembled"
            )),
        }
    }
    Ok(optimized)
}

/// Whether an input can be read only once.
fn is_pipe(named: &std::ffi::OsStr) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let data = Path::new(named).metadata();
        named == "-" || data.is_ok_and(|data| data.file_type().is_fifo())
    }
    #[cfg(not(unix))]
    {
        named == "-"
    }
}

fn read(named: &std::ffi::OsStr) -> std::io::Result<Vec<u8>> {
    if named != "-" {
        return std::fs::read(named);
    }
    let mut bytes = Vec::new();
    std::io::stdin().read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The text that takes the place of that of a file, if there is one.
fn text_for(
    file: &Path,
    text: String,
    parsed: &Parsed,
    settings: &Settings,
    ptxas: &Path,
    folder: &Path,
) -> Option<String> {
    let named = parsed.target.as_deref().or_else(|| target_of(&text));
    let target = named.and_then(Target::from_text);
    let judge = target.filter(|_| settings.is_compared);
    let judge = judge.map(|target| Judge {
        ptxas,
        target,
        folder,
    });
    let name = file.display().to_string();
    if settings.is_compared && judge.is_none() {
        let why = "its architecture is unknown, so nothing can be compared";
        passed_through(&name, why, settings);
        return None;
    }
    // PTX for one target may be assembled for a later one.
    let launch = parsed.target.as_ref().map(|_| LaunchLimits::of(target));
    match optimized(file, &text, settings, launch, judge.as_ref()) {
        Ok(outcome) => {
            report(file, &outcome, settings);
            (outcome.text != text).then_some(outcome.text)
        }
        Err(why) => {
            passed_through(&name, &why, settings);
            None
        }
    }
}

/// Whether a text is PTX that was not compiled to be debugged.
fn is_for_us(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim_start);
    text.contains(".version")
        && !lines.any(|line| line.starts_with(".target") && line.contains("debug"))
}

/// The architecture that a text names.
fn target_of(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim_start);
    let named = lines.find_map(|line| line.strip_prefix(".target"))?;
    named.split([',', '/']).next().map(str::trim)
}

/// The text that takes the place of another one, or why there is none.
fn optimized(
    file: &Path,
    text: &str,
    settings: &Settings,
    launch: Option<LaunchLimits>,
    judge: Option<&Judge<'_>>,
) -> Result<Outcome, String> {
    // The key is a hash of the whole text: a fifth of the work, which only a cache needs.
    let cache = settings.cache.as_ref().map(|folder| {
        let own = std::env::current_exe();
        let judged_by = judge.map_or_else(Vec::new, |judge| {
            let mut parts = identity(judge.ptxas);
            parts.extend(judge.target.to_string().into_bytes());
            parts
        });
        let key = cache::key(&[
            env!("CARGO_PKG_VERSION").as_bytes(),
            &own.map_or_else(|_| Vec::new(), |own| identity(&own)),
            &[settings.level_number],
            &judged_by,
            format!("{launch:?}").as_bytes(),
            text.as_bytes(),
        ]);
        (Cache::new(folder, settings.cache_bytes), key)
    });
    if let Some(found) = cache.as_ref().and_then(|(cache, key)| cache.get(key)) {
        return Ok(Outcome {
            text: found,
            report: None,
        });
    }
    // A panic is caught below, and said in one line.
    std::panic::set_hook(Box::new(|_| {}));
    let name = file.display().to_string();
    let run = AssertUnwindSafe(|| optimize(&name, text, settings, launch, judge));
    let result = std::panic::catch_unwind(run);
    let _ = std::panic::take_hook();
    let (text, report) = result.map_err(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied());
        let message = message.unwrap_or("it panicked");
        format!("Oriole failed, please report it with the file ({message})")
    })??;
    if let Some((cache, key)) = cache {
        // A cache that cannot be written only costs time.
        let _ = cache.put(&key, &text);
    }
    Ok(Outcome {
        text,
        report: Some(report),
    })
}

fn optimize(
    name: &str,
    text: &str,
    settings: &Settings,
    launch: Option<LaunchLimits>,
    judge: Option<&Judge<'_>>,
) -> Result<(String, Report), String> {
    #[cfg(debug_assertions)]
    if std::env::var_os("ORIOLE_PTXAS_PANIC").is_some() {
        panic!("on purpose");
    }
    let first = |error: oriole::Error| {
        let first = error.iter().next();
        first.map_or_else(String::new, |(at, own)| {
            format!("line {}: {}", at.line, own.message)
        })
    };
    let mut module = oriole::parse(name, text).map_err(first)?;
    let original = judge.map(|_| module.clone());
    let options = Options {
        launch,
        ..Options::level(settings.level)
    };
    let mut report = oriole::optimize(&mut module, &options).map_err(first)?;
    if let (Some(judge), Some(original)) = (judge, original)
        && report.rewrites > 0
    {
        judge.keep_better(&original, &mut module, &mut report)?;
    }
    // What is as it was is handed on as it was written, lines included.
    let text = match report.rewrites {
        0 => text.to_owned(),
        _ => oriole::print(&module),
    };
    Ok((text, report))
}

impl Judge<'_> {
    /// Puts functions back whose machine code got worse.
    fn keep_better(
        &self,
        original: &Module,
        module: &mut Module,
        report: &mut Report,
    ) -> Result<(), String> {
        let mut assembler = Assembler::new(self.ptxas, self.folder, self.target);
        match keep_better(original, module, &mut assembler) {
            Ok(selection) => {
                report.put_back(|name| selection.put_back.iter().any(|own| own == name));
                Ok(())
            }
            // The original is what the real one will complain about, and what it gets if it does not accept what became of it.
            Err(SelectionError::Original(_)) => Err("ptxas does not accept it".to_owned()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// What tells a program from another version of it.
fn identity(program: &Path) -> Vec<u8> {
    let mut identity = program.as_os_str().as_encoded_bytes().to_vec();
    if let Ok(data) = program.metadata() {
        identity.extend(data.len().to_le_bytes());
        let since = |time: std::time::SystemTime| time.duration_since(std::time::UNIX_EPOCH).ok();
        if let Some(time) = data.modified().ok().and_then(since) {
            identity.extend(time.as_nanos().to_le_bytes());
        }
    }
    identity
}

/// A function of a report.
#[derive(Serialize)]
struct JsonFunction<'a> {
    name: &'a str,
    before: u64,
    after: u64,
}

/// A line of the reports.
#[derive(Serialize)]
struct JsonReport<'a> {
    file: String,
    cached: bool,
    rewrites: Option<u64>,
    functions: Vec<JsonFunction<'a>>,
}

/// A line about files that were passed on.
#[derive(Serialize)]
struct JsonError<'a> {
    error: &'a str,
    file: &'a str,
}

/// Says what was done, where that is asked for.
fn report(file: &Path, outcome: &Outcome, settings: &Settings) {
    match (&settings.reports, &outcome.report) {
        (Reports::Nowhere, _) => {}
        (Reports::StandardError, None) => say(&format!("{}: from the cache", file.display())),
        (Reports::StandardError, Some(report)) => {
            for function in &report.functions {
                say(&format!(
                    "{}: {}: {} PTX instructions, {} before",
                    file.display(),
                    function.name,
                    function.after,
                    function.before
                ));
            }
        }
        (Reports::File(into), report) => {
            let functions = report.iter().flat_map(|report| &report.functions);
            let functions = functions.map(|own| JsonFunction {
                name: &own.name,
                before: own.before,
                after: own.after,
            });
            let line = JsonReport {
                file: file.display().to_string(),
                cached: report.is_none(),
                rewrites: report.as_ref().map(|report| report.rewrites),
                functions: functions.collect(),
            };
            append(into, &line);
        }
    }
}

/// Says that an original is assembled, and why.
pub fn passed_through(files: &str, why: &str, settings: &Settings) {
    say(&format!("{files}: {why}; the original is assembled"));
    if let Reports::File(into) = &settings.reports {
        let line = JsonError {
            file: files,
            error: why,
        };
        append(into, &line);
    }
}

/// Appends a line to the reports.
fn append(into: &Path, line: &impl Serialize) {
    let line = serde_json::to_string(line).unwrap_or_default();
    // One write at the end of the file: lines of several processes do not mix.
    let opened = std::fs::File::options()
        .append(true)
        .create(true)
        .open(into);
    let written = opened.and_then(|mut opened| opened.write_all(format!("{line}\n").as_bytes()));
    if let Err(error) = written {
        say(&format!("cannot write `{}`: {error}", into.display()));
    }
}
