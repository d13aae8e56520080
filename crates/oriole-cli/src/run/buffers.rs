//! Buffers after a run: written to files, printed, compared.

use crate::Failure;
use crate::files;
use oriole::RunBuffer;
use std::io::Write;
use std::path::Path;

/// Bytes as one number in hexadecimal.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .rev()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Writes the buffer, as NumPy's format if the file is called so, else raw.
pub fn save(buffer: &RunBuffer, file: &Path) -> Result<(), Failure> {
    let mut contents = Vec::new();
    if file.extension().is_some_and(|extension| extension == "npy") {
        let size = buffer.element.bytes();
        let kind = match buffer.element.text() {
            text if text.starts_with('s') => 'i',
            "bf16" => 'u',
            text if text.starts_with('f') => 'f',
            _ => 'u',
        };
        let mut header = format!(
            "{{'descr': '<{kind}{size}', 'fortran_order': False, 'shape': ({},), }}",
            buffer.bytes.len() / size
        );
        // Magic, version and length take ten bytes; the whole header is a multiple of 64 and ends in a line feed.
        let padding = 63 - (10 + header.len()) % 64;
        header.push_str(&" ".repeat(padding));
        header.push('\n');
        contents.extend(b"\x93NUMPY\x01\x00");
        contents.extend((header.len() as u16).to_le_bytes());
        contents.extend(header.as_bytes());
    }
    contents.extend(&buffer.bytes);
    files::write_bytes(Some(file), &contents)
}

/// Prints the elements, eight on a line behind the index of the first.
pub fn print(buffer: &RunBuffer, output: &mut impl Write) -> Result<(), Failure> {
    let size = buffer.element.bytes();
    writeln!(
        output,
        "{}: {}[{}]",
        buffer.name,
        buffer.element.text(),
        buffer.bytes.len() / size
    )?;
    for (row, chunk) in buffer.bytes.chunks(8 * size).enumerate() {
        write!(output, "{:>8}:", row * 8)?;
        for element in chunk.chunks(size) {
            write!(output, " {}", buffer.element.show(element))?;
        }
        writeln!(output)?;
    }
    Ok(())
}

/// The first element that is not the same in both, with both values.
pub fn difference(buffer: &RunBuffer, other: &RunBuffer) -> Option<(usize, String, String)> {
    let size = buffer.element.bytes();
    let elements = buffer.bytes.chunks(size).zip(other.bytes.chunks(size));
    elements
        .enumerate()
        .find(|(_, (left, right))| left != right)
        .map(|(index, (left, right))| (index, hexadecimal(left), hexadecimal(right)))
}
