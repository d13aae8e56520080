//! Fat binaries and ELF files made by hand, so that tests need no compiler.

/// PTX that every fixture holds.
pub const PTX: &str =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry kernel()\n{\n\tret;\n}\n";

/// How an entry is stored.
#[derive(Clone, Copy)]
pub enum Stored {
    Plain,
    Lz4,
    Zstd,
}

fn put(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

/// An entry with PTX, the name of its source and options of `ptxas`.
pub fn entry(text: &str, stored: Stored, architecture: u32, flags: u64) -> Vec<u8> {
    let (payload, method) = match stored {
        Stored::Plain => (text.as_bytes().to_vec(), 0),
        Stored::Lz4 => (lz4_flex::block::compress(text.as_bytes()), 0x2000),
        Stored::Zstd => {
            let level = ruzstd::encoding::CompressionLevel::Fastest;
            let frame = ruzstd::encoding::compress_to_vec(text.as_bytes(), level);
            (frame, 0x8000)
        }
    };
    let mut header = vec![0; 0x60];
    let padded = payload.len().div_ceil(8) * 8;
    put(&mut header, 0, &1u16.to_le_bytes());
    put(&mut header, 2, &0x101u16.to_le_bytes());
    put(&mut header, 4, &0x60u32.to_le_bytes());
    put(&mut header, 8, &(padded as u64).to_le_bytes());
    put(&mut header, 20, &0x48u32.to_le_bytes());
    put(&mut header, 24, &3u16.to_le_bytes());
    put(&mut header, 26, &8u16.to_le_bytes());
    put(&mut header, 28, &architecture.to_le_bytes());
    put(&mut header, 32, &0x40u32.to_le_bytes());
    put(&mut header, 36, &5u32.to_le_bytes());
    put(&mut header, 40, &(flags | method | 0x11).to_le_bytes());
    put(&mut header, 0x40, b"k.cu\0");
    put(&mut header, 0x48, &0x50u32.to_le_bytes());
    put(&mut header, 0x4c, &4u32.to_le_bytes());
    put(&mut header, 0x50, b" -g\0");
    if method != 0 {
        put(&mut header, 16, &(payload.len() as u32).to_le_bytes());
        put(&mut header, 56, &(text.len() as u64).to_le_bytes());
    }
    header.extend(payload);
    header.resize(0x60 + padded, 0);
    header
}

/// An entry with machine code.
pub fn machine_code() -> Vec<u8> {
    let mut header = vec![0; 0x40];
    put(&mut header, 0, &2u16.to_le_bytes());
    put(&mut header, 4, &0x40u32.to_le_bytes());
    put(&mut header, 8, &8u64.to_le_bytes());
    header.extend([0x7f; 8]);
    header
}

/// A fat binary of entries.
pub fn fat_binary(entries: &[Vec<u8>]) -> Vec<u8> {
    let size: usize = entries.iter().map(Vec::len).sum();
    let mut bytes = 0xba55_ed50u32.to_le_bytes().to_vec();
    bytes.extend(1u16.to_le_bytes());
    bytes.extend(16u16.to_le_bytes());
    bytes.extend((size as u64).to_le_bytes());
    bytes.extend(entries.concat());
    bytes
}

/// One fat binary with an entry of each kind.
pub fn of_each_kind() -> Vec<u8> {
    fat_binary(&[
        machine_code(),
        entry(PTX, Stored::Plain, 80, 0),
        entry(PTX, Stored::Lz4, 90, 0x10_0000),
        entry(PTX, Stored::Zstd, 100, 0x20_0000),
    ])
}

/// A 64-bit ELF file with one section.
pub fn elf(machine: u16, section: &str, contents: &[u8]) -> Vec<u8> {
    let names = format!("\0.shstrtab\0{section}\0");
    let contents_at = 64;
    let names_at = contents_at + contents.len().div_ceil(8) * 8;
    let headers_at = names_at + names.len().div_ceil(8) * 8;
    let mut bytes = vec![0; headers_at + 3 * 64];
    put(&mut bytes, 0, b"\x7fELF\x02\x01\x01");
    put(&mut bytes, 16, &1u16.to_le_bytes());
    put(&mut bytes, 18, &machine.to_le_bytes());
    put(&mut bytes, 20, &1u32.to_le_bytes());
    put(&mut bytes, 40, &(headers_at as u64).to_le_bytes());
    put(&mut bytes, 52, &64u16.to_le_bytes());
    put(&mut bytes, 58, &64u16.to_le_bytes());
    put(&mut bytes, 60, &3u16.to_le_bytes());
    put(&mut bytes, 62, &1u16.to_le_bytes());
    put(&mut bytes, contents_at, contents);
    put(&mut bytes, names_at, names.as_bytes());
    let sections = [
        (1u32, 3u32, names_at, names.len()),
        (11, 1, contents_at, contents.len()),
    ];
    for (index, (name, kind, offset, size)) in sections.into_iter().enumerate() {
        let header = headers_at + (index + 1) * 64;
        put(&mut bytes, header, &name.to_le_bytes());
        put(&mut bytes, header + 4, &kind.to_le_bytes());
        put(&mut bytes, header + 24, &(offset as u64).to_le_bytes());
        put(&mut bytes, header + 32, &(size as u64).to_le_bytes());
    }
    bytes
}

/// An archive of members.
pub fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut bytes = b"!<arch>\n".to_vec();
    for (name, contents) in members {
        let name = format!("{name}/");
        let size = contents.len();
        bytes.extend(format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{size:<10}`\n", 0, 0, 0, 644).bytes());
        bytes.extend(*contents);
        if !contents.len().is_multiple_of(2) {
            bytes.push(b'\n');
        }
    }
    bytes
}
