//! The things an IR function is made of, as 32-bit indices.

oriole_collections::entity! {
    /// A value: defined once, used anywhere its definition dominates.
    pub struct Value = "v";
    /// An instruction.
    pub struct Instruction = "i";
    /// A basic block.
    pub struct Block = "block";
    /// A register of the PTX function.
    pub struct Register = "r";
    /// A name that is no register and no label: a variable, a function, a special register.
    pub struct Symbol = "s";
    /// A constant operand.
    pub struct Constant = "c";
    /// An instruction format.
    pub struct Format = "format";
}
