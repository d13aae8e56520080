//! Reading input, writing output atomically, finding files.

use crate::Failure;
use crate::output;
use crate::report::Reporter;
use oriole::extract::{self, Image};
use oriole::{Diagnostic, Error, Module, Source};
use rayon::prelude::*;
use std::io::{BufRead, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

/// A name for messages, and the text.
pub struct Input {
    pub name: String,
    pub text: String,
    /// Whether it is the embedded example.
    pub is_example: bool,
    /// Why the bytes are no text, if they are none.
    invalid: Vec<Diagnostic>,
}

impl Input {
    fn new(name: String, text: String) -> Input {
        Input {
            name,
            text,
            is_example: false,
            invalid: Vec::new(),
        }
    }

    /// Bytes that should be text.
    fn of_bytes(name: String, bytes: Vec<u8>) -> Input {
        match String::from_utf8(bytes) {
            Ok(text) => Input::new(name, text),
            Err(error) => {
                let (module, invalid) =
                    oriole_syntax::parse_bytes(name.as_str(), error.into_bytes());
                Input {
                    text: module.source().to_owned(),
                    name,
                    is_example: false,
                    invalid,
                }
            }
        }
    }

    /// Whether this is text at all.
    pub fn is_text(&self) -> bool {
        self.invalid.is_empty()
    }

    /// The text as a module.
    pub fn parse(&self) -> Result<Module, Error> {
        if self.invalid.is_empty() {
            oriole::parse(self.name.as_str(), self.text.as_str())
        } else {
            Err(Error::new(&self.source(), self.invalid.clone()))
        }
    }

    /// The text as a module that takes it over, so that a large file is in memory once; or says what is wrong with it.
    pub fn into_module(self, report: &Reporter) -> Result<Module, Failure> {
        if !self.is_text() {
            let source = self.source();
            let error = Error::new(&source, self.invalid.clone());
            return Err(report.failed(&source, error));
        }
        let (module, errors) = oriole_syntax::parse(self.name, self.text);
        if errors.is_empty() {
            return Ok(module);
        }
        let source = Source::new(module.name(), module.source());
        Err(report.failed(&source, Error::new(&source, errors)))
    }

    /// The text with its name, for diagnostics.
    pub fn source(&self) -> Source<'_> {
        Source::new(self.name.as_str(), &self.text)
    }
}

/// Most bytes of a file that is taken for Triton's metadata.
const MOST_METADATA: u64 = 1 << 20;

/// The bytes of dynamic shared memory that Triton launches a kernel with: they stand in a file beside the PTX, whose name ends in `.json`.
pub fn triton_shared(input: &Input) -> Option<u32> {
    let path = Path::new(&input.name).with_extension("json");
    let about = std::fs::metadata(&path).ok()?;
    if !about.is_file() || about.len() > MOST_METADATA {
        return None;
    }
    let metadata: TritonMetadata = serde_json::from_slice(&std::fs::read(&path).ok()?).ok()?;
    metadata.shared.try_into().ok()
}

/// Triton's metadata of a kernel. Other tools write files of this name, too: these have other fields.
#[derive(serde::Deserialize)]
struct TritonMetadata {
    #[serde(rename = "num_warps")]
    _warps: u64,
    shared: u64,
}

/// Reads a file, the standard input for `-`; without one, what [`named_or_input`] says.
pub fn read_or_example(
    file: Option<&Path>,
    is_example: bool,
    report: &Reporter,
) -> Result<Input, Failure> {
    let named: Vec<PathBuf> = file.map(Path::to_path_buf).into_iter().collect();
    match &named_or_input(&named, is_example, report)?[..] {
        [] => Ok(example()),
        [file, ..] => read(file),
    }
}

/// The named files. Without names, the standard input unless it is a terminal or empty. Nothing stands for the embedded example.
pub fn named_or_input(
    files: &[PathBuf],
    is_example: bool,
    report: &Reporter,
) -> Result<Vec<PathBuf>, Failure> {
    if is_example || !files.is_empty() {
        return Ok(files.to_vec());
    }
    let input = std::io::stdin();
    // Peeking does not consume input.
    if !input.is_terminal()
        && !input
            .lock()
            .fill_buf()
            .map_err(cannot_read_input)?
            .is_empty()
    {
        return Ok(vec![PathBuf::from("-")]);
    }
    report.message("note", "no file given: using the embedded example kernel");
    Ok(Vec::new())
}

fn cannot_read_input(error: std::io::Error) -> Failure {
    Failure::message(format!("cannot read the standard input: {error}"))
}

/// The embedded example.
pub fn example() -> Input {
    Input {
        is_example: true,
        ..Input::new("example.ptx".to_owned(), oriole::EXAMPLE.to_owned())
    }
}

/// The one text of a file, or of the standard input for `-`.
pub fn read(file: &Path) -> Result<Input, Failure> {
    let texts = texts_of(file, &|text| {
        let architecture = text.architecture();
        let input = (text.index == 1).then_some(text.input);
        (architecture, input)
    })?;
    let mut only = None;
    let mut architectures = Vec::new();
    for text in texts {
        let (architecture, input) = text?;
        only = only.or(input);
        architectures.push(architecture);
    }
    let name = file.display();
    match only {
        Some(input) if architectures.len() == 1 => Ok(input),
        None => Err(no_ptx(file)),
        Some(_) => {
            let listed: Vec<String> = (1..)
                .zip(&architectures)
                .take(12)
                .map(|(index, architecture)| format!("{index}: {architecture}"))
                .collect();
            Err(Failure::message(format!(
                "`{name}` holds {} PTX texts ({}{}); `oriole extract {name} --index N -o FILE.ptx` writes one of them",
                architectures.len(),
                listed.join(", "),
                if architectures.len() > 12 {
                    ", …"
                } else {
                    ""
                }
            )))
        }
    }
}

/// Says that a file holds no PTX.
pub fn no_ptx(file: &Path) -> Failure {
    Failure::message(format!("`{}` holds no PTX", file.display()))
}

/// One of the texts of a file.
pub struct Text<'a> {
    /// The text.
    pub input: Input,
    /// Its place among those of its file, from 1.
    pub index: usize,
    /// What the container says of it, if it was in one.
    pub image: Option<&'a Image<'a>>,
}

impl Text<'_> {
    /// The only text of a file.
    pub fn of(input: Input) -> Text<'static> {
        Text {
            input,
            index: 1,
            image: None,
        }
    }

    /// The architecture, `debug` for a text that is there for debuggers, nothing outside of containers.
    fn architecture(&self) -> String {
        self.image.map_or(String::new(), architecture)
    }
}

fn architecture(image: &Image<'_>) -> String {
    match image.is_debug_text() {
        true => "debug".to_owned(),
        false => image.architecture(),
    }
}

/// Does something with all texts of a file, several at once: PTX, what is in a container, or what `nvcc` makes of CUDA. What came of
/// each is in order; there is nothing if a container has no PTX.
pub fn texts_of<T: Send>(
    file: &Path,
    act: &(dyn Fn(Text<'_>) -> T + Sync),
) -> Result<Vec<Result<T, Failure>>, Failure> {
    if file.extension().is_some_and(|extension| extension == "cu") {
        let text = compile(file)?;
        let input = Input::new(format!("{}(nvcc)", file.display()), text);
        return Ok(vec![Ok(act(Text::of(input)))]);
    }
    let (name, bytes) = read_bytes(file)?;
    if !extract::is_container(&bytes) {
        return Ok(vec![Ok(act(Text::of(Input::of_bytes(name, bytes))))]);
    }
    let cannot = |error| Failure::message(format!("cannot read `{name}`: {error}"));
    let images = extract::images(&bytes).map_err(cannot)?;
    let one = |(index, image): (usize, &Image<'_>)| {
        let (number, architecture) = (index + 1, architecture(image));
        let text = image.text().map_err(cannot)?;
        Ok(act(Text {
            input: Input::new(format!("{name}({number}:{architecture})"), text),
            index: number,
            image: Some(image),
        }))
    };
    Ok(images.par_iter().enumerate().map(one).collect())
}

/// The PTX that `nvcc` makes of a file, with its default options and those of `NVCC_APPEND_FLAGS`.
fn compile(file: &Path) -> Result<String, Failure> {
    let name = file.display();
    let nvcc = oriole_toolchain::nvcc().ok_or_else(|| {
        Failure::message(format!(
            "`{name}` needs an nvcc: put it on the PATH or set ORIOLE_NVCC"
        ))
    })?;
    let folder = oriole_files::temporary::folder()?;
    let output = folder.path().join("out.ptx");
    let cannot_run = |error| Failure::message(format!("cannot run `{}`: {error}", nvcc.display()));
    let done = std::process::Command::new(&nvcc)
        .args(["-ptx", "-lineinfo", "-o"])
        .arg(&output)
        .arg(file)
        .output()
        .map_err(cannot_run)?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let said = oriole_diagnostics::printable_text(said.trim_end());
        let _ = writeln!(std::io::stderr(), "{said}");
        return Err(Failure::message(format!("nvcc does not compile `{name}`")));
    }
    std::fs::read_to_string(&output).map_err(|error| {
        Failure::message(format!("cannot read what nvcc made of `{name}`: {error}"))
    })
}

/// The name for messages, and the bytes of a file, or of the standard input for `-`.
pub fn read_bytes(file: &Path) -> Result<(String, Vec<u8>), Failure> {
    if file == Path::new("-") {
        let mut bytes = Vec::new();
        read_to_end(std::io::stdin(), &mut bytes).map_err(cannot_read_input)?;
        Ok(("<stdin>".to_owned(), bytes))
    } else {
        let name = file.display().to_string();
        let bytes = read_file(file)
            .map_err(|error| Failure::message(format!("cannot read `{name}`: {error}")))?;
        Ok((name, bytes))
    }
}

/// The most that is read: no PTX is as large, and devices never end.
const MOST_BYTES: u64 = 1 << 30;

/// Reads everything, up to [`MOST_BYTES`].
fn read_to_end(reader: impl Read, bytes: &mut Vec<u8>) -> std::io::Result<()> {
    reader.take(MOST_BYTES + 1).read_to_end(bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(std::io::Error::other("it has more than a gibibyte"));
    }
    Ok(())
}

/// Reads a file, a pipe or a terminal, but no device that gives bytes without end.
fn read_file(file: &Path) -> std::io::Result<Vec<u8>> {
    let mut opened = std::fs::File::open(file)?;
    let mut bytes = Vec::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        let metadata = opened.metadata()?;
        let kind = metadata.file_type();
        let is_device = kind.is_block_device() || kind.is_char_device() && !opened.is_terminal();
        // An empty one, such as /dev/null, is an empty file.
        if is_device && opened.read(&mut [0])? > 0 {
            return Err(std::io::Error::other("it is a device"));
        }
        if kind.is_file() {
            // One more, so that the end is seen without asking for more memory.
            bytes.reserve_exact(metadata.len().min(MOST_BYTES) as usize + 1);
        }
    }
    read_to_end(&mut opened, &mut bytes)?;
    Ok(bytes)
}

/// Writes a file so that it is either as before or complete; the standard output for nothing or `-`.
pub fn write(file: Option<&Path>, text: &str) -> Result<(), Failure> {
    write_bytes(file, text.as_bytes())
}

/// Like [`write()`], for bytes.
pub fn write_bytes(file: Option<&Path>, contents: &[u8]) -> Result<(), Failure> {
    let Some(file) = file.filter(|file| *file != Path::new("-")) else {
        let mut output = output::standard()?;
        output.write_all(contents)?;
        output.flush()?;
        return Ok(());
    };
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::message(format!("cannot write `{}`: {error}", file.display()))
    };
    oriole_files::replace(file, contents).map_err(|error| cannot(&error))
}

/// The files to read: those named, and all `.ptx` and `.fatbin` files below folders named, in order.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let is_wanted = |file: &Path| {
        let extension = file.extension();
        extension.is_some_and(|extension| extension == "ptx" || extension == "fatbin")
    };
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let found = files_below(path, &is_wanted)?;
            if found.is_empty() {
                return Err(Failure::message(format!(
                    "there are no .ptx or .fatbin files below `{}`",
                    path.display()
                )));
            }
            files.extend(found);
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}

/// The files below a folder that are wanted, sorted.
pub fn files_below(
    folder: &Path,
    is_wanted: &dyn Fn(&Path) -> bool,
) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let cannot = |error| {
            Failure::message(format!(
                "cannot read the folder `{}`: {error}",
                folder.display()
            ))
        };
        for entry in std::fs::read_dir(&folder).map_err(cannot)? {
            let entry = entry.map_err(cannot)?;
            let kind = entry.file_type().map_err(cannot)?;
            let path = entry.path();
            // Links are not followed: they may lead in circles or anywhere. Pipes and devices are not read: they may
            // never end.
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && is_wanted(&path) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
