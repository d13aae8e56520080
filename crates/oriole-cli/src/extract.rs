//! `oriole extract`: lists and writes the PTX in files of all kinds.

use crate::Failure;
use crate::arguments::ExtractArguments;
use crate::batch::Batch;
use crate::files::{self, Text};
use crate::output::{JsonList, Sink};
use crate::report::{Log, Reporter};
use oriole::extract::{self, Image};
use oriole_diagnostics::printable_line;
use oriole_files::Replacement;
use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::{Read, Write as _};
use std::path::{Path, PathBuf};

/// A text that was found.
struct Found {
    /// Its place among the texts of its file, from 1.
    index: usize,
    architecture: String,
    version: String,
    bytes: usize,
    /// How it was stored.
    stored: &'static str,
    /// The kernels, if the text can be parsed.
    kernels: Option<Vec<String>>,
    /// The source file, the archive member and the options of `ptxas`, as far as the file says.
    source: Option<String>,
    member: Option<String>,
    options: Option<String>,
    /// Where it was written.
    written: Option<PathBuf>,
}

impl Found {
    fn new(index: usize, text: &str, image: Option<&Image<'_>>) -> Found {
        let module = oriole::parse("", text).ok();
        let declared = module.as_ref().and_then(|module| module.target());
        let architecture = match image.map(Image::architecture).filter(|own| !own.is_empty()) {
            Some(architecture) => architecture,
            None => declared.unwrap_or("unknown").to_owned(),
        };
        let version = text
            .lines()
            .find_map(|line| line.trim().strip_prefix(".version"));
        Found {
            index,
            architecture,
            version: version.unwrap_or("?").trim().to_owned(),
            bytes: text.len(),
            stored: match image {
                None => "text",
                Some(image) if image.is_debug_text() => "debug",
                Some(image) => match image.compression {
                    extract::Compression::None => "plain",
                    compression => compression.text(),
                },
            },
            kernels: module.map(|module| {
                let entries = module.functions.iter().filter(|function| {
                    function.kind == oriole_syntax::tree::FunctionKind::Entry
                        && function.body.is_some()
                });
                entries
                    .map(|function| module.text(function.name).to_owned())
                    .collect()
            }),
            source: image.and_then(|image| image.source.clone()),
            member: image.and_then(|image| image.member.clone()),
            options: image.and_then(|image| image.options.clone()),
            written: None,
        }
    }

    fn is_asked_for(&self, arguments: &ExtractArguments) -> bool {
        let wanted = arguments.arch.as_deref();
        wanted.is_none_or(|wanted| wanted == self.architecture)
            && arguments
                .index
                .is_none_or(|index| index.get() == self.index)
    }

    fn line(&self) -> String {
        let kernels = match &self.kernels {
            Some(kernels) if kernels.len() == 1 => "1 kernel".to_owned(),
            Some(kernels) => format!("{} kernels", kernels.len()),
            None => "malformed".to_owned(),
        };
        let mut line = format!(
            "  {:>3}  {:<8} PTX {:<4} {:>9} bytes  {:<5}  {kernels:<11}",
            self.index, self.architecture, self.version, self.bytes, self.stored
        );
        for part in [&self.member, &self.source].into_iter().flatten() {
            let _ = write!(line, " {part}");
        }
        if let Some(written) = &self.written {
            let _ = write!(line, " → {}", written.display());
        }
        line
    }

    fn json(&self) -> JsonText<'_> {
        JsonText {
            index: self.index,
            architecture: &self.architecture,
            ptx: &self.version,
            bytes: self.bytes,
            stored: self.stored,
            kernels: self.kernels.as_deref(),
            source: self.source.as_deref(),
            member: self.member.as_deref(),
            options: self.options.as_deref(),
            written: self.written.as_deref(),
        }
    }
}

/// A text, as JSON.
#[derive(Serialize)]
struct JsonText<'a> {
    index: usize,
    architecture: &'a str,
    ptx: &'a str,
    bytes: usize,
    stored: &'a str,
    kernels: Option<&'a [String]>,
    source: Option<&'a str>,
    member: Option<&'a str>,
    options: Option<&'a str>,
    written: Option<&'a Path>,
}

/// A file with its texts, as JSON.
#[derive(Serialize)]
struct JsonFile<'a> {
    file: &'a Path,
    texts: Vec<JsonText<'a>>,
}

/// The document without its files.
#[derive(Serialize)]
struct Rest {
    version: u32,
}

/// Where texts go.
enum Output<'a> {
    /// Nowhere: they are listed.
    List,
    /// Into this file, or to the standard output: there may be one.
    Single(&'a Path),
    /// Into a folder.
    Folder(&'a Path),
}

impl Output<'_> {
    fn of(arguments: &ExtractArguments) -> Result<Output<'_>, Failure> {
        let Some(output) = &arguments.output else {
            return Ok(Output::List);
        };
        let is_file = output
            .extension()
            .is_some_and(|extension| extension == "ptx");
        if output == Path::new("-") || is_file && !output.is_dir() {
            return Ok(Output::Single(output));
        }
        std::fs::create_dir_all(output).map_err(|error| {
            Failure::message(format!(
                "cannot make the folder `{}`: {error}",
                output.display()
            ))
        })?;
        Ok(Output::Folder(output))
    }

    /// A file of a folder that no other text has.
    fn place(folder: &Path, taken: &mut BTreeSet<String>, file: &Path, found: &Found) -> PathBuf {
        let stem = match file == Path::new("-") {
            true => "stdin".into(),
            false => file.file_stem().unwrap_or_default().to_string_lossy(),
        };
        let Found {
            index,
            architecture,
            stored,
            ..
        } = found;
        let base = match *stored {
            "text" => stem.into_owned(),
            _ => format!("{stem}.{index}.{architecture}"),
        };
        let mut name = format!("{base}.ptx");
        let mut copy = 2;
        while !taken.insert(name.clone()) {
            name = format!("{base}-{copy}.ptx");
            copy += 1;
        }
        folder.join(name)
    }
}

/// Whether a file below a folder is PTX or of a kind that may hold some.
fn may_hold_ptx(file: &Path) -> bool {
    if file.extension().is_some_and(|extension| extension == "ptx") {
        return true;
    }
    let mut start = [0; 64];
    let read = std::fs::File::open(file).and_then(|mut opened| opened.read(&mut start));
    read.is_ok_and(|count| extract::is_container(&start[..count]))
}

/// A text that is asked for, until it is its file's turn.
struct Kept {
    found: Found,
    contents: Contents,
}

/// What is kept of a text until then.
enum Contents {
    Nothing,
    Text(String),
    File(Replacement),
}

/// What is in a text, if it is asked for.
fn examine(
    text: &Text<'_>,
    arguments: &ExtractArguments,
    output: &Output<'_>,
) -> Result<Option<Kept>, Failure> {
    let input = &text.input;
    let is_ptx = input.is_text() && input.text.contains(".version");
    if text.image.is_none() && !is_ptx {
        let name = &input.name;
        return Err(Failure::message(format!(
            "`{name}` is neither PTX nor a container"
        )));
    }
    let found = Found::new(text.index, &input.text, text.image);
    if !found.is_asked_for(arguments) {
        return Ok(None);
    }
    let contents = match output {
        Output::List => Contents::Nothing,
        Output::Single(_) => Contents::Text(input.text.clone()),
        Output::Folder(folder) => {
            let mut file = Replacement::below(folder).map_err(|error| cannot(folder, &error))?;
            file.write_all(input.text.as_bytes())
                .map_err(|error| cannot(folder, &error))?;
            Contents::File(file)
        }
    };
    Ok(Some(Kept { found, contents }))
}

fn cannot(file: &Path, error: &std::io::Error) -> Failure {
    Failure::message(format!("cannot write `{}`: {error}", file.display()))
}

/// The files to look in.
#[derive(Default)]
struct Files {
    all: Vec<PathBuf>,
    /// How many of them each path stands for.
    counts: Vec<usize>,
    /// Whether each was found below a folder.
    is_found: Vec<bool>,
}

impl Files {
    fn of(paths: &[PathBuf]) -> Result<Files, Failure> {
        let mut files = Files::default();
        for path in paths {
            let is_folder = path.is_dir();
            let own = match is_folder {
                true => files::files_below(path, &may_hold_ptx)?,
                false => vec![path.clone()],
            };
            files.counts.push(own.len());
            files.is_found.extend(own.iter().map(|_| is_folder));
            files.all.extend(own);
        }
        Ok(files)
    }
}

pub fn run(arguments: &ExtractArguments, report: &Reporter) -> Result<(), Failure> {
    let output = Output::of(arguments)?;
    let Files {
        all,
        counts,
        is_found,
    } = Files::of(&arguments.paths)?;
    let mut texts_in = vec![0; all.len()];
    let mut single = None;
    let mut taken = BTreeSet::new();
    let mut sink = Sink::new(None)?;
    let mut list = JsonList::new("files");
    let work = |text: &Text<'_>, _: &Log<'_>| examine(text, arguments, &output);
    let batch = Batch::of_files(all.clone()).passing_over(is_found);
    let tally = batch.run(report, &work, |index, texts: Vec<Option<Kept>>| {
        let file = &all[index];
        let mut listed = Vec::new();
        for Kept {
            mut found,
            contents,
        } in texts.into_iter().flatten()
        {
            match (contents, &output) {
                (Contents::Text(text), _) => single = Some(text),
                (Contents::File(contents), Output::Folder(folder)) => {
                    let place = Output::place(folder, &mut taken, file, &found);
                    let done = contents.finish(&place);
                    done.map_err(|error| cannot(&place, &error))?;
                    found.written = Some(place);
                }
                _ => {}
            }
            listed.push(found);
        }
        texts_in[index] = listed.len();
        match listed.is_empty() || matches!(output, Output::Single(_)) {
            true => Ok(()),
            false => sink.write(&list_of(file, &listed, arguments.json, &mut list)),
        }
    })?;
    let count: usize = texts_in.iter().sum();
    let is_list = !matches!(output, Output::Single(_));
    if arguments.json && is_list && count > 0 {
        sink.write(&list.finish(&Rest { version: 1 }))?;
    }
    sink.finish()?;
    let has_failed = tally.failed > 0;
    let mut rest = texts_in.as_slice();
    for (path, count) in arguments.paths.iter().zip(counts) {
        let (own, others) = rest.split_at(count);
        rest = others;
        // Why a file that was named cannot be used was said.
        if own.iter().sum::<usize>() == 0 && !has_failed {
            let wanted = match (&arguments.arch, arguments.index) {
                (None, None) => "",
                _ => " that is asked for",
            };
            let path = path.display();
            return Err(Failure::message(format!("`{path}` holds no PTX{wanted}")));
        }
    }
    tally.finish(report)?;
    if let Output::Single(file) = output {
        let Some(text) = single.filter(|_| count == 1) else {
            return Err(Failure::message(format!(
                "there are {count} PTX texts, and one file to write: choose one with --index or --arch, or name a folder"
            )));
        };
        return files::write(Some(file), &text);
    }
    Ok(())
}

/// What is printed of the texts of a file.
fn list_of(file: &Path, texts: &[Found], as_json: bool, list: &mut JsonList) -> String {
    let mut output = String::new();
    if as_json {
        let texts = texts.iter().map(Found::json).collect();
        let element = JsonList::element(&JsonFile { file, texts });
        list.add(&[element], &mut output);
        return output;
    }
    let _ = writeln!(output, "{}", printable_line(&file.display().to_string()));
    for found in texts {
        let _ = writeln!(output, "{}", printable_line(&found.line()));
    }
    output
}
