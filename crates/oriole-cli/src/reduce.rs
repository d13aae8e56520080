//! `oriole reduce`.

use crate::Failure;
use crate::arguments::ReduceArguments;
use crate::files;
use crate::report::Reporter;
use crate::shell;
use oriole_files::temporary;

pub fn run(arguments: &ReduceArguments, report: &Reporter) -> Result<(), Failure> {
    let input = files::read(&arguments.file)?;
    let module = input
        .parse()
        .map_err(|error| report.failed(&input.source(), error))?;
    let folder = temporary::folder()?;
    let candidate = folder.path().join("candidate.ptx");
    let mut failure = None;
    let reduced = oriole::reduce(&module, &mut |text| {
        let outcome = std::fs::write(&candidate, text)
            .and_then(|()| shell::succeeds(&arguments.test, &candidate));
        outcome.unwrap_or_else(|error| {
            failure = Some(error);
            false
        })
    });
    if let Some(error) = failure {
        return Err(Failure::message(format!(
            "cannot run the test command: {error}"
        )));
    }
    let Some(reduced) = reduced else {
        return Err(Failure::message(format!(
            "the test command does not succeed on `{}` itself: there is nothing to keep",
            input.name
        )));
    };
    report.message(
        "note",
        &format!(
            "{} statements left after {} candidates",
            reduced.statements, reduced.tried
        ),
    );
    files::write(arguments.output.as_deref(), &reduced.text)
}
