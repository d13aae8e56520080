//! The `ptxas` that the user asks for.

use crate::Failure;
use oriole::machine::{Assembler, find_ptxas};
use oriole_files::temporary;
use oriole_isa::Target;
use std::path::Path;

/// A `ptxas` with a folder for its files.
pub struct Ptxas {
    pub assembler: Assembler,
    _folder: temporary::Folder,
}

impl Ptxas {
    /// The program that is named, or else the one that is found.
    pub fn new(named: Option<&Path>, target: Target) -> Result<Ptxas, Failure> {
        let program = find_ptxas(named).ok_or_else(|| {
            Failure::message(
                "there is no ptxas: say --ptxas=PATH, set ORIOLE_PTXAS or put it on the PATH",
            )
        })?;
        let folder = temporary::folder()?;
        Ok(Ptxas {
            assembler: Assembler::new(program, folder.path(), target),
            _folder: folder,
        })
    }
}
