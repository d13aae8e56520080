//! Optimized texts that were made before, by the content they were made of.
//!
//! An entry is a file named after the SHA-256 of what it depends on, in one of 16 folders by its first digit. It begins with a line
//! that has the SHA-256 of the rest: what was torn or changed is noticed and removed. Entries are written beside their place and
//! renamed, so those who read and write at once never see a part of one. Each folder keeps to a sixteenth of the bytes that are
//! allowed; what was not used for longest is removed first.
//!
//! The cache is never in the way: where it cannot be read or written, the work is done again.

use sha2::{Digest, Sha256};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// Folders of the cache: one for each first digit.
const FOLDERS: u64 = 16;
const START: &str = "oriole-cache 1 ";
/// Where a file of another process that is being written begins.
const UNFINISHED: &str = ".new-";
/// After this long, whoever was writing a file is gone.
const ABANDONED: Duration = Duration::from_secs(3600);

/// A cache in a folder.
pub struct Cache {
    folder: PathBuf,
    bytes: u64,
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of what is made of some parts.
pub fn key(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hex(&hash.finalize())
}

impl Cache {
    /// A cache that keeps at most this many bytes.
    pub fn new(folder: impl Into<PathBuf>, bytes: u64) -> Cache {
        Cache {
            folder: folder.into(),
            bytes,
        }
    }

    fn folder_of(&self, key: &str) -> PathBuf {
        self.folder.join(&key[..1])
    }

    /// What was kept under a key.
    pub fn get(&self, key: &str) -> Option<String> {
        let file = self.folder_of(key).join(key);
        let text = std::fs::read_to_string(&file).ok()?;
        let whole = text.split_once('\n').and_then(|(first, rest)| {
            let digest = first.strip_prefix(START)?;
            (digest == hex(&Sha256::digest(rest))).then_some(rest)
        });
        match whole {
            Some(rest) => {
                // Used now: removed later.
                if let Ok(opened) = std::fs::File::options().append(true).open(&file) {
                    let _ = opened.set_modified(SystemTime::now());
                }
                Some(rest.to_owned())
            }
            None => {
                let _ = std::fs::remove_file(&file);
                None
            }
        }
    }

    /// Keeps something under a key, unless it is too large.
    pub fn put(&self, key: &str, text: &str) -> std::io::Result<()> {
        let start = format!("{START}{}\n", hex(&Sha256::digest(text)));
        let size = (start.len() + text.len()) as u64;
        let most = self.bytes / FOLDERS;
        if size > most {
            return Ok(());
        }
        let folder = self.folder_of(key);
        std::fs::create_dir_all(&folder)?;
        let builder = {
            let mut builder = tempfile::Builder::new();
            builder.prefix(UNFINISHED);
            builder
        };
        let mut file = oriole_files::temporary::file_in(&builder, &folder)?;
        file.write_all(start.as_bytes())?;
        file.write_all(text.as_bytes())?;
        if let Some(Err(error)) = file.finish(|file| file.persist(folder.join(key))) {
            return Err(error.error);
        }
        prune(&folder, most)
    }
}

/// Removes what was not used for longest until the rest is small enough, and what was left by writers that are gone.
fn prune(folder: &Path, most: u64) -> std::io::Result<()> {
    let now = SystemTime::now();
    let mut entries = Vec::new();
    let mut total = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // Another process may have removed it.
        let Ok(data) = entry.metadata() else {
            continue;
        };
        let used = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
        if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
            if now.duration_since(used).is_ok_and(|age| age > ABANDONED) {
                let _ = std::fs::remove_file(entry.path());
            }
            continue;
        }
        total += data.len();
        entries.push((used, entry.path(), data.len()));
    }
    entries.sort();
    for (_, path, size) in entries {
        if total <= most {
            break;
        }
        let _ = std::fs::remove_file(path);
        total -= size;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(folder: &Path) -> u64 {
        let folders = std::fs::read_dir(folder).unwrap();
        let files = folders.flat_map(|own| std::fs::read_dir(own.unwrap().path()).unwrap());
        files
            .map(|file| file.unwrap().metadata().unwrap().len())
            .sum()
    }

    #[test]
    fn what_was_kept_is_found_until_it_is_damaged() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 1 << 20);
        let own = key(&[b"text", b"2"]);
        assert_ne!(
            own,
            key(&[b"text2", b""]),
            "parts do not run into each other"
        );
        assert_eq!(cache.get(&own), None);
        cache.put(&own, "optimized").unwrap();
        assert_eq!(cache.get(&own).as_deref(), Some("optimized"));
        let file = cache.folder_of(&own).join(&own);
        let kept = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, &kept[..kept.len() - 3]).unwrap();
        assert_eq!(cache.get(&own), None);
        assert!(!file.exists(), "what is damaged is removed");
    }

    #[test]
    fn the_oldest_go_first_and_the_limit_holds() {
        let folder = tempfile::tempdir().unwrap();
        let limit = 64 << 10;
        let cache = Cache::new(folder.path(), limit);
        let text = "x".repeat(1500);
        let keys: Vec<String> = (0..200u32)
            .map(|number| key(&[&number.to_le_bytes()]))
            .collect();
        for own in &keys {
            cache.put(own, &text).unwrap();
            assert_eq!(cache.get(own).as_ref(), Some(&text), "the newest stays");
        }
        assert!(size(folder.path()) <= limit);
        assert!(keys.iter().filter(|own| cache.get(own).is_some()).count() >= 20);
        cache.put(&keys[0], &"x".repeat(5000)).unwrap();
        assert!(
            size(folder.path()) <= limit,
            "what is too large is not kept"
        );
    }

    #[test]
    fn many_writers_and_readers_do_not_disturb_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let keys: Vec<String> = (0..8u32)
            .map(|number| key(&[&number.to_le_bytes()]))
            .collect();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let cache = Cache::new(folder.path(), 1 << 18);
                    for round in 0..40 {
                        let own = &keys[round % keys.len()];
                        let text = own.repeat(50);
                        if let Some(found) = cache.get(own) {
                            assert_eq!(found, text);
                        }
                        cache.put(own, &text).unwrap();
                    }
                });
            }
        });
        let left: Vec<_> = std::fs::read_dir(folder.path())
            .unwrap()
            .flat_map(|own| std::fs::read_dir(own.unwrap().path()).unwrap())
            .map(|file| file.unwrap().file_name().into_string().unwrap())
            .collect();
        assert!(
            left.iter().all(|name| !name.starts_with(UNFINISHED)),
            "{left:?}"
        );
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_an_error_and_no_more() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, "").unwrap();
        let cache = Cache::new(&file, 1 << 20);
        assert_eq!(cache.get(&key(&[b""])), None);
        assert!(cache.put(&key(&[b""]), "text").is_err());
    }
}
