//! `oriole run`: executes a kernel in the emulator.

mod buffers;

use crate::Failure;
use crate::arguments::{FailOn, RunArguments};
use crate::files;
use crate::output;
use crate::report::Reporter;
use indicatif::{ProgressBar, ProgressStyle};
use oriole::{Module, RunError, RunOptions, RunReport};
use oriole_diagnostics::Severity;
use oriole_emulator::{
    Approximations, Argument, Finding, FindingKind, InstructionProfile, Options, Progress, TrapKind,
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

/// `1000`, `64K`, `500M` or `4G` as a number of bytes.
pub fn bytes(text: &str) -> Result<u64, String> {
    let (digits, shift) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 20),
        Some(b'G' | b'g') => (&text[..text.len() - 1], 30),
        _ => (text, 0),
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| format!("`{text}` is not a size such as 64K, 500M or 4G"))
}

fn execute(
    module: &Module,
    given: &[Argument],
    arguments: &RunArguments,
    approximations: Option<&Arc<Approximations>>,
    report: &Reporter,
) -> Result<RunReport, Failure> {
    let source = oriole::Source::new(module.name(), module.source());
    let progress = Arc::new(Progress::default());
    let check = arguments.check || !arguments.fail_on.is_empty();
    let options = RunOptions {
        kernel: arguments.kernel.clone(),
        grid: arguments.grid,
        block: arguments.block,
        dynamic_shared: arguments.shared,
        arguments: given.to_vec(),
        approximations: approximations.cloned(),
        execution: Options {
            progress: Some(progress.clone()),
            step_limit: arguments.steps,
            memory_limit: arguments.memory,
            time_limit: (arguments.time > 0).then(|| Duration::from_secs(arguments.time)),
            profile: arguments.profile,
            check_uninitialized: check,
            check_races: check,
            ..Options::default()
        },
    };
    let result = if std::io::stderr().is_terminal() {
        with_bar(module.name(), &progress, || oriole::run(module, &options))
    } else {
        oriole::run(module, &options)
    };
    result.map_err(|error| match error {
        RunError::Module(error) => report.failed(&source, error),
        RunError::Trap(trap) => {
            let findings = trap.findings.iter().map(|own| own.to_diagnostic());
            let mut said: Vec<_> = findings.collect();
            if trap.ptx_line > 0 {
                said.push(trap.to_diagnostic());
            } else {
                // No instruction is to blame.
                report.message("error", &trap.to_string());
            }
            if !said.is_empty() {
                report.diagnostics(&source, &said);
            }
            match trap.kind {
                TrapKind::BadLaunch => Failure::Reported,
                _ => Failure::Found,
            }
        }
        other => Failure::message(other.to_string()),
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

/// The names of all buffers, those of structures as `structure.member`.
fn buffer_names(given: &[Argument]) -> Vec<&str> {
    let members = given.iter().flat_map(|argument| &argument.members);
    given
        .iter()
        .filter(|argument| argument.is_buffer())
        .chain(members.map(|(_, member)| member))
        .map(|argument| &argument.name[..])
        .collect()
}

/// Whether a finding is one that was asked to fail.
fn fails(finding: &Finding, fail_on: &[FailOn]) -> bool {
    let kind = match finding.kind {
        FindingKind::Race | FindingKind::AsynchronousCopy => FailOn::Race,
        FindingKind::UninitializedRead => FailOn::Uninit,
        FindingKind::DivergentBarrier | FindingKind::ShuffleSource => FailOn::Sync,
    };
    fail_on.iter().any(|&asked| {
        let least = match asked {
            FailOn::Note => Severity::Note,
            FailOn::Error => Severity::Error,
            _ => Severity::Warning,
        };
        let is_kind = matches!(asked, FailOn::All | FailOn::Note | FailOn::Error) || asked == kind;
        is_kind && finding.severity >= least
    })
}

pub fn run(arguments: &RunArguments, report: &Reporter) -> Result<(), Failure> {
    let mut given = Vec::new();
    for (index, text) in arguments.arguments.iter().enumerate() {
        let parsed = Argument::parse_within(text, index, arguments.seed, arguments.memory);
        given.push(parsed.map_err(Failure::message)?);
    }
    let names = buffer_names(&given);
    let saves = saves(&arguments.save, &names)?;
    for name in &arguments.print {
        if !names.contains(&&name[..]) {
            return Err(Failure::message(format!(
                "there is no buffer `{name}` to print"
            )));
        }
    }
    let input = files::read(&arguments.file)?;
    let module = input
        .parse()
        .map_err(|error| report.failed(&input.source(), error))?;
    if let Some(warning) = oriole::unlisted_target(&module, None) {
        report.diagnostics(&input.source(), &[warning]);
    }
    let approximations = recorded(arguments)?;
    let outcome = execute(&module, &given, arguments, approximations.as_ref(), report)?;
    let mut output = output::standard()?;
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
    let buffer = |name: &str| outcome.buffers.iter().find(|buffer| buffer.name == name);
    for (name, file) in saves {
        if let Some(buffer) = buffer(name) {
            buffers::save(buffer, file)?;
        }
    }
    for name in &arguments.print {
        if let Some(buffer) = buffer(name) {
            buffers::print(buffer, &mut output)?;
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
    let failing = outcome.report.findings.iter();
    if failing
        .filter(|finding| fails(finding, &arguments.fail_on))
        .count()
        > 0
    {
        return Err(Failure::Found);
    }
    Ok(())
}

/// Which buffer goes to which file.
fn saves<'a>(list: &'a [String], names: &[&str]) -> Result<Vec<(&'a str, &'a Path)>, Failure> {
    list.iter()
        .map(|text| {
            let (name, file) = text
                .split_once('=')
                .ok_or_else(|| Failure::message(format!("expected NAME=FILE, found `{text}`")))?;
            if !names.contains(&name) {
                return Err(Failure::message(format!(
                    "there is no buffer `{name}` to save"
                )));
            }
            Ok((name, Path::new(file)))
        })
        .collect()
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
    outcome: &RunReport,
    other: &Path,
    given: &[Argument],
    arguments: &RunArguments,
    approximations: Option<&Arc<Approximations>>,
    report: &Reporter,
) -> Result<(), Failure> {
    let input = files::read(other)?;
    let module = input
        .parse()
        .map_err(|error| report.failed(&input.source(), error))?;
    let found = execute(&module, given, arguments, approximations, report)?;
    for (expected, found) in outcome.buffers.iter().zip(&found.buffers) {
        if let Some((index, left, right)) = buffers::difference(expected, found) {
            report.message(
                "error",
                &format!(
                    "`{}[{index}]` is 0x{left} after `{}` and 0x{right} after `{}`",
                    expected.name,
                    arguments.file.display(),
                    other.display()
                ),
            );
            return Err(Failure::Found);
        }
    }
    Ok(())
}
