//! PTX text to a tree and back, without losing a token.
//!
//! [`parse`] reads a file into a [`tree::Module`]; [`print()`] writes it. The parser is generic over PTX's regular grammar:
//! it accepts instructions and directives it has never seen and keeps them as they were written. [`scopes`] resolves
//! names to what declares them; [`literal`] gives numbers and constant expressions their values.
//!
//! ```
//! let (module, errors) = oriole_syntax::parse("k.ptx", ".version 8.3\n.target sm_90\n.address_size 64\n");
//! assert!(errors.is_empty());
//! assert_eq!(module.target(), Some("sm_90"));
//! assert_eq!(oriole_syntax::print(&module), module.source());
//! ```

#![forbid(unsafe_code)]

mod lexer;
pub mod literal;
mod parser;
mod printer;
pub mod scopes;
pub mod tree;

pub use lexer::{comments, token_ranges, tokens};
pub use parser::{parse, parse_bytes};
pub use printer::{print, print_function, print_instruction};

/// The threads that may read or write one file together. A thread of a pool has the pool's other files to deal with: it would take one of them up
/// while it waits, and another inside of that, as deep as there are files.
fn threads() -> usize {
    match rayon::current_thread_index() {
        Some(_) => 1,
        None => rayon::current_num_threads(),
    }
}
