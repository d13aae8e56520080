//! Containers made by hand: what is found in each, and what is said of those that are broken.

mod common;

use common::{PTX, Stored, archive, elf, entry, fat_binary, of_each_kind};
use oriole_fatbin::{Compression, ExtractError, images, is_container};

const X86_64: u16 = 62;
const CUDA: u16 = 190;

fn texts(bytes: &[u8]) -> Vec<String> {
    let found = images(bytes).unwrap();
    found.iter().map(|image| image.text().unwrap()).collect()
}

#[test]
fn each_way_of_storing_ptx_is_read() {
    let bytes = of_each_kind();
    assert!(is_container(&bytes));
    let found = images(&bytes).unwrap();
    let said: Vec<_> = found
        .iter()
        .map(|image| (image.architecture(), image.compression, image.version))
        .collect();
    assert_eq!(
        said,
        [
            ("sm_80".to_owned(), Compression::None, (8, 3)),
            ("sm_90a".to_owned(), Compression::Lz4, (8, 3)),
            ("sm_100f".to_owned(), Compression::Zstd, (8, 3)),
        ]
    );
    for image in found {
        assert_eq!(image.text().unwrap(), PTX);
        assert_eq!(image.source.as_deref(), Some("k.cu"));
        assert_eq!(image.options.as_deref(), Some("-g"));
    }
}

#[test]
fn fat_binaries_are_found_in_sections_files_and_archives() {
    let one = of_each_kind();
    let mut two = one.clone();
    two.extend([0; 24]);
    two.extend(&one);
    assert_eq!(texts(&two).len(), 6, "two in a row, padded");
    for section in [".nv_fatbin", "__nv_relfatbin", ".another"] {
        assert_eq!(texts(&elf(X86_64, section, &two)).len(), 6, "{section}");
    }
    let object = elf(X86_64, ".nv_fatbin", &one);
    let library = archive(&[("a.o", &object), ("notes", b"odd"), ("b.fatbin", &one)]);
    let found = images(&library).unwrap();
    let members: Vec<_> = found
        .iter()
        .filter_map(|image| image.member.clone())
        .collect();
    assert_eq!(
        members,
        ["a.o", "a.o", "a.o", "b.fatbin", "b.fatbin", "b.fatbin"]
    );
    let mut windows = b"MZ\0\0\0\0\0\0".to_vec();
    windows.extend(&one);
    assert_eq!(texts(&windows).len(), 3);
}

#[test]
fn the_text_for_debuggers_has_lines_again() {
    let mut contents = vec![0, 0];
    contents.extend(PTX.replace('\n', "\0").bytes());
    let cubin = elf(CUDA, ".nv_debug_ptx_txt", &contents);
    let found = images(&cubin).unwrap();
    assert_eq!(found.len(), 1);
    assert!(found[0].is_debug_text());
    assert_eq!(found[0].text().unwrap(), format!("\n\n{PTX}"));
    assert_eq!(images(&elf(CUDA, ".text.kernel", &[1; 8])).unwrap(), []);
}

#[test]
fn what_is_no_container_has_no_images() {
    for bytes in [&b""[..], PTX.as_bytes(), b"MZ is no program", &[0; 64]] {
        assert!(!is_container(bytes));
        assert_eq!(images(bytes), Ok(Vec::new()));
    }
}

#[test]
fn broken_fat_binaries_are_explained() {
    let whole = of_each_kind();
    let broken = |change: fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        images(&bytes).unwrap_err().to_string()
    };
    let said = [
        (broken(|bytes| bytes.truncate(9)), "its header is cut off"),
        (broken(|bytes| bytes[4] = 7), "the unknown version 7"),
        (broken(|bytes| bytes[6] = 3), "its header has 3 bytes"),
        (broken(|bytes| bytes[15] = 255), "bytes go beyond the end"),
        (
            broken(|bytes| {
                bytes.pop();
            }),
            "bytes go beyond the end",
        ),
        (
            broken(|bytes| bytes[16 + 4] = 1),
            "the header of an entry has 1 bytes",
        ),
        (
            broken(|bytes| bytes[16 + 10] = 0xf0),
            "of an entry go beyond the end",
        ),
    ];
    for (message, wanted) in said {
        assert!(
            message.contains(wanted) && message.starts_with("malformed fat binary at byte "),
            "{message}"
        );
    }
    let mut two_ways = fat_binary(&[entry(PTX, Stored::Lz4, 80, 0x8000)]);
    let message = images(&two_ways).unwrap_err().to_string();
    assert!(message.contains("compressed in two ways"), "{message}");
    two_ways.truncate(20);
    assert!(images(&two_ways).is_err());
    assert!(matches!(images(b"\x7fELF"), Err(ExtractError::Object(_))));
    assert!(
        images(b"!<thin>\n")
            .unwrap_err()
            .to_string()
            .contains("thin archive")
    );
}

#[test]
fn a_size_that_cannot_be_is_an_error_and_allocates_nothing() {
    for stored in [Stored::Lz4, Stored::Zstd] {
        let mut bytes = fat_binary(&[entry(PTX, stored, 80, 0)]);
        let size = 16 + 56;
        bytes[size..size + 8].copy_from_slice(&(1u64 << 40).to_le_bytes());
        let error = images(&bytes).unwrap()[0].text().unwrap_err();
        assert!(matches!(error, ExtractError::TooLarge { .. }), "{error}");
        bytes[size..size + 8].copy_from_slice(&(1u64 << 29).to_le_bytes());
        let error = images(&bytes).unwrap()[0].text().unwrap_err();
        assert!(matches!(error, ExtractError::Compression { .. }), "{error}");
    }
    let not_text = fat_binary(&[entry("kernel \u{fffd}", Stored::Plain, 80, 0)]);
    let mut bytes = not_text;
    let place = bytes.iter().rposition(|&byte| byte == 0xbd).unwrap();
    bytes[place] = 0xff;
    let error = images(&bytes).unwrap()[0].text().unwrap_err();
    assert!(matches!(error, ExtractError::NotText { .. }));
}

/// A generator of numbers that is the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        ((self.0 >> 33) as usize) % bound.max(1)
    }
}

#[test]
fn mutated_containers_neither_panic_nor_grow() {
    let one = of_each_kind();
    let object = elf(X86_64, ".nv_fatbin", &one);
    let mut debug = vec![0];
    debug.extend(PTX.replace('\n', "\0").bytes());
    let seeds = [
        one.clone(),
        object.clone(),
        elf(CUDA, ".nv_debug_ptx_txt", &debug),
        archive(&[("a.o", &object), ("b.fatbin", &one)]),
    ];
    let count: usize = std::env::var("ORIOLE_MUTATIONS")
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(4000);
    let mut random = Random(1);
    let (mut read, mut refused) = (0, 0);
    for round in 0..count {
        let mut bytes = seeds[round % seeds.len()].clone();
        for _ in 0..=random.below(4) {
            let place = random.below(bytes.len());
            match random.below(4) {
                0 => bytes[place] = random.below(256) as u8,
                1 => bytes[place] ^= 1 << random.below(8),
                2 => bytes.truncate(place.max(8)),
                _ => {
                    // Sizes and offsets are where it hurts.
                    let value = [0, 1, 0xff, 0x7fff_ffff, 0xffff_ffff, u64::MAX][random.below(6)];
                    let place = place / 4 * 4;
                    let end = bytes.len().min(place + 8);
                    bytes[place..end].copy_from_slice(&value.to_le_bytes()[..end - place]);
                }
            }
        }
        match images(&bytes) {
            Ok(found) => {
                for image in found {
                    match image.text() {
                        Ok(text) => {
                            read += 1;
                            assert!(text.len() <= 256 * bytes.len() + (1 << 20));
                        }
                        Err(error) => {
                            refused += 1;
                            assert!(!error.to_string().is_empty());
                        }
                    }
                }
            }
            Err(_) => refused += 1,
        }
    }
    assert!(read > count / 4 && refused > count / 8, "{read} {refused}");
}
