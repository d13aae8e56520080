//! Finds PTX in what compilers and linkers write: fat binaries, cubins, objects, executables, libraries and archives.
//!
//! ```
//! let bytes = b"no fat binary";
//! assert!(!oriole_fatbin::is_container(bytes));
//! for image in oriole_fatbin::images(bytes)? {
//!     println!("{}: {}", image.architecture(), image.text()?);
//! }
//! # Ok::<(), oriole_fatbin::ExtractError>(())
//! ```
//!
//! | input | where PTX is looked for |
//! |---|---|
//! | fat binary | its entries of kind PTX |
//! | ELF file of the host | the fat binaries of `.nv_fatbin` and `__nv_relfatbin`, else those anywhere in the file |
//! | cubin | the text that `ptxas` leaves for debuggers with `-lineinfo` and `-g` |
//! | archive (`.a`) | its members, each as above |
//! | PE file | the fat binaries anywhere in the file |
//!
//! Entries may be compressed by LZ4 or zstd. [`images`] decompresses nothing; [`Image::text`] does, one image at a time, and never
//! gives more bytes than the entry says it has, nor more than [`MOST_BYTES`]. Input is not trusted: what is malformed is an
//! [`ExtractError`].

#![forbid(unsafe_code)]

mod container;
mod decompress;
mod executable;

pub use container::{Compression, Image};

use std::fmt;

/// The most bytes a single image may have.
pub const MOST_BYTES: u64 = 1 << 30;

/// The PTX images of a file, in order. Of text, or of another file that is no container, there are none.
///
/// # Errors
/// If a container is malformed.
pub fn images(bytes: &[u8]) -> Result<Vec<Image<'_>>, ExtractError> {
    let mut found = Vec::new();
    match Kind::of(bytes) {
        None => {}
        Some(Kind::FatBinary) => container::read_all(bytes, 0, &mut found)?,
        Some(Kind::Elf) => executable::read_elf(bytes, 0, &mut found)?,
        Some(Kind::Archive) => executable::read_archive(bytes, &mut found)?,
        Some(Kind::Pe) => container::scan(bytes, 0, &mut found)?,
    }
    Ok(found)
}

/// Whether a file is of a kind that PTX is looked for in.
pub fn is_container(bytes: &[u8]) -> bool {
    Kind::of(bytes).is_some()
}

/// The kinds of files that PTX is looked for in.
enum Kind {
    FatBinary,
    Elf,
    Archive,
    Pe,
}

impl Kind {
    fn of(bytes: &[u8]) -> Option<Kind> {
        if bytes.starts_with(&container::MAGIC.to_le_bytes()) {
            Some(Kind::FatBinary)
        } else if bytes.starts_with(b"\x7fELF") {
            Some(Kind::Elf)
        } else if bytes.starts_with(b"!<arch>\n") || bytes.starts_with(b"!<thin>\n") {
            Some(Kind::Archive)
        } else if bytes.starts_with(b"MZ") && bytes.contains(&0) {
            Some(Kind::Pe)
        } else {
            None
        }
    }
}

/// Why PTX cannot be extracted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ExtractError {
    /// A fat binary says something that cannot be.
    FatBinary {
        /// Where in the file.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// An ELF file or an archive cannot be read.
    Object(String),
    /// An image cannot be decompressed.
    Compression {
        /// Where the image begins in the file.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// An image is larger than [`MOST_BYTES`].
    TooLarge {
        /// Where the image begins in the file.
        offset: u64,
        /// How many bytes it says it has.
        bytes: u64,
    },
    /// An image is no text.
    NotText {
        /// Where the image begins in the file.
        offset: u64,
    },
}

impl fmt::Display for ExtractError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ExtractError::FatBinary { offset, reason } => {
                write!(formatter, "malformed fat binary at byte {offset}: {reason}")
            }
            ExtractError::Object(reason) => write!(formatter, "malformed object file: {reason}"),
            ExtractError::Compression { offset, reason } => write!(
                formatter,
                "the image at byte {offset} cannot be decompressed: {reason}"
            ),
            ExtractError::TooLarge { offset, bytes } => write!(
                formatter,
                "the image at byte {offset} has {bytes} bytes, more than a gibibyte"
            ),
            ExtractError::NotText { offset } => {
                write!(formatter, "the PTX at byte {offset} is not UTF-8 text")
            }
        }
    }
}

impl std::error::Error for ExtractError {}
