//! What Oriole says about a file, and how it is said.
//!
//! A [`Diagnostic`] is a sentence with a stable id, a severity and labelled places in one source file. Producers build
//! diagnostics and never print; the command line renders them as text ([`render`]), JSON lines ([`json`]) or SARIF
//! ([`sarif`]). Lines and columns are computed here and only here, from byte spans.

#![forbid(unsafe_code)]

mod diagnostic;
mod error;
pub mod json;
mod printable;
mod render;
pub mod sarif;
mod source;
mod span;

pub use diagnostic::{Diagnostic, Label, Severity};
pub use error::Error;
pub use printable::{printable_json, printable_line, printable_text};
pub use render::{ColorChoice, render};
pub use source::{Position, Source};
pub use span::Span;
