//! The output file: written elsewhere, and put in its place when it is complete.
//!
//! `ptxas` writes into a file that is there, and ends with success when the disk is full. Here the file is as before or complete:
//! a new one is written beside its place and renamed. Where that is not possible (the file is mounted, or has other names) it is
//! written in place, so that it keeps its identity. Then what needs more space is written first.

use crate::arguments::Place;
use std::ffi::OsString;
use std::fs::{File, Metadata};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// The name of the output where none is given.
const DEFAULT: &str = "elf.o";
/// Links that are followed.
const MOST_LINKS: usize = 40;

/// An output file.
pub struct Output {
    /// The places of its name among the arguments. `ptxas` warns of two names that differ.
    places: Vec<Place>,
    /// Where it is, all links followed.
    file: PathBuf,
}

impl Output {
    /// Nothing where the output cannot be replaced, or not be written: then it is for the real one to write.
    pub fn of(named: &[Place], given: &[OsString]) -> Option<Output> {
        let name = match named.last() {
            Some(place) => place.of(given)?,
            None => DEFAULT.into(),
        };
        let is_it = |place: &Place| place.of(given).as_ref() == Some(&name);
        let places = named.iter().copied().filter(is_it).collect();
        let mut file = PathBuf::from(name);
        let mut links = 0;
        while let Ok(target) = file.read_link() {
            links += 1;
            if links > MOST_LINKS {
                return None;
            }
            file = oriole_files::folder_of(&file).join(target);
        }
        file.file_name()?;
        match file.metadata() {
            Ok(data) => {
                let is_writable = data.is_file() && File::options().write(true).open(&file).is_ok();
                is_writable.then_some(Output { places, file })
            }
            Err(_) => oriole_files::folder_of(&file)
                .is_dir()
                .then_some(Output { places, file }),
        }
    }

    /// The folder it is in.
    pub fn folder(&self) -> &Path {
        oriole_files::folder_of(&self.file)
    }

    /// Where it is written first, and the arguments that say so.
    pub fn staged(&self, given: &[OsString], folder: &Path) -> (PathBuf, Vec<OsString>) {
        let staged = folder
            .join("out")
            .join(self.file.file_name().unwrap_or_default());
        let mut given = given.to_vec();
        for place in &self.places {
            place.replace(&mut given, &staged);
        }
        if self.places.is_empty() {
            given.extend(["-o".into(), staged.clone().into()]);
        }
        (staged, given)
    }

    /// Puts what was written in its place.
    pub fn put(&self, staged: &Path) -> std::io::Result<()> {
        let mut from = File::open(staged)?;
        let is_movable = match self.file.metadata() {
            Ok(data) => has_no_other_name(&data, &from.metadata()?),
            Err(_) => true,
        };
        let is_there = self.file.exists();
        if is_movable {
            let moved = self.replace(&mut from);
            if moved.is_ok() || !is_there {
                return moved;
            }
        }
        from.seek(SeekFrom::Start(0))?;
        self.overwrite(&mut from)
    }

    fn replace(&self, from: &mut File) -> std::io::Result<()> {
        let mut replacement = oriole_files::Replacement::of(&self.file)?;
        std::io::copy(from, &mut replacement)?;
        replacement.finish(&self.file)
    }

    /// Writes into the file that is there. If there is no space for it, it is as before.
    fn overwrite(&self, from: &mut File) -> std::io::Result<()> {
        let mut bytes = Vec::new();
        from.read_to_end(&mut bytes)?;
        let mut file = File::options().write(true).open(&self.file)?;
        let before = file.metadata()?.len();
        let kept = bytes
            .len()
            .min(usize::try_from(before).unwrap_or(usize::MAX));
        let (start, end) = bytes.split_at(kept);
        file.seek(SeekFrom::Start(kept as u64))?;
        if !end.is_empty() {
            let appended = file.write_all(end).and_then(|()| file.sync_data());
            if let Err(error) = appended {
                file.set_len(before)?;
                return Err(error);
            }
        }
        file.seek(SeekFrom::Start(0))?;
        file.write_all(start)?;
        file.set_len(bytes.len() as u64)
    }
}

/// Tells files that a new one of the same permissions can replace.
#[cfg(unix)]
fn has_no_other_name(data: &Metadata, own: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    data.nlink() == 1 && data.uid() == own.uid() && data.gid() == own.gid()
}

#[cfg(not(unix))]
fn has_no_other_name(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Whether an error says that there is no space.
pub fn is_space(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge
    )
}

/// Tells complete files from those that were cut off: an ELF file has all of its parts, others are not empty.
pub fn is_complete(file: &Path) -> bool {
    let Ok(bytes) = std::fs::read(file) else {
        return false;
    };
    match bytes.get(..6) {
        Some([0x7f, b'E', b'L', b'F', 2, 1]) => ends_of(&bytes).is_some_and(|ends| {
            let length = bytes.len() as u64;
            ends.into_iter().all(|end| end <= length)
        }),
        _ => !bytes.is_empty(),
    }
}

/// The ends of the parts of an ELF file.
fn ends_of(bytes: &[u8]) -> Option<Vec<u64>> {
    let at = |start: u64, size: usize| -> Option<u64> {
        let start = usize::try_from(start).ok()?;
        let part = bytes.get(start..start.checked_add(size)?)?;
        Some(
            part.iter()
                .rev()
                .fold(0, |value, &byte| value << 8 | u64::from(byte)),
        )
    };
    let (segments, sections) = (at(0x20, 8)?, at(0x28, 8)?);
    let (segment_bytes, segment_count) = (at(0x36, 2)?, at(0x38, 2)?);
    let (section_bytes, section_count) = (at(0x3a, 2)?, at(0x3c, 2)?);
    let mut ends = vec![
        segments.checked_add(segment_bytes * segment_count)?,
        sections.checked_add(section_bytes * section_count)?,
    ];
    /// A section that takes no space in the file.
    const EMPTY: u64 = 8;
    for index in 0..section_count {
        let section = sections.checked_add(section_bytes * index)?;
        if at(section.checked_add(4)?, 4)? != EMPTY {
            let (offset, size) = (at(section + 0x18, 8)?, at(section + 0x20, 8)?);
            ends.push(offset.checked_add(size)?);
        }
    }
    Some(ends)
}
