//! Optimized texts that were made before, by the content they were made of.
//!
//! Other programs and users may share the folder. The cache is a subfolder, `oriole-ptxas-` and the number of the user. Only that
//! user can read it. A marker file in it says that it is ours. Without the marker nothing is read, written or removed there.
//!
//! An entry is a file named after the SHA-256 of all that it depends on, in one of 16 folders by its first digit. It begins with a line
//! that has the SHA-256 of its name and the rest: what was torn or changed is noticed. Entries are written beside their place and
//! renamed, so those who read and write at once never see a part of one. Each folder keeps to a sixteenth of the bytes that are
//! allowed; what was not used for longest is removed first. Only plain files of the user with names of entries are read or removed.
//!
//! The cache is never in the way: where it cannot be read or written, the work is done again.

use sha2::{Digest, Sha256};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{Error, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Folders of the cache: one for each first digit.
const FOLDERS: u64 = 16;
/// Digits of a name.
const DIGITS: usize = 64;
const START: &str = "oriole-cache 2 ";
/// The file that says that a folder is a cache of this program.
const MARKER: &str = "oriole-ptxas.cache";
const MARK: &str = "A cache of oriole-ptxas. It may be removed at any time.\n";
/// The prefix of the names of unfinished files.
const UNFINISHED: &str = ".new-";

/// A cache in a folder.
pub struct Cache {
    folder: PathBuf,
    bytes: u64,
}

/// The user that this program runs as.
fn user() -> u32 {
    #[cfg(unix)]
    {
        rustix::process::geteuid().as_raw()
    }
    #[cfg(not(unix))]
    {
        0
    }
}

/// Whether a file or folder belongs to this user.
fn is_own(data: &Metadata) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt;
        data.uid() == user()
    }
    #[cfg(not(unix))]
    {
        data.is_file() || data.is_dir()
    }
}

/// Makes a folder that only this user can read, unless there is one.
fn make_folder(folder: &Path) -> std::io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    match builder.create(folder) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => builder.recursive(true).create(folder),
        result => result,
    }
}

/// Whether a path is a folder of this user. A link is none.
fn is_own_folder(folder: &Path) -> bool {
    let data = folder.symlink_metadata();
    data.is_ok_and(|data| data.is_dir() && is_own(&data))
}

/// Opens a plain file of this user. It follows no link and does not wait for the other end of a pipe.
fn open(file: &Path, options: &mut OpenOptions) -> Option<File> {
    #[cfg(unix)]
    {
        use rustix::fs::OFlags;
        use std::os::unix::fs::OpenOptionsExt;
        let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
        options.custom_flags(flags.bits().cast_signed());
    }
    let before = file.symlink_metadata().ok()?;
    if !before.is_file() {
        return None;
    }
    let opened = options.open(file).ok()?;
    let data = opened.metadata().ok()?;
    (data.is_file() && is_own(&data)).then_some(opened)
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

/// The digest of an entry.
fn digest(key: &str, text: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(key);
    hash.update(text);
    hex(&hash.finalize())
}

impl Cache {
    /// A cache that keeps at most this many bytes.
    pub fn new(folder: impl Into<PathBuf>, bytes: u64) -> Cache {
        Cache {
            folder: folder.into().join(format!("oriole-ptxas-{}", user())),
            bytes,
        }
    }

    /// The folder of an entry.
    fn folder_of(&self, key: &str) -> PathBuf {
        self.folder.join(&key[..1])
    }

    /// Whether the folder is a cache of this program and this user.
    fn is_marked(&self) -> bool {
        is_own_folder(&self.folder)
            && open(&self.folder.join(MARKER), File::options().read(true)).is_some()
    }

    /// The text that was kept under a key.
    pub fn get(&self, key: &str) -> Option<String> {
        let folder = self.folder_of(key);
        if !self.is_marked() || !is_own_folder(&folder) {
            return None;
        }
        let mut opened = open(&folder.join(key), File::options().read(true).append(true))?;
        let mut text = String::new();
        let most = self.bytes / FOLDERS;
        let read = (&mut opened)
            .take(most + 1)
            .read_to_string(&mut text)
            .ok()?;
        if read as u64 > most {
            return None;
        }
        let (first, rest) = text.split_once('\n')?;
        if first.strip_prefix(START)? != digest(key, rest) {
            return None;
        }
        // Used now: removed later.
        let _ = opened.set_modified(SystemTime::now());
        Some(rest.to_owned())
    }

    /// Makes the folder and its marker. A folder without a marker belongs to another program, unless it is empty.
    fn prepare(&self) -> std::io::Result<()> {
        if self.is_marked() {
            return Ok(());
        }
        make_folder(&self.folder)?;
        let is_free =
            is_own_folder(&self.folder) && std::fs::read_dir(&self.folder)?.next().is_none();
        if is_free {
            let marker = self.folder.join(MARKER);
            match File::options().write(true).create_new(true).open(marker) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                Err(_) => {}
                Ok(mut marker) => marker.write_all(MARK.as_bytes())?,
            }
        }
        if self.is_marked() {
            Ok(())
        } else {
            Err(Error::other("the folder is not a cache of this user"))
        }
    }

    /// Keeps something under a key, unless it is too large.
    pub fn put(&self, key: &str, text: &str) -> std::io::Result<()> {
        let start = format!("{START}{}\n", digest(key, text));
        let size = (start.len() + text.len()) as u64;
        let most = self.bytes / FOLDERS;
        if size > most {
            return Ok(());
        }
        self.prepare()?;
        let folder = self.folder_of(key);
        make_folder(&folder)?;
        let place = folder.join(key);
        let is_taken = place
            .symlink_metadata()
            .is_ok_and(|data| !data.is_file() || !is_own(&data));
        if !is_own_folder(&folder) || is_taken {
            return Err(Error::other("something else is in the place of an entry"));
        }
        let builder = {
            let mut builder = tempfile::Builder::new();
            builder.prefix(UNFINISHED);
            builder
        };
        let mut file = oriole_files::temporary::file_in(&builder, &folder)?;
        // The lock tells it from files that killed processes left.
        let lock = open(file.path(), File::options().read(true));
        let _ = lock.as_ref().map(File::try_lock);
        file.write_all(start.as_bytes())?;
        file.write_all(text.as_bytes())?;
        if let Some(Err(error)) = file.finish(|file| file.persist(&place)) {
            // Before it was locked, another process took it for one that was left.
            let is_gone = error.error.kind() == ErrorKind::NotFound;
            return if is_gone { Ok(()) } else { Err(error.error) };
        }
        prune(&folder, most)
    }
}

/// Whether a name is one of an entry.
fn is_entry(name: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    name.len() == DIGITS && name.bytes().all(is_digit)
}

/// Removes the entries that were unused for longest until the rest is small enough, and the unfinished files of killed writers.
/// Files of other names or owners, links and pipes are neither counted nor removed.
fn prune(folder: &Path, most: u64) -> std::io::Result<()> {
    let mut entries = Vec::new();
    let mut total = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        // Another process may have removed it.
        let Ok(data) = entry.metadata() else {
            continue;
        };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if !data.is_file() || !is_own(&data) {
            continue;
        }
        if name.starts_with(UNFINISHED) {
            let opened = open(&entry.path(), File::options().read(true));
            if opened.is_some_and(|file| file.try_lock().is_ok()) {
                let _ = std::fs::remove_file(entry.path());
            }
        } else if is_entry(&name) {
            let used = data.modified().unwrap_or(SystemTime::UNIX_EPOCH);
            total += data.len();
            entries.push((used, entry.path(), data.len()));
        }
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

    /// All files of the 16 folders.
    fn files(cache: &Cache) -> Vec<PathBuf> {
        let folders = std::fs::read_dir(&cache.folder).unwrap();
        let folders = folders.map(|own| own.unwrap().path());
        folders
            .filter(|own| own.is_dir())
            .flat_map(|own| std::fs::read_dir(own).unwrap())
            .map(|file| file.unwrap().path())
            .collect()
    }

    fn size(cache: &Cache) -> u64 {
        let files = files(cache);
        files
            .iter()
            .map(|file| file.metadata().unwrap().len())
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
        std::fs::write(&file, kept.replace("optimized", "Optimized")).unwrap();
        assert_eq!(cache.get(&own), None);
        cache.put(&own, "optimized").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), kept);
        // The checksum covers the name.
        let other = key(&[b"other"]);
        make_folder(&cache.folder_of(&other)).unwrap();
        std::fs::copy(&file, cache.folder_of(&other).join(&other)).unwrap();
        assert_eq!(cache.get(&other), None);
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
        assert!(size(&cache) <= limit);
        assert!(keys.iter().filter(|own| cache.get(own).is_some()).count() >= 20);
        cache.put(&keys[0], &"x".repeat(5000)).unwrap();
        assert!(size(&cache) <= limit, "what is too large is not kept");
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
        let cache = Cache::new(folder.path(), 1 << 18);
        let left: Vec<_> = files(&cache)
            .iter()
            .map(|file| file.file_name().unwrap().to_string_lossy().into_owned())
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

    #[test]
    fn files_of_others_stay() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 16 * 4000);
        let keys: Vec<String> = (0..400u32)
            .map(|number| key(&[&number.to_le_bytes()]))
            .collect();
        cache.put(&keys[0], "text").unwrap();
        // In the folder, in that of the cache, and among the entries.
        let others: Vec<PathBuf> = [
            folder.path().to_owned(),
            cache.folder.clone(),
            cache.folder_of(&keys[0]),
        ]
        .iter()
        .flat_map(|folder| ["notes.txt", &"a".repeat(63)].map(|name| folder.join(name)))
        .collect();
        for file in &others {
            std::fs::write(file, "x".repeat(9000)).unwrap();
        }
        for own in &keys {
            cache.put(own, &"y".repeat(1000)).unwrap();
        }
        assert!(files(&cache).len() < 100, "something was removed");
        for file in &others {
            assert_eq!(file.metadata().unwrap().len(), 9000, "{}", file.display());
        }
    }

    #[test]
    fn a_folder_without_the_marker_is_no_cache() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 1 << 20);
        let own = key(&[b"text"]);
        std::fs::create_dir(&cache.folder).unwrap();
        std::fs::write(cache.folder.join("notes.txt"), "mine").unwrap();
        assert!(cache.put(&own, "text").is_err());
        assert_eq!(std::fs::read_dir(&cache.folder).unwrap().count(), 1);
        std::fs::remove_file(cache.folder.join("notes.txt")).unwrap();
        cache.put(&own, "text").unwrap();
        assert_eq!(cache.get(&own).as_deref(), Some("text"));
        std::fs::remove_file(cache.folder.join(MARKER)).unwrap();
        assert_eq!(cache.get(&own), None);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_plain_file_of_the_user_is_a_miss() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path().join("new").join("one"), 1 << 20);
        let own = key(&[b"text"]);
        cache.put(&own, "text").unwrap();
        for folder in [
            &folder.path().join("new"),
            &cache.folder,
            &cache.folder_of(&own),
        ] {
            let mode = folder.metadata().unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o700, "{}", folder.display());
        }
        let place = cache.folder_of(&own).join(&own);
        let entry = folder.path().join("entry");
        std::fs::rename(&place, &entry).unwrap();
        let is_pipe = std::process::Command::new("mkfifo").arg(&place).status();
        assert!(is_pipe.unwrap().success());
        assert_eq!(cache.get(&own), None, "a pipe");
        assert!(cache.put(&own, "text").is_err());
        std::fs::remove_file(&place).unwrap();
        for target in [Path::new("/dev/zero"), &entry] {
            symlink(target, &place).unwrap();
            assert_eq!(cache.get(&own), None, "{}", target.display());
            assert!(cache.put(&own, "text").is_err());
            std::fs::remove_file(&place).unwrap();
        }
        std::fs::copy(&entry, &place).unwrap();
        assert_eq!(cache.get(&own).as_deref(), Some("text"));
        // Only the superuser can give files away.
        if std::os::unix::fs::chown(&place, Some(12_345), None).is_ok() {
            assert_eq!(cache.get(&own), None, "of another user");
            assert!(cache.put(&own, "text").is_err());
            assert!(place.exists());
        }
        std::fs::remove_file(&place).unwrap();
        let elsewhere = folder.path().join("elsewhere");
        std::fs::rename(cache.folder_of(&own), &elsewhere).unwrap();
        symlink(&elsewhere, cache.folder_of(&own)).unwrap();
        assert!(cache.put(&own, "text").is_err(), "a link to a folder");
    }

    #[test]
    fn what_killed_writers_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::new(folder.path(), 1 << 20);
        let own = key(&[b"text"]);
        cache.put(&own, "text").unwrap();
        let left = cache.folder_of(&own).join(format!("{UNFINISHED}left"));
        let held = cache.folder_of(&own).join(format!("{UNFINISHED}held"));
        std::fs::write(&left, "").unwrap();
        let writer = File::create(&held).unwrap();
        writer.try_lock().unwrap();
        cache.put(&own, "text").unwrap();
        assert!(!left.exists() && held.exists());
    }
}
