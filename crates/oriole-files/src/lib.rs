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
    let mut replacement = Replacement::of(file)?;
    replacement.write_all(contents)?;
    replacement.finish(file)
}

/// The new contents of a file, which take the place of the old ones when they are complete. Until then, and if they are dropped
/// before, the file is as it was.
pub struct Replacement(Kind);

enum Kind {
    /// Devices and pipes cannot be replaced by a new file.
    Device(std::fs::File),
    Temporary(temporary::Listed<tempfile::NamedTempFile>),
}

impl Replacement {
    /// Begins the new contents of a file.
    ///
    /// # Errors
    /// If nothing can be written where the file is.
    pub fn of(file: &Path) -> std::io::Result<Replacement> {
        if file.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let device = std::fs::OpenOptions::new().write(true).open(file)?;
            return Ok(Replacement(Kind::Device(device)));
        }
        Replacement::below(folder_of(file))
    }

    /// Begins the contents of a file of a folder, whose name is given in the end.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub fn below(folder: &Path) -> std::io::Result<Replacement> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(".oriole-");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // What a plain creation would give, before the umask.
            builder.permissions(std::fs::Permissions::from_mode(0o666));
        }
        let temporary = temporary::file_in(&builder, folder)?;
        Ok(Replacement(Kind::Temporary(temporary)))
    }

    /// Puts the contents in the place of a file, which keeps its permissions if it is there.
    ///
    /// # Errors
    /// If that cannot be done. The file is then as before.
    pub fn finish(self, file: &Path) -> std::io::Result<()> {
        let temporary = match self.0 {
            Kind::Device(mut device) => return device.flush(),
            Kind::Temporary(temporary) => temporary,
        };
        let permissions = file.metadata().map(|metadata| metadata.permissions());
        let done = temporary.finish(|temporary| {
            if let Ok(permissions) = permissions {
                temporary.as_file().set_permissions(permissions)?;
            }
            temporary.persist(file).map_err(|error| error.error)
        });
        match done {
            Some(Err(error)) => Err(error),
            _ => Ok(()),
        }
    }
}

impl Write for Replacement {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        match &mut self.0 {
            Kind::Device(device) => device.write(bytes),
            Kind::Temporary(temporary) => temporary.write(bytes),
        }
    }

    fn flush(&mut self) -> std::io::Result<()> {
        match &mut self.0 {
            Kind::Device(device) => device.flush(),
            Kind::Temporary(temporary) => temporary.flush(),
        }
    }
}

/// The folder that a file is in.
pub fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_that_is_dropped_changes_nothing_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        replace(&file, b"old").unwrap();
        let mut replacement = Replacement::of(&file).unwrap();
        replacement.write_all(b"new").unwrap();
        drop(replacement);
        assert_eq!(std::fs::read(&file).unwrap(), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
        replace(&file, b"new").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
    }

    #[cfg(unix)]
    #[test]
    fn a_file_keeps_its_permissions() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        replace(&file, b"old").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        replace(&file, b"new").unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
    }
}
