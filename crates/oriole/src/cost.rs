//! What a function costs, to tell whether optimizing it was worth it.

use oriole_syntax::tree::{Body, Module, Statement};

/// How many instructions there are, and then what they weigh together. Ordered: fewer instructions win, and of as many the
/// lighter ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cost {
    /// Instructions.
    pub instructions: u64,
    weight: u64,
}

impl Cost {
    /// The cost of a body of a module.
    pub fn of(module: &Module, body: &Body) -> Cost {
        let mut cost = Cost::default();
        let text = module.whole_text().as_bytes();
        for statement in &body.statements {
            if let Statement::Instruction(instruction) = statement {
                cost.instructions += 1;
                cost.weight += weight(&text[instruction.mnemonic.span().range()]);
            }
        }
        cost
    }
}

/// About how many issue slots an instruction takes.
fn weight(mnemonic: &[u8]) -> u64 {
    // No opcode that weighs anything special is longer than four bytes; dots stand for what a short mnemonic lacks.
    let head = mnemonic.first_chunk().copied().unwrap_or_else(|| {
        let mut head = [b'.'; 5];
        head[..mnemonic.len()].copy_from_slice(mnemonic);
        head
    });
    match &head {
        b"sqrt." => 40,
        b"atom." | b"call." => 16,
        b"selp." => 4,
        [b'l', b'd', b'.', ..] | [b's', b't', b'.', ..] => 16,
        [opcode @ .., b'.', _] => match opcode {
            b"mov" => 1,
            b"div" | b"rem" | b"rcp" => 40,
            b"ldu" | b"red" | b"tex" => 16,
            b"mul" | b"mad" | b"cvt" => 4,
            b"bra" | b"not" => 2,
            _ => 3,
        },
        _ => 3,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(instructions: &str) -> Cost {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.func f()\n{{\n.reg .b32 %r<4>;\n{instructions}\n}}\n"
        );
        let module = crate::parse("f.ptx", text).unwrap();
        Cost::of(&module, module.functions[0].body.as_ref().unwrap())
    }

    #[test]
    fn only_the_opcode_counts() {
        for (mnemonic, expected) in [
            ("ld.u8", 16),
            ("st.v.u8", 16),
            ("ld", 16),
            ("ret", 3),
            ("bra", 2),
            ("call", 16),
            ("calls", 3),
            ("call.uni", 16),
            ("rem.u32", 40),
            ("sqrt.rn.f32", 40),
            ("movmatrix.sync", 3),
            ("mov.b32", 1),
            ("a.d.x", 3),
        ] {
            assert_eq!(weight(mnemonic.as_bytes()), expected, "{mnemonic}");
        }
    }

    #[test]
    fn fewer_instructions_win_and_then_lighter_ones() {
        let one = cost("mul.lo.s32 %r1, %r2, 4;");
        assert!(cost("shl.b32 %r1, %r2, 2;") < one);
        assert!(one < cost("shl.b32 %r1, %r2, 2; mov.u32 %r3, 1;"));
    }
}
