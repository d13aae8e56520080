//! Fat binaries in ELF files, and ELF files in archives.

use crate::container::{self, Compression, Image};
use crate::{ExtractError, Kind};
use object::read::archive::ArchiveFile;
use object::read::elf::{ElfFile32, ElfFile64};
use object::{Endianness, Object, ObjectSection};

/// Sections with fat binaries: of linked and of relocatable device code.
const FAT_BINARY_SECTIONS: [&str; 2] = [".nv_fatbin", "__nv_relfatbin"];
/// The section of a cubin with the PTX it was made of.
const DEBUG_TEXT_SECTION: &str = ".nv_debug_ptx_txt";
/// The machine of cubins.
const EM_CUDA: u16 = 190;

fn object_error(error: impl std::fmt::Display) -> ExtractError {
    ExtractError::Object(error.to_string())
}

/// The images of an ELF file, which begins at `base`.
pub(crate) fn read_elf<'a>(
    bytes: &'a [u8],
    base: u64,
    found: &mut Vec<Image<'a>>,
) -> Result<(), ExtractError> {
    const CLASS: usize = 4;
    const CLASS_32: u8 = 1;
    let machine = bytes
        .get(18..20)
        .map(|own| u16::from_le_bytes([own[0], own[1]]));
    let is_cubin = machine == Some(EM_CUDA);
    match bytes.get(CLASS) {
        Some(&CLASS_32) => {
            let file = ElfFile32::<Endianness>::parse(bytes).map_err(object_error)?;
            read_sections(&file, bytes, base, is_cubin, found)
        }
        _ => {
            let file = ElfFile64::<Endianness>::parse(bytes).map_err(object_error)?;
            read_sections(&file, bytes, base, is_cubin, found)
        }
    }
}

fn read_sections<'a>(
    file: &impl Object<'a>,
    bytes: &'a [u8],
    base: u64,
    is_cubin: bool,
    found: &mut Vec<Image<'a>>,
) -> Result<(), ExtractError> {
    let mut has_section = false;
    for section in file.sections() {
        let Ok(name) = section.name() else {
            continue;
        };
        let place = base + section.file_range().map_or(0, |(offset, _)| offset);
        if FAT_BINARY_SECTIONS.contains(&name) {
            has_section = true;
            container::read_all(section.data().map_err(object_error)?, place, found)?;
        } else if name == DEBUG_TEXT_SECTION && is_cubin {
            let bytes = section.data().map_err(object_error)?;
            if !bytes.is_empty() {
                found.push(debug_text(bytes, place));
            }
        }
    }
    // Without section headers, or in sections of another name.
    if !has_section && !is_cubin {
        container::scan(bytes, base, found)?;
    }
    Ok(())
}

fn debug_text(bytes: &[u8], offset: u64) -> Image<'_> {
    Image {
        offset,
        version: (0, 0),
        source: None,
        options: None,
        compression: Compression::None,
        member: None,
        is_debug_text: true,
        architecture: None,
        bytes,
        size: bytes.len() as u64,
    }
}

/// The images of the members of an archive.
pub(crate) fn read_archive<'a>(
    bytes: &'a [u8],
    found: &mut Vec<Image<'a>>,
) -> Result<(), ExtractError> {
    let archive = ArchiveFile::parse(bytes).map_err(object_error)?;
    if archive.is_thin() {
        return Err(ExtractError::Object(
            "it is a thin archive: give its members instead".to_owned(),
        ));
    }
    for member in archive.members() {
        let member = member.map_err(object_error)?;
        let name = String::from_utf8_lossy(member.name()).into_owned();
        let data = member.data(bytes).map_err(object_error)?;
        let base = member.file_range().0;
        let before = found.len();
        let read = match Kind::of(data) {
            Some(Kind::Elf) => read_elf(data, base, found),
            Some(Kind::FatBinary) => container::read_all(data, base, found),
            _ => Ok(()),
        };
        read.map_err(|error| ExtractError::Object(format!("in the member `{name}`: {error}")))?;
        for image in &mut found[before..] {
            image.member = Some(name.clone());
        }
    }
    Ok(())
}
