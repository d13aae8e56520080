//! What a function costs, to tell whether optimizing it was worth it.

use oriole_syntax::tree::{Body, Module, Statement, Text};

/// How many instructions a body has.
pub(crate) fn instructions(body: &Body) -> u64 {
    mnemonics(body).count() as u64
}

/// Whether a body costs less than another one of the same module: fewer instructions win, and of as many those that weigh less
/// together.
pub(crate) fn is_cheaper(module: &Module, body: &Body, than: &Body) -> bool {
    instructions(body)
        .cmp(&instructions(than))
        .then_with(|| weight_of(module, body).cmp(&weight_of(module, than)))
        .is_lt()
}

fn mnemonics(body: &Body) -> impl Iterator<Item = Text> {
    body.statements
        .iter()
        .filter_map(|statement| match statement {
            Statement::Instruction(instruction) => Some(instruction.mnemonic),
            _ => None,
        })
}

fn weight_of(module: &Module, body: &Body) -> u64 {
    let text = module.whole_text().as_bytes();
    mnemonics(body)
        .map(|mnemonic| weight(&text[mnemonic.span().range()]))
        .sum()
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

    fn is_cheaper(instructions: &str, than: &str) -> bool {
        let text = format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n.func f()\n{{\n.reg .b32 %r<4>;\n{instructions}\n}}\n\
             .func g()\n{{\n.reg .b32 %r<4>;\n{than}\n}}\n"
        );
        let module = crate::parse("f.ptx", text).unwrap();
        let [body, than] = [0, 1].map(|index| module.functions[index].body.as_ref().unwrap());
        super::is_cheaper(&module, body, than)
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
        let one = "mul.lo.s32 %r1, %r2, 4;";
        let two = "shl.b32 %r1, %r2, 2; mov.u32 %r3, 1;";
        assert!(is_cheaper("shl.b32 %r1, %r2, 2;", one));
        assert!(is_cheaper(one, two) && !is_cheaper(two, one));
        assert!(!is_cheaper(one, one));
    }
}
