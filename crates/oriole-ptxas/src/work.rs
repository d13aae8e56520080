//! The temporary folder of a run.
//!
//! Its owner holds a lock on a file in it. A run that was killed holds none, and the next run removes what it left.

use oriole_files::temporary::{self, Folder};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The prefix of the names of such folders.
const PREFIX: &str = ".oriole-ptxas-";
const LOCK: &str = "lock";
/// The age at which a folder without a lock is removed.
const ABANDONED: Duration = Duration::from_secs(3600);
/// The most entries of a folder that are read.
const MOST_ENTRIES: usize = 20_000;

/// A temporary folder.
pub struct Work {
    folder: Folder,
    _lock: File,
}

impl Work {
    /// A folder in another one, in which those of killed runs are removed first.
    pub fn below(parent: &Path) -> std::io::Result<Work> {
        let mut builder = tempfile::Builder::new();
        builder.prefix(PREFIX);
        let folder = temporary::folder_in(&builder, parent)?;
        let lock = File::create(folder.path().join(LOCK))?;
        // Where files cannot be locked, nothing is removed before its time.
        let _ = lock.try_lock();
        remove_abandoned(parent, folder.path());
        Ok(Work {
            folder,
            _lock: lock,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Removes the folders of runs that were killed: those of the same owner as our own.
fn remove_abandoned(parent: &Path, own: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    for entry in entries.take(MOST_ENTRIES).flatten() {
        let path = entry.path();
        let is_one = entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(PREFIX.as_bytes());
        if is_one && path.file_name() != own.file_name() && is_abandoned(&path, own) {
            let _ = std::fs::remove_dir_all(&path);
        }
    }
}

fn is_abandoned(folder: &Path, own: &Path) -> bool {
    let (Ok(data), Ok(own)) = (folder.symlink_metadata(), own.symlink_metadata()) else {
        return false;
    };
    if !data.is_dir() || !crate::is_of_one_owner(&data, &own) {
        return false;
    }
    let lock = folder.join(LOCK);
    match lock.symlink_metadata() {
        Ok(data) if data.is_file() => File::open(&lock).is_ok_and(|lock| lock.try_lock().is_ok()),
        Ok(_) => false,
        // It has none yet, or its removal was cut short.
        Err(_) => data.modified().is_ok_and(|time| {
            SystemTime::now()
                .duration_since(time)
                .is_ok_and(|age| age > ABANDONED)
        }),
    }
}
