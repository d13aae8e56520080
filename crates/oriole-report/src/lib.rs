//! What Oriole finds in PTX, for programs and people: [`json::analysis`] makes a document of a module, and everything else is made of
//! such documents.
//!
//! ```
//! let module = oriole::parse("kernel.ptx", oriole::EXAMPLE).unwrap();
//! let (kernels, notes) = oriole_report::json::analysis(&module, &Default::default()).unwrap();
//! assert!(notes.is_empty());
//! let document = oriole_report::json::document(kernels);
//! assert_eq!(document["version"], 1);
//! ```

#![forbid(unsafe_code)]

pub mod baseline;
pub mod difference;
pub mod html;
pub mod json;
pub mod sarif;
