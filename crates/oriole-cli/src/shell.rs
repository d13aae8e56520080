//! Commands of the user's that judge a file.

use std::path::Path;
use std::process::{Command, Stdio};

/// Whether a shell command succeeds on a file, which takes the place of `{}` or else comes last.
pub fn succeeds(test: &str, file: &Path) -> std::io::Result<bool> {
    let quoted = format!("'{}'", file.display().to_string().replace('\'', "'\\''"));
    let command = if test.contains("{}") {
        test.replace("{}", &quoted)
    } else {
        format!("{test} {quoted}")
    };
    let status = Command::new("sh")
        .args(["-c", &command])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()?;
    Ok(status.success())
}
