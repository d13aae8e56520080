//! Buffers after a run: written to files, printed, compared.

use crate::Failure;
use crate::files;
use oriole_emulator::ElementType;
use std::io::Write;
use std::path::Path;

/// The contents of a buffer.
pub struct Saved {
    /// Its name.
    pub name: String,
    /// The type of its elements.
    pub element: ElementType,
    /// What the kernel left in it.
    pub bytes: Vec<u8>,
}

/// Bytes as one number in hexadecimal.
fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .rev()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

impl Saved {
    /// Writes the buffer, as NumPy's format if the file is called so, else raw.
    pub fn save(&self, file: &Path) -> Result<(), Failure> {
        let mut contents = Vec::new();
        if file.extension().is_some_and(|extension| extension == "npy") {
            let size = self.element.bytes();
            let kind = match self.element.text() {
                text if text.starts_with('s') => 'i',
                "bf16" => 'u',
                text if text.starts_with('f') => 'f',
                _ => 'u',
            };
            let mut header = format!(
                "{{'descr': '<{kind}{size}', 'fortran_order': False, 'shape': ({},), }}",
                self.bytes.len() / size
            );
            // Magic, version and length take ten bytes; the whole header is a multiple of 64 and ends in a line feed.
            let padding = 63 - (10 + header.len()) % 64;
            header.push_str(&" ".repeat(padding));
            header.push('\n');
            contents.extend(b"\x93NUMPY\x01\x00");
            contents.extend((header.len() as u16).to_le_bytes());
            contents.extend(header.as_bytes());
        }
        contents.extend(&self.bytes);
        files::write_bytes(Some(file), &contents)
    }

    /// Prints the elements, eight on a line behind the index of the first.
    pub fn print(&self, output: &mut impl Write) -> Result<(), Failure> {
        let size = self.element.bytes();
        writeln!(
            output,
            "{}: {}[{}]",
            self.name,
            self.element.text(),
            self.bytes.len() / size
        )?;
        for (row, chunk) in self.bytes.chunks(8 * size).enumerate() {
            write!(output, "{:>8}:", row * 8)?;
            for element in chunk.chunks(size) {
                write!(output, " {}", self.element.show(element))?;
            }
            writeln!(output)?;
        }
        Ok(())
    }

    /// The first element that is not the same in both, with both values.
    pub fn difference(&self, other: &Saved) -> Option<(usize, String, String)> {
        let size = self.element.bytes();
        let elements = self.bytes.chunks(size).zip(other.bytes.chunks(size));
        elements
            .enumerate()
            .find(|(_, (left, right))| left != right)
            .map(|(index, (left, right))| (index, hexadecimal(left), hexadecimal(right)))
    }
}
