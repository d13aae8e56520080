//! `oriole run`: executes a kernel in the emulator.

use crate::Failure;
use crate::arguments::RunArguments;
use crate::files;
use crate::report::Reporter;
use indicatif::{ProgressBar, ProgressStyle};
use oriole::Module;
use oriole_emulator::{
    Approximations, Argument, Buffer, InstructionProfile, Launch, Machine, Options, Progress,
    Report, Value,
};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// `4`, `4x2` or `4x2x1` as three numbers.
pub fn shape(text: &str) -> Result<[u32; 3], String> {
    let mut shape = [1; 3];
    let parts: Vec<&str> = text.split('x').collect();
    if parts.len() > 3 {
        return Err(format!("`{text}` has more than three dimensions"));
    }
    for (slot, part) in shape.iter_mut().zip(&parts) {
        *slot = part
            .parse()
            .ok()
            .filter(|&number| number > 0)
            .ok_or_else(|| format!("`{part}` is not a positive number"))?;
    }
    Ok(shape)
}

/// What a kernel left behind.
struct Outcome {
    report: Report,
    /// Name, element size and contents of each buffer.
    buffers: Vec<(String, usize, Vec<u8>)>,
}

fn execute(
    module: &Module,
    given: &[Argument],
    arguments: &RunArguments,
    approximations: Option<&Arc<Approximations>>,
    report: &Reporter,
) -> Result<Outcome, Failure> {
    let source = oriole::Source::new(module.name(), module.source());
    let decoded = match approximations {
        Some(recorded) => Machine::with_approximations(module, recorded),
        None => Machine::new(module),
    };
    let mut machine = decoded.map_err(|errors| {
        report.diagnostics(&source, &errors);
        Failure::Reported
    })?;
    let values = machine.arguments(given);
    let buffers: Vec<(String, usize, Buffer)> = given
        .iter()
        .zip(&values)
        .filter_map(|(argument, value)| match value {
            Value::Buffer(buffer) => {
                Some((argument.name.clone(), argument.element.bytes(), *buffer))
            }
            Value::Bytes(_) => None,
        })
        .collect();
    let launch = Launch {
        kernel: arguments.kernel.as_deref().unwrap_or("*"),
        grid: arguments.grid,
        block: arguments.block,
        dynamic_shared: arguments.shared,
        arguments: values,
    };
    let progress = Arc::new(Progress::default());
    let options = Options {
        progress: Some(progress.clone()),
        step_limit: arguments.steps,
        profile: arguments.profile,
        check_uninitialized: arguments.check,
        check_races: arguments.check,
        ..Options::default()
    };
    let result = if std::io::stderr().is_terminal() {
        with_bar(module.name(), &progress, || {
            machine.launch(&launch, &options)
        })
    } else {
        machine.launch(&launch, &options)
    };
    let done = result.map_err(|trap| {
        report.diagnostics(&source, &[trap.to_diagnostic()]);
        Failure::Reported
    })?;
    Ok(Outcome {
        report: done,
        buffers: buffers
            .into_iter()
            .map(|(name, size, buffer)| (name, size, machine.read(buffer)))
            .collect(),
    })
}

/// Shows how many blocks have ended while a launch runs, if it takes longer than a moment.
fn with_bar<T>(name: &str, progress: &Progress, launch: impl FnOnce() -> T) -> T {
    const MOMENT: Duration = Duration::from_millis(200);
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            std::thread::park_timeout(MOMENT);
            if ended.load(Relaxed) {
                return;
            }
            let style = ProgressStyle::with_template(
                "{msg} {wide_bar} {pos} of {len} blocks, {elapsed}, {eta} left",
            )
            .unwrap_or_else(|_| ProgressStyle::default_bar());
            let bar = ProgressBar::new(progress.total())
                .with_style(style)
                .with_message(name.to_owned());
            while !ended.load(Relaxed) {
                bar.set_length(progress.total());
                bar.set_position(progress.done());
                bar.tick();
                std::thread::park_timeout(MOMENT);
            }
            bar.finish_and_clear();
        });
        let result = launch();
        ended.store(true, Relaxed);
        watcher.thread().unpark();
        result
    })
}

/// The recording that approximate instructions replay, if it was asked for; an empty one if only misses were.
fn recorded(arguments: &RunArguments) -> Result<Option<Arc<Approximations>>, Failure> {
    let Some(file) = &arguments.approx else {
        let wanted = arguments.approx_missing.is_some();
        return Ok(wanted.then(Arc::default));
    };
    let bad = |message: String| Failure::message(format!("{}: {message}", file.display()));
    let text = std::fs::read_to_string(file).map_err(|error| bad(error.to_string()))?;
    let recorded = Approximations::parse(&text).map_err(bad)?;
    Ok(Some(Arc::new(recorded)))
}

/// Says or writes which approximate results were not recorded.
fn say_missing(
    arguments: &RunArguments,
    approximations: &Approximations,
    report: &Reporter,
) -> Result<(), Failure> {
    if let Some(file) = &arguments.approx_missing {
        return files::write(Some(file), &approximations.missing());
    }
    if approximations.missing_count() > 0 {
        let count = approximations.missing_count();
        report.message(
            "note",
            &format!("{count} approximate results are not recorded; they were approximated here"),
        );
    }
    Ok(())
}

pub fn run(arguments: &RunArguments, report: &Reporter) -> Result<(), Failure> {
    let mut given = Vec::new();
    for (index, text) in arguments.arguments.iter().enumerate() {
        given.push(Argument::parse(text, index, arguments.seed).map_err(Failure::message)?);
    }
    let saves = saves(&arguments.save, &given)?;
    let input = files::read(&arguments.file)?;
    let module = input.parse().map_err(|errors| {
        report.diagnostics(&input.source(), &errors);
        Failure::Reported
    })?;
    let approximations = recorded(arguments)?;
    let outcome = execute(&module, &given, arguments, approximations.as_ref(), report)?;
    let mut output = std::io::stdout().lock();
    output.write_all(&outcome.report.output)?;
    for note in &outcome.report.notes {
        report.message("note", note);
    }
    let findings: Vec<oriole::Diagnostic> = outcome
        .report
        .findings
        .iter()
        .map(|finding| finding.to_diagnostic())
        .collect();
    if !findings.is_empty() {
        report.diagnostics(&input.source(), &findings);
    }
    for (argument, file) in saves {
        if let Some((_, _, bytes)) = outcome
            .buffers
            .iter()
            .find(|(name, _, _)| *name == given[argument].name)
        {
            save(file, &given[argument], bytes)?;
        }
    }
    writeln!(
        output,
        "{} thread instructions",
        outcome.report.thread_instructions
    )?;
    if arguments.profile {
        profile(&mut output, &module, &outcome.report.profile)?;
    }
    if let Some(other) = &arguments.compare {
        let recorded = approximations.as_ref();
        compare(&outcome, other, &given, arguments, recorded, report)?;
        writeln!(output, "both write the same bytes")?;
    }
    if let Some(approximations) = &approximations {
        say_missing(arguments, approximations, report)?;
    }
    Ok(())
}

/// Which argument goes to which file.
fn saves<'a>(list: &'a [String], given: &[Argument]) -> Result<Vec<(usize, &'a Path)>, Failure> {
    list.iter()
        .map(|text| {
            let (name, file) = text
                .split_once('=')
                .ok_or_else(|| Failure::message(format!("expected NAME=FILE, found `{text}`")))?;
            let index = given
                .iter()
                .position(|argument| argument.name == name && argument.is_buffer())
                .ok_or_else(|| Failure::message(format!("there is no buffer `{name}` to save")))?;
            Ok((index, Path::new(file)))
        })
        .collect()
}

/// Writes a buffer, as NumPy's format if the file is called so, else raw.
fn save(file: &Path, argument: &Argument, bytes: &[u8]) -> Result<(), Failure> {
    let mut contents = Vec::new();
    if file.extension().is_some_and(|extension| extension == "npy") {
        let size = argument.element.bytes();
        let kind = match argument.element.text() {
            text if text.starts_with('s') => 'i',
            "bf16" => 'u',
            text if text.starts_with('f') => 'f',
            _ => 'u',
        };
        let mut header = format!(
            "{{'descr': '<{kind}{size}', 'fortran_order': False, 'shape': ({},), }}",
            bytes.len() / size
        );
        // Magic, version and length take ten bytes; the whole header is a multiple of 64 and ends in a line feed.
        let padding = 63 - (10 + header.len()) % 64;
        header.push_str(&" ".repeat(padding));
        header.push('\n');
        contents.extend(b"\x93NUMPY\x01\x00");
        contents.extend((header.len() as u16).to_le_bytes());
        contents.extend(header.as_bytes());
    }
    contents.extend(bytes);
    files::write_bytes(Some(file), &contents)
}

/// The hottest instructions, and those that move the most for nothing.
fn profile(
    output: &mut impl Write,
    module: &Module,
    profile: &[InstructionProfile],
) -> Result<(), Failure> {
    let wasted = |entry: &InstructionProfile| {
        let counters = &entry.counters;
        (counters.sectors - counters.ideal_sectors.min(counters.sectors))
            + (counters.wavefronts - counters.ideal_wavefronts.min(counters.wavefronts))
    };
    let mut table =
        |title: &str, key: &dyn Fn(&InstructionProfile) -> u64| -> Result<(), Failure> {
            let mut entries: Vec<&InstructionProfile> =
                profile.iter().filter(|entry| key(entry) > 0).collect();
            entries.sort_by_key(|entry| (std::cmp::Reverse(key(entry)), entry.ptx_line));
            writeln!(output, "\n{title}")?;
            writeln!(
                output,
                "{:>10} {:>12} {:>10} {:>10} {:>10} {:>10}  line  instruction",
                "executions", "lanes", "sectors", "ideal", "wavefronts", "ideal"
            )?;
            for entry in entries.iter().take(10) {
                let counters = &entry.counters;
                let text = &module.source()[entry.span.range()];
                writeln!(
                    output,
                    "{:>10} {:>12} {:>10} {:>10} {:>10} {:>10}  {:>4}  {text}{}",
                    counters.executions,
                    counters.lanes,
                    counters.sectors,
                    counters.ideal_sectors,
                    counters.wavefronts,
                    counters.ideal_wavefronts,
                    entry.ptx_line,
                    entry
                        .source
                        .as_ref()
                        .map_or(String::new(), |source| format!(
                            "  ({}:{})",
                            source.file, source.line
                        )),
                )?;
            }
            Ok(())
        };
    table("Most executed:", &|entry| entry.counters.lanes)?;
    table("Most wasteful:", &wasted)
}

/// Runs another file with the same arguments and compares all buffers.
fn compare(
    outcome: &Outcome,
    other: &Path,
    given: &[Argument],
    arguments: &RunArguments,
    approximations: Option<&Arc<Approximations>>,
    report: &Reporter,
) -> Result<(), Failure> {
    let input = files::read(other)?;
    let module = input.parse().map_err(|errors| {
        report.diagnostics(&input.source(), &errors);
        Failure::Reported
    })?;
    let found = execute(&module, given, arguments, approximations, report)?;
    for ((name, size, expected), (_, _, bytes)) in outcome.buffers.iter().zip(&found.buffers) {
        let place = expected
            .chunks(*size)
            .zip(bytes.chunks(*size))
            .position(|(left, right)| left != right);
        if let Some(index) = place {
            let at = index * size..(index + 1) * size;
            let hexadecimal = |bytes: &[u8]| -> String {
                bytes
                    .iter()
                    .rev()
                    .map(|byte| format!("{byte:02x}"))
                    .collect()
            };
            return Err(Failure::message(format!(
                "`{name}[{index}]` is 0x{} after `{}` and 0x{} after `{}`",
                hexadecimal(&expected[at.clone()]),
                arguments.file.display(),
                hexadecimal(&bytes[at]),
                other.display()
            )));
        }
    }
    Ok(())
}
