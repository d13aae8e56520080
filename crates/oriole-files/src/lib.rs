//! Files that are written whole or not at all, and temporary files that are gone whichever way a program ends.

#![forbid(unsafe_code)]

pub mod temporary;

use std::io::Write;
use std::path::Path;

/// Writes a file so that it is either as before or complete, whatever happens.
///
/// # Errors
/// If it cannot be written. It is then as before.
pub fn replace(file: &Path, contents: &[u8]) -> std::io::Result<()> {
    // Devices and pipes cannot be replaced by a new file.
    if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return std::fs::write(file, contents);
    }
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
    let mut temporary = temporary::file_in(&builder, folder_of(file))?;
    temporary.write_all(contents)?;
    match temporary.finish(|temporary| temporary.persist(file)) {
        Some(Err(error)) => Err(error.error),
        _ => Ok(()),
    }
}

/// The folder that a file is in.
pub fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}
