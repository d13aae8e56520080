//! The PTX instruction set as a table.
