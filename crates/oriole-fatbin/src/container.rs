//! Fat binaries: a header, and entries with a header and an image each.
//!
//! All numbers are little-endian. The header of a fat binary:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 4 | [`MAGIC`] |
//! | 4 | 2 | version, 1 |
//! | 6 | 2 | bytes of this header |
//! | 8 | 8 | bytes of all entries |
//!
//! The header of an entry, as `fatbinary` of CUDA 13 writes it:
//!
//! | offset | bytes | meaning |
//! |---|---|---|
//! | 0 | 2 | kind: 1 PTX, 2 machine code |
//! | 4 | 4 | bytes of this header |
//! | 8 | 8 | bytes of the image with its padding |
//! | 16 | 4 | bytes of the image if it is compressed |
//! | 20 | 4 | where in the header the options of `ptxas` are described, by an offset and a length |
//! | 24 | 2 + 2 | minor and major version of PTX |
//! | 28 | 4 | number of the architecture |
//! | 32 | 4 + 4 | offset and length of the name of the source file |
//! | 40 | 8 | flags |
//! | 56 | 8 | bytes of the image once it is decompressed |

use crate::{ExtractError, MOST_BYTES, decompress};
use std::borrow::Cow;

/// What a fat binary begins with.
pub(crate) const MAGIC: u32 = 0xba55_ed50;

const HEADER_BYTES: usize = 16;
const ENTRY_BYTES: usize = 64;
const KIND_PTX: u16 = 1;
const LZ4: u64 = 0x2000;
const ZSTD: u64 = 0x8000;
/// The target is for one architecture alone, such as `sm_90a`.
const ARCHITECTURE_SPECIFIC: u64 = 0x10_0000;
/// The target is for a family of architectures, such as `sm_100f`.
const FAMILY_SPECIFIC: u64 = 0x20_0000;

/// How an image is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Compression {
    /// As it is.
    None,
    /// As one LZ4 block.
    Lz4,
    /// As zstd frames.
    Zstd,
}

impl Compression {
    /// The name of the method.
    pub fn text(self) -> &'static str {
        match self {
            Compression::None => "none",
            Compression::Lz4 => "lz4",
            Compression::Zstd => "zstd",
        }
    }
}

/// PTX in a file, perhaps compressed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image<'a> {
    /// Where its bytes begin in the file.
    pub offset: u64,
    /// The version of PTX, major and minor; 0 if the container does not say.
    pub version: (u16, u16),
    /// The name of the source file, if the container says it.
    pub source: Option<String>,
    /// The options of `ptxas` it was compiled with, if the container says them.
    pub options: Option<String>,
    /// How it is stored.
    pub compression: Compression,
    /// The archive member it is in.
    pub member: Option<String>,
    /// Whether this is what `ptxas` left for debuggers: lines end with zeroes.
    pub(crate) is_debug_text: bool,
    pub(crate) architecture: Option<(u32, &'static str)>,
    pub(crate) bytes: &'a [u8],
    /// Bytes once it is decompressed, as the container says.
    pub(crate) size: u64,
}

impl Image<'_> {
    /// The architecture, such as `sm_90a`; empty if the container does not say.
    pub fn architecture(&self) -> String {
        match self.architecture {
            Some((number, suffix)) => format!("sm_{number}{suffix}"),
            None => String::new(),
        }
    }

    /// Whether it is the text that `ptxas` leaves in a cubin for debuggers, not an entry of a fat binary.
    pub fn is_debug_text(&self) -> bool {
        self.is_debug_text
    }

    /// Bytes that it takes in the file.
    pub fn stored_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// The PTX.
    ///
    /// # Errors
    /// If it is too large, cannot be decompressed, or is no text.
    pub fn text(&self) -> Result<String, ExtractError> {
        let bytes: Cow<'_, [u8]> = match self.compression {
            Compression::None => Cow::Borrowed(self.bytes),
            Compression::Lz4 | Compression::Zstd => {
                if self.size > MOST_BYTES {
                    return Err(ExtractError::TooLarge {
                        offset: self.offset,
                        bytes: self.size,
                    });
                }
                let plain = match self.compression {
                    Compression::Lz4 => decompress::lz4(self.bytes, self.size),
                    _ => decompress::zstd(self.bytes, self.size),
                };
                Cow::Owned(plain.map_err(|reason| ExtractError::Compression {
                    offset: self.offset,
                    reason,
                })?)
            }
        };
        // Images are padded with zeroes. Lines at the start, though often empty, stay: others count them too.
        let end = bytes.iter().rposition(|&byte| byte != 0);
        let plain = &bytes[..end.map_or(0, |end| end + 1)];
        let not_text = |_| ExtractError::NotText {
            offset: self.offset,
        };
        let mut text = String::from_utf8(plain.to_vec()).map_err(not_text)?;
        if self.is_debug_text {
            text = text.replace('\0', "\n");
        }
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Ok(text)
    }
}

fn number<const BYTES: usize>(bytes: &[u8], at: usize) -> Option<[u8; BYTES]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    number(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    number(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    number(bytes, at).map(u64::from_le_bytes)
}

fn malformed(offset: u64, reason: impl Into<String>) -> ExtractError {
    ExtractError::FatBinary {
        offset,
        reason: reason.into(),
    }
}

/// The fat binaries that follow each other in a section or file, with zeroes between them. `base` is where the bytes are in the
/// file.
pub(crate) fn read_all<'a>(
    bytes: &'a [u8],
    base: u64,
    found: &mut Vec<Image<'a>>,
) -> Result<(), ExtractError> {
    let mut at = 0;
    while let Some(padding) = bytes[at..].iter().position(|&byte| byte != 0) {
        // Fat binaries begin at multiples of eight.
        at += padding / 8 * 8;
        at += read(&bytes[at..], base + at as u64, found)?;
    }
    Ok(())
}

/// The fat binaries anywhere in a file: whatever begins like one is read as one.
pub(crate) fn scan<'a>(
    bytes: &'a [u8],
    base: u64,
    found: &mut Vec<Image<'a>>,
) -> Result<(), ExtractError> {
    let magic = MAGIC.to_le_bytes();
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| rest.len() >= HEADER_BYTES) {
        let is_header = rest.starts_with(&magic) && rest[4..8] == [1, 0, HEADER_BYTES as u8, 0];
        at += match is_header {
            true => read(rest, base + at as u64, found)?,
            false => 8,
        };
    }
    Ok(())
}

/// One fat binary; how many bytes it has.
fn read<'a>(bytes: &'a [u8], base: u64, found: &mut Vec<Image<'a>>) -> Result<usize, ExtractError> {
    let header = (
        u32_at(bytes, 0),
        u16_at(bytes, 4),
        u16_at(bytes, 6),
        u64_at(bytes, 8),
    );
    let (Some(magic), Some(version), Some(header_bytes), Some(size)) = header else {
        return Err(malformed(base, "its header is cut off"));
    };
    if magic != MAGIC {
        return Err(malformed(
            base,
            format!("it begins with {magic:#010x}, not {MAGIC:#010x}"),
        ));
    }
    if version != 1 {
        return Err(malformed(
            base,
            format!("it is of the unknown version {version}"),
        ));
    }
    let start = usize::from(header_bytes);
    if start < HEADER_BYTES {
        return Err(malformed(base, format!("its header has {start} bytes")));
    }
    let end = usize::try_from(size)
        .ok()
        .and_then(|size| start.checked_add(size))
        .filter(|&end| end <= bytes.len())
        .ok_or_else(|| malformed(base, format!("its {size} bytes go beyond the end")))?;
    let mut at = start;
    while at < end {
        at += entry(&bytes[at..end], base + at as u64, found)?;
    }
    Ok(end)
}

/// One entry; how many bytes it has.
fn entry<'a>(
    bytes: &'a [u8],
    base: u64,
    found: &mut Vec<Image<'a>>,
) -> Result<usize, ExtractError> {
    let (Some(kind), Some(header_bytes), Some(size)) =
        (u16_at(bytes, 0), u32_at(bytes, 4), u64_at(bytes, 8))
    else {
        return Err(malformed(base, "the header of an entry is cut off"));
    };
    let start = header_bytes as usize;
    if start < ENTRY_BYTES {
        return Err(malformed(
            base,
            format!("the header of an entry has {start} bytes"),
        ));
    }
    let end = usize::try_from(size)
        .ok()
        .and_then(|size| start.checked_add(size))
        .filter(|&end| end <= bytes.len())
        .ok_or_else(|| {
            malformed(
                base,
                format!("the {size} bytes of an entry go beyond the end"),
            )
        })?;
    if kind == KIND_PTX {
        let (header, image) = (&bytes[..start], &bytes[start..end]);
        found.push(ptx(header, image, base, base + start as u64)?);
    }
    Ok(end)
}

/// A string in the header of an entry.
fn string(header: &[u8], offset: usize, length: usize) -> Option<String> {
    let bytes = header.get(offset..offset.checked_add(length)?)?;
    let end = bytes.iter().position(|&byte| byte == 0);
    let text = String::from_utf8_lossy(&bytes[..end.unwrap_or(bytes.len())]);
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// What the header of an entry says of its PTX.
fn ptx<'a>(
    header: &[u8],
    image: &'a [u8],
    base: u64,
    offset: u64,
) -> Result<Image<'a>, ExtractError> {
    // The header has at least 64 bytes.
    let word = |at: usize| u32_at(header, at).unwrap_or(0);
    let half = |at: usize| u16_at(header, at).unwrap_or(0);
    let flags = u64_at(header, 40).unwrap_or(0);
    let compression = match (flags & LZ4 != 0, flags & ZSTD != 0) {
        (false, false) => Compression::None,
        (true, false) => Compression::Lz4,
        (false, true) => Compression::Zstd,
        (true, true) => return Err(malformed(base, "an entry is compressed in two ways")),
    };
    let bytes = match compression {
        Compression::None => image,
        _ => image
            .get(..word(16) as usize)
            .ok_or_else(|| malformed(base, "a compressed image is larger than its entry"))?,
    };
    let suffix = if flags & ARCHITECTURE_SPECIFIC != 0 {
        "a"
    } else if flags & FAMILY_SPECIFIC != 0 {
        "f"
    } else {
        ""
    };
    let described = word(20) as usize;
    let options = (described >= ENTRY_BYTES)
        .then(|| {
            let offset = u32_at(header, described)? as usize;
            let length = u32_at(header, described.checked_add(4)?)? as usize;
            string(header, offset, length)
        })
        .flatten();
    Ok(Image {
        offset,
        version: (half(26), half(24)),
        source: string(header, word(32) as usize, word(36) as usize),
        options,
        compression,
        member: None,
        is_debug_text: false,
        architecture: Some((word(28), suffix)),
        bytes,
        size: match compression {
            Compression::None => bytes.len() as u64,
            _ => u64_at(header, 56).unwrap_or(0),
        },
    })
}
