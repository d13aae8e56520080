//! Compiler collections.
