//! `oriole extract`: lists and writes the PTX in files of all kinds.

use crate::Failure;
use crate::arguments::ExtractArguments;
use crate::files::{self, Input};
use crate::report::Reporter;
use oriole::extract::{self, Image};
use oriole_diagnostics::{printable_json, printable_line};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::io::Read;
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

    fn json(&self) -> Value {
        json!({
            "index": self.index,
            "architecture": self.architecture,
            "ptx": self.version,
            "bytes": self.bytes,
            "stored": self.stored,
            "kernels": self.kernels,
            "source": self.source,
            "member": self.member,
            "options": self.options,
            "written": self.written,
        })
    }
}

/// Where texts go.
enum Output<'a> {
    /// Nowhere: they are listed.
    List,
    /// Into this file, or to the standard output: there may be one.
    Single(&'a Path),
    /// Into a folder, under names of which these are taken.
    Folder(&'a Path, BTreeSet<String>),
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
        Ok(Output::Folder(output, BTreeSet::new()))
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

/// What is in a file, and what to do with what is asked for.
fn texts_of(
    file: &Path,
    act: &mut dyn FnMut(Found, String) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let is_cuda = file.extension().is_some_and(|extension| extension == "cu");
    if is_cuda {
        return files::inputs_of(file, &mut |Input { text, .. }, _| {
            act(Found::new(1, &text, None), text)
        });
    }
    let (name, bytes) = files::read_bytes(file)?;
    let cannot = |error| Failure::message(format!("cannot read `{name}`: {error}"));
    if !extract::is_container(&bytes) {
        let text = String::from_utf8(bytes)
            .ok()
            .filter(|text| text.contains(".version"))
            .ok_or_else(|| Failure::message(format!("`{name}` is neither PTX nor a container")))?;
        return act(Found::new(1, &text, None), text);
    }
    for (index, image) in extract::images(&bytes).map_err(cannot)?.iter().enumerate() {
        let text = image.text().map_err(cannot)?;
        act(Found::new(index + 1, &text, Some(image)), text)?;
    }
    Ok(())
}

pub fn run(arguments: &ExtractArguments, report: &Reporter) -> Result<(), Failure> {
    let mut output = Output::of(arguments)?;
    let mut listed = Vec::new();
    let mut single = None;
    let mut count = 0;
    for path in &arguments.paths {
        let is_folder = path.is_dir();
        let in_folder = match is_folder {
            true => files::files_below(path, &may_hold_ptx)?,
            false => vec![path.clone()],
        };
        let before = count;
        for file in in_folder {
            let mut texts = Vec::new();
            let done = texts_of(&file, &mut |mut found, text| {
                if !found.is_asked_for(arguments) {
                    return Ok(());
                }
                count += 1;
                match &mut output {
                    Output::List => {}
                    Output::Single(_) => single = Some(text),
                    Output::Folder(folder, taken) => {
                        let place = Output::place(folder, taken, &file, &found);
                        files::write(Some(&place), &text)?;
                        found.written = Some(place);
                    }
                }
                texts.push(found);
                Ok(())
            });
            match done {
                Err(Failure::Message(message)) if is_folder => report.message("warning", &message),
                done => done?,
            }
            if !texts.is_empty() {
                listed.push((file, texts));
            }
        }
        if count == before {
            let wanted = match (&arguments.arch, arguments.index) {
                (None, None) => "",
                _ => " that is asked for",
            };
            let path = path.display();
            return Err(Failure::message(format!("`{path}` holds no PTX{wanted}")));
        }
    }
    if let Output::Single(file) = output {
        let Some(text) = single.filter(|_| count == 1) else {
            return Err(Failure::message(format!(
                "there are {count} PTX texts, and one file to write: choose one with --index or --arch, or name a folder"
            )));
        };
        return files::write(Some(file), &text);
    }
    files::write(None, &list(&listed, arguments.json)?)
}

fn list(listed: &[(PathBuf, Vec<Found>)], as_json: bool) -> Result<String, Failure> {
    if as_json {
        let files: Vec<Value> = listed
            .iter()
            .map(|(file, texts)| {
                json!({"file": file, "texts": texts.iter().map(Found::json).collect::<Vec<_>>()})
            })
            .collect();
        let text = serde_json::to_string_pretty(&json!({"version": 1, "files": files}))
            .map_err(|error| Failure::message(error.to_string()))?;
        return Ok(format!("{}\n", printable_json(&text)));
    }
    let mut output = String::new();
    for (file, texts) in listed {
        let _ = writeln!(output, "{}", printable_line(&file.display().to_string()));
        for found in texts {
            let _ = writeln!(output, "{}", printable_line(&found.line()));
        }
    }
    Ok(output)
}
