//! Reading input, writing output atomically, finding files.

use crate::Failure;
use crate::report::Reporter;
use oriole::{Diagnostic, Module, Source};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// A name for messages, and the text.
pub struct Input {
    pub name: String,
    pub text: String,
    /// Why the bytes are no text, if they are none.
    invalid: Vec<Diagnostic>,
}

impl Input {
    /// The text as a module.
    pub fn parse(&self) -> Result<Module, Vec<Diagnostic>> {
        if self.invalid.is_empty() {
            oriole::parse(self.name.as_str(), self.text.as_str())
        } else {
            Err(self.invalid.clone())
        }
    }

    /// The text with its name, for diagnostics.
    pub fn source(&self) -> Source<'_> {
        Source::new(self.name.as_str(), &self.text)
    }
}

/// Reads a file, the standard input for `-`, or the embedded example for nothing.
pub fn read_or_example(file: Option<&Path>, report: &Reporter) -> Result<Input, Failure> {
    match file {
        Some(file) => read(file),
        None => {
            report.message("note", "no file given: using the embedded example kernel");
            Ok(Input {
                name: "example.ptx".to_owned(),
                text: oriole::EXAMPLE.to_owned(),
                invalid: Vec::new(),
            })
        }
    }
}

/// Reads a file, or the standard input for `-`.
pub fn read(file: &Path) -> Result<Input, Failure> {
    let (name, bytes) = if file == Path::new("-") {
        let mut bytes = Vec::new();
        read_to_end(std::io::stdin(), &mut bytes).map_err(|error| {
            Failure::message(format!("cannot read the standard input: {error}"))
        })?;
        ("<stdin>".to_owned(), bytes)
    } else {
        let name = file.display().to_string();
        let bytes = read_file(file)
            .map_err(|error| Failure::message(format!("cannot read `{name}`: {error}")))?;
        (name, bytes)
    };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Input {
            name,
            text,
            invalid: Vec::new(),
        }),
        Err(error) => {
            let (module, invalid) = oriole_syntax::parse_bytes(name.as_str(), error.into_bytes());
            Ok(Input {
                text: module.source().to_owned(),
                name,
                invalid,
            })
        }
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
        use std::io::IsTerminal;
        use std::os::unix::fs::FileTypeExt;
        let kind = opened.metadata()?.file_type();
        let is_device = kind.is_block_device() || kind.is_char_device() && !opened.is_terminal();
        // An empty one, such as /dev/null, is an empty file.
        if is_device && opened.read(&mut [0])? > 0 {
            return Err(std::io::Error::other("it is a device"));
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
        let mut output = std::io::stdout().lock();
        output.write_all(contents)?;
        output.flush()?;
        return Ok(());
    };
    let cannot = |error: &dyn std::fmt::Display| {
        Failure::message(format!("cannot write `{}`: {error}", file.display()))
    };
    // Devices and pipes cannot be replaced by a new file.
    if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return std::fs::write(file, contents).map_err(|error| cannot(&error));
    }
    let folder = match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".oriole-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // What a plain creation would give, before the umask; an existing file keeps its own.
        let mode = file
            .metadata()
            .map_or(0o666, |metadata| metadata.permissions().mode());
        builder.permissions(std::fs::Permissions::from_mode(mode));
    }
    let mut temporary =
        crate::temporary::file_in(&builder, folder).map_err(|error| cannot(&error))?;
    temporary
        .write_all(contents)
        .map_err(|error| cannot(&error))?;
    match temporary.finish(|temporary| temporary.persist(file)) {
        Some(Err(error)) => Err(cannot(&error.error)),
        _ => Ok(()),
    }
}

/// The files to check: those named, and all `.ptx` files below folders named, in order.
pub fn expand(paths: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut files = Vec::new();
    for path in paths {
        if path.is_dir() {
            let before = files.len();
            let mut folders = vec![path.clone()];
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
                    } else if kind.is_file()
                        && path.extension().is_some_and(|extension| extension == "ptx")
                    {
                        files.push(path);
                    }
                }
            }
            files[before..].sort();
            if files.len() == before {
                return Err(Failure::message(format!(
                    "there are no .ptx files below `{}`",
                    path.display()
                )));
            }
        } else {
            files.push(path.clone());
        }
    }
    Ok(files)
}
