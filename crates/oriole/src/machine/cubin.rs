//! Reads what `ptxas` writes: an ELF file with a section of code for each kernel, and attributes.
//!
//! A kernel's section also holds the functions it calls, each under a symbol `$kernel$function`. Only with separate compilation
//! have functions sections of their own. An attribute is a format, a number and two bytes that are its value or the length of
//! what follows; those used here are the register count of a function and the targets of indirect branches.

use super::code::{self, Count};
use object::read::elf::ElfFile64;
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;

/// Attributes with a value of any length.
const SIZED: u8 = 4;
const REGISTER_COUNT: u8 = 0x2f;
const INDIRECT_BRANCH_TARGETS: u8 = 0x34;

/// The code of a kernel, or of a function by itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// The kernel or function.
    pub name: String,
    /// How much code there is.
    pub count: Count,
    /// Registers of a thread.
    pub registers: u32,
    /// Functions that are in it.
    pub functions: Vec<String>,
}

/// The attributes of a section: their numbers and values.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    std::iter::from_fn(move || {
        let (&[format, number, low, high], rest) = bytes.split_first_chunk()?;
        let length = match format {
            SIZED => usize::from(u16::from_le_bytes([low, high])),
            _ => 0,
        };
        let (value, rest) = rest.split_at_checked(length)?;
        bytes = rest;
        Some((number, value))
    })
}

/// Whole words of an attribute.
fn words(value: &[u8]) -> Vec<u32> {
    value
        .chunks_exact(4)
        .map(|word| word.try_into().map_or(0, u32::from_le_bytes))
        .collect()
}

/// Pairs of a branch and one of its targets: the attribute has the branch, a word of no concern, a number, and as many targets.
fn indirect_targets(attribute: &[u32], into: &mut Vec<(u32, u32)>) {
    let mut rest = attribute;
    while let [branch, _, count, targets @ ..] = rest {
        let count = (*count as usize).min(targets.len());
        let (own, behind) = targets.split_at(count);
        into.extend(own.iter().map(|&target| (*branch, target)));
        rest = behind;
    }
}

/// The sections with code, in the order of the file. `number` is that of the target.
pub(super) fn read(bytes: &[u8], number: u16) -> Result<Vec<Section>, String> {
    if number < code::FIRST_TARGET {
        return Err(format!("machine code of sm_{number} cannot be read"));
    }
    let file: ElfFile64<'_> =
        ElfFile64::parse(bytes).map_err(|error| format!("it is no ELF file: {error}"))?;
    let sections: BTreeMap<&str, _> = file
        .sections()
        .filter_map(|section| Some((section.name().ok()?, section)))
        .collect();
    let data = |name: &str| sections.get(name).and_then(|section| section.data().ok());
    let mut registers: BTreeMap<usize, u32> = BTreeMap::new();
    for (attribute, value) in attributes(data(".nv.info").unwrap_or_default()) {
        if let (REGISTER_COUNT, &[symbol, count, ..]) = (attribute, words(value).as_slice()) {
            registers.insert(symbol as usize, count);
        }
    }
    let mut symbols: BTreeMap<usize, Vec<_>> = BTreeMap::new();
    for symbol in file.symbols() {
        if let (Some(section), SymbolKind::Text) = (symbol.section_index(), symbol.kind()) {
            symbols.entry(section.0).or_default().push(symbol);
        }
    }
    let mut found = Vec::new();
    for section in file.sections() {
        let Some(name) = section
            .name()
            .ok()
            .and_then(|name| name.strip_prefix(".text."))
        else {
            continue;
        };
        let bytes = section
            .data()
            .map_err(|error| format!("the code of `{name}` cannot be read: {error}"))?;
        let mut entries = Vec::new();
        let mut functions = Vec::new();
        let mut own = None;
        let prefix = format!("${name}$");
        for symbol in symbols.get(&section.index().0).into_iter().flatten() {
            let symbol_name = symbol.name().unwrap_or_default();
            if symbol_name == name {
                own = Some(symbol.index().0);
            } else {
                entries.push(symbol.address());
            }
            if let Some(function) = symbol_name.strip_prefix(&prefix) {
                functions.push(function.to_owned());
            }
        }
        let mut indirect = Vec::new();
        let info = data(&format!(".nv.info.{name}")).unwrap_or_default();
        for (attribute, value) in attributes(info) {
            if attribute == INDIRECT_BRANCH_TARGETS {
                indirect_targets(&words(value), &mut indirect);
            }
        }
        found.push(Section {
            name: name.to_owned(),
            count: code::count(bytes, number, &entries, &indirect),
            registers: own
                .and_then(|own| registers.get(&own))
                .copied()
                .unwrap_or(0),
            functions,
        });
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_end_where_they_are_cut_off() {
        let bytes = [
            3, 0x1b, 255, 0, 4, 0x2f, 8, 0, 16, 0, 0, 0, 12, 0, 0, 0, 4, 0x34, 200, 0, 1,
        ];
        let found: Vec<(u8, &[u8])> = attributes(&bytes).collect();
        assert_eq!(found.len(), 2);
        assert_eq!((found[1].0, words(found[1].1)), (0x2f, vec![16, 12]));
    }

    #[test]
    fn targets_of_several_branches_are_read() {
        let mut found = Vec::new();
        indirect_targets(&[0x220, 0, 2, 0x3c0, 0x520, 0x700, 0, 9, 0x40], &mut found);
        assert_eq!(found, [(0x220, 0x3c0), (0x220, 0x520), (0x700, 0x40)]);
    }

    #[test]
    fn what_is_no_cubin_is_an_error() {
        assert!(read(b"nothing", 80).is_err());
        assert!(read(b"", 50).is_err());
    }
}
