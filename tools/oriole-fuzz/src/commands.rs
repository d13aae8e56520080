//! Sends inputs through the `oriole` command, as a process of its own each time: what a user sees is what is judged.
//!
//! Whatever the input is, a command must end by itself in bounded time with a documented status, say a bounded amount, and say
//! it in characters that a terminal only shows.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Arguments before the file, and whether status 1 is fine: then a kernel that was run did something wrong, not Oriole.
const COMMANDS: &[(&[&str], bool)] = &[
    (&["check"], false),
    (&["opt", "-O0", "--output", "/dev/null"], false),
    (&["opt", "-O1", "--diff"], false),
    (
        &[
            "opt",
            "-O2",
            "--stats",
            "--remarks",
            "--output",
            "/dev/null",
        ],
        false,
    ),
    (&["opt", "-O3", "--output", "/dev/null"], false),
    (&["pressure"], false),
    (&["dump", "--ssa"], false),
    (&["run", "--steps", "2000", "--block", "2", "--check"], true),
    (&["check", "--format", "sarif"], false),
    (&["pressure", "--json"], false),
    (&["scev", "--values"], false),
    (&["scev", "--json"], false),
    (&["analyze", "--all"], false),
    (&["analyze", "--json"], false),
    (&["analyze", "--format", "html"], false),
    (&["analyze", "--format", "sarif"], false),
    (&["pressure", "--lines"], false),
    (&["extract"], false),
    (&["dump", "--tree"], false),
    (&["dump", "--cfg"], false),
    (&["check", "--format", "json"], false),
    (&["reduce", "--test", "false"], false),
];

/// How many commands there are.
pub const COUNT: usize = COMMANDS.len();

/// A command that takes longer than this hangs: inputs have at most 64 KiB.
const LONGEST: Duration = Duration::from_secs(10);

/// What a command may say about an input, besides so many bytes for each byte of it.
const MOST_SAID: usize = 256 << 10;
const MOST_SAID_PER_BYTE: usize = 64;

/// The commands that inputs are sent through.
#[derive(Debug)]
pub struct Commands {
    oriole: PathBuf,
    file: PathBuf,
    without: Option<String>,
}

/// Everything a pipe gives, read by a thread so that neither pipe fills up.
fn drain(mut pipe: impl Read + Send + 'static) -> std::thread::JoinHandle<Vec<u8>> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = pipe.read_to_end(&mut bytes);
        bytes
    })
}

impl Commands {
    /// The commands of a program but for one, on inputs that are written into a file of this folder.
    pub fn new(oriole: &Path, folder: &Path, name: &str, without: Option<String>) -> Commands {
        Commands {
            oriole: oriole.to_owned(),
            file: folder.join(name),
            without,
        }
    }

    /// Whether a command is left out.
    pub fn skips(&self, index: usize) -> bool {
        self.without.as_deref() == Some(COMMANDS[index % COUNT].0[0])
    }

    /// Sends an input through one command.
    ///
    /// # Errors
    /// What broke.
    pub fn run(&self, index: usize, input: &[u8]) -> Result<(), String> {
        let (arguments, may_fail) = COMMANDS[index % COUNT];
        let name = arguments.join(" ");
        let broke = |what: String| Err(format!("oriole {name}: {what}"));
        if let Err(error) = std::fs::write(&self.file, input) {
            return broke(format!("cannot write the input: {error}"));
        }
        let child = Command::new(&self.oriole)
            .args(arguments)
            .arg(&self.file)
            .args(["--jobs", "1"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = match child {
            Ok(child) => child,
            Err(error) => return broke(format!("cannot run it: {error}")),
        };
        let output = child.stdout.take().map(drain);
        let said = child.stderr.take().map(drain);
        let start = Instant::now();
        let status = loop {
            match child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if start.elapsed() > LONGEST => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return broke("hangs".to_owned());
                }
                Ok(None) => std::thread::sleep(Duration::from_micros(200)),
                Err(error) => return broke(format!("cannot wait for it: {error}")),
            }
        };
        let text = |thread: Option<std::thread::JoinHandle<Vec<u8>>>| {
            let bytes = thread.and_then(|thread| thread.join().ok());
            String::from_utf8(bytes.unwrap_or_default())
        };
        let (Ok(output), Ok(said)) = (text(output), text(said)) else {
            return broke("prints what is no text".to_owned());
        };
        let first = said.lines().next().unwrap_or_default().to_owned();
        match status.code() {
            Some(0 | 2) => {}
            Some(1) if may_fail => {}
            _ => return broke(format!("{status}: {first}")),
        }
        if said.contains("panicked at") {
            return broke(format!("panics: {first}"));
        }
        let is_control = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        // A patch that goes into a pipe has the bytes of the file, or it would not apply; on a terminal it does not.
        let is_patch = arguments.contains(&"--diff");
        if said.contains(is_control) || !is_patch && output.contains(is_control) {
            return broke("prints control characters".to_owned());
        }
        let most = MOST_SAID + MOST_SAID_PER_BYTE * input.len();
        if said.len() > most && arguments.len() < 3 {
            return broke(format!("says {} bytes about {}", said.len(), input.len()));
        }
        Ok(())
    }
}
