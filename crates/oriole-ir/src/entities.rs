//! The things an IR function is made of, and those a module is made of, as 32-bit indices.

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
    /// A variable of a function: a parameter, a result, or one declared in its body.
    pub struct Variable = "variable";
    /// A constant operand.
    pub struct Constant = "c";
    /// An instruction format.
    pub struct Format = "format";
    /// A name of a module: see [`crate::Module::global`].
    pub struct Global = "global";
    /// A variable of a module.
    pub struct GlobalVariable = "variable";
    /// A function of a module, with a body or without.
    pub struct FunctionId = "function";
}
