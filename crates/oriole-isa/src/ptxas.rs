//! What `ptxas` gets wrong, or reads into PTX that the manual does not say.
//!
//! What runs on a GPU is what `ptxas` makes of the text, so a rewrite that is right by the manual can still change what a
//! kernel computes: it may make a form that `ptxas` gets wrong, or bring instructions together that it combines wrongly. Each
//! such fact is one [`Quirk`] here, with the smallest PTX that shows it, how its machine code shows it, and the rule that keeps
//! Oriole clear of it. Passes ask the functions of this module; nothing else knows. `tests/ptxas_quirks.rs` assembles each
//! example with the installed `ptxas` and fails when one no longer shows what it says here: then the entry, and the rule with
//! it, can go.
//!
//! All of this was seen with `ptxas` 13.0.88 for sm_90, and the wrong results on an H200.

use crate::mnemonic::Mnemonic;
use crate::opcode::Opcode;
use crate::scalar_type::ScalarType;

/// Something about `ptxas` that is not in the manual.
#[derive(Clone, Copy, Debug)]
pub struct Quirk {
    /// A short name.
    pub name: &'static str,
    /// What happens.
    pub summary: &'static str,
    /// The version of `ptxas` it was last seen in.
    pub seen_in: &'static str,
    /// The body of a kernel with the parameters `.u64 in` and `.u64 out`, in `%rd1` and `%rd2`, registers `%p<8>`, `%h<8>` (16 bits),
    /// `%r<16>`, `%rd<16>` and `%f<8>`, that shows it.
    pub ptx: &'static str,
    /// How it shows.
    pub shows: Shows,
    /// What Oriole does to keep clear of it.
    pub rule: &'static str,
}

/// How a quirk shows in machine code, or in that there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shows {
    /// Some line of the machine code contains all of these.
    Line(&'static [&'static str]),
    /// No line of the machine code contains all of these.
    NoLine(&'static [&'static str]),
    /// Exactly this many lines of the machine code contain all of these.
    Lines(usize, &'static [&'static str]),
    /// Not in an example this small: seen in the results of generated kernels on a GPU. The example has the shape.
    InLargerCode,
    /// `ptxas` refuses the text with a message that contains this.
    Refused(&'static str),
}

/// All of them.
pub const QUIRKS: &[Quirk] = &[
    Quirk {
        name: "partial-load",
        summary: "a load that is guarded or branched around, and whose register is undefined otherwise, is taken for one \
                  that always happens once an equal load and an equal computation follow: those are replaced by it",
        seen_in: "13.0.88",
        ptx: "mov.u32 %r1, %tid.x; mul.wide.u32 %rd3, %r1, 16; add.s64 %rd4, %rd2, %rd3;
              ld.global.u32 %r2, [%rd4]; setp.ne.u32 %p1, %r2, 0;
              @%p1 ld.global.u32 %r3, [%rd1]; @%p1 add.s32 %r4, %r3, %r1;
              ld.global.u32 %r5, [%rd1]; add.s32 %r6, %r5, %r1;
              st.global.u32 [%rd4+8], %r6; @%p1 st.global.u32 [%rd4+4], %r4;",
        // The one of `[%rd4]`, and only one of the two of `[%rd1]`.
        shows: Shows::Lines(2, &["LDG"]),
        rule: "predication leaves loads in their arms; no pass makes a load partial that was not (checked in debug builds); \
               what comes out has no more places where this happens than what went in (`oriole_analysis::ptxas_hazards`); \
               `oriole check` warns of those that are there",
    },
    Quirk {
        name: "guard-of-testp",
        summary: "a guard on `testp` is ignored",
        seen_in: "13.0.88",
        ptx: "ld.global.u32 %r1, [%rd1]; ld.global.f32 %f1, [%rd1+4]; setp.ne.u32 %p1, %r1, 0; setp.eq.u32 %p2, %r1, 7;
              @%p1 testp.normal.f32 %p2, %f1; selp.u32 %r2, 1, 0, %p2; st.global.u32 [%rd2], %r2;",
        // The predicate and what is kept where it is false come from a load that is not there.
        shows: Shows::Lines(1, &["LDG"]),
        rule: "`ignores_guard`: predication guards none; the generator makes none",
    },
    Quirk {
        name: "guard-of-set",
        summary: "a guard on `set` with a floating-point result covers the comparison and not the conversion of its result",
        seen_in: "13.0.88",
        ptx: "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4]; ld.global.f32 %f1, [%rd1+8]; setp.ne.u32 %p1, %r1, 0;
              @%p1 set.eq.f32.s32 %f1, %r2, 5; st.global.f32 [%rd2], %f1;",
        shows: Shows::NoLine(&["@", "I2F"]),
        rule: "`ignores_guard`: predication guards none; the generator makes none",
    },
    Quirk {
        name: "guard-of-packed-sum",
        summary: "a guard on `vadd4`, `vsub4` and the like with `.add` is dropped where the sum becomes `IDP.4A`",
        seen_in: "13.0.88",
        ptx: "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4]; ld.global.u32 %r3, [%rd1+8]; setp.ne.u32 %p1, %r1, 0;
              @%p1 vsub4.u32.u32.u32.add %r2, %r2, %r3, %r1; st.global.u32 [%rd2], %r2;",
        shows: Shows::NoLine(&["@", "IDP"]),
        rule: "`ignores_guard`: predication guards none; the generator makes none",
    },
    Quirk {
        name: "lop3-operand-twice",
        summary: "`lop3` with one operand twice is combined wrongly with the logic around it",
        seen_in: "13.0.88",
        ptx: "ld.global.u32 %r0, [%rd1]; ld.global.u32 %r5, [%rd1+4];
              lop3.b32 %r6, %r5, %r0, %r0, 0x53; xor.b32 %r7, %r0, %r6; st.global.u32 [%rd2], %r7;",
        // `%r7` is all ones whatever was loaded.
        shows: Shows::Line(&["LOP3.LUT", "0xd7"]),
        rule: "algebraic-simplification rewrites it as an operation on two; constants are not put into `lop3`",
    },
    Quirk {
        name: "uniform-register-across-indirect-branch",
        summary: "a value stays in a uniform register across a `brx.idx` that diverges; one arm overwrites the register before \
                  the other arm reads it",
        seen_in: "13.0.88",
        ptx: "mov.u32 %r1, %tid.x; mov.u32 %r2, %ctaid.x; and.b32 %r3, %r1, 3; mov.u32 %r4, 5;
              TABLE: .branchtargets LEFT, RIGHT, LEFT, RIGHT;
              brx.idx %r3, TABLE;
              LEFT: max.s32 %r4, 33, 63; sad.u32 %r4, %r4, %r1, %r3; bra JOIN;
              RIGHT: add.u32 %r4, %r4, %r2;
              JOIN: add.u32 %r5, %r4, %r2; st.global.u32 [%rd2], %r5;",
        shows: Shows::InLargerCode,
        rule: "no pass makes a `brx.idx` or a call; `tools/oriole-generate/compare_on_gpu.py` lists the kernels that differ",
    },
    Quirk {
        name: "tested-predicate-constant",
        summary: "a predicate that a branch has tested is taken for constant behind it, even where a loop changes it",
        seen_in: "13.0.88",
        ptx: "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4]; mov.u32 %r3, 0; mov.u32 %r4, 0; setp.ne.u32 %p1, %r1, 0;
              @%p1 bra END;
              LOOP: @%p1 bra SKIP; add.s32 %r3, %r3, %r2;
              SKIP: not.pred %p1, %p1; add.s32 %r4, %r4, 1; setp.lt.u32 %p2, %r4, %r2; @%p2 bra LOOP;
              END: st.global.u32 [%rd2], %r3;",
        shows: Shows::InLargerCode,
        rule: "leaving SSA form, predicates share a register only if they did before; the generator changes no predicate that \
               a branch around depends on",
    },
    Quirk {
        name: "comparison-loses-ftz",
        summary: "`.ftz` of a comparison is lost when the comparison is inverted or merged with another condition",
        seen_in: "13.0.88",
        ptx: "ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4];
              set.lt.ftz.s32.f32 %r1, %f1, %f2; cnot.b32 %r2, %r1; st.global.u32 [%rd2], %r2;",
        shows: Shows::NoLine(&["FSETP", ".FTZ"]),
        rule: "no pass inverts a floating-point comparison; the generator makes none with `.ftz`",
    },
    Quirk {
        name: "cnot-narrowed",
        summary: "`cnot` whose result is read by something narrower is lost; some such code crashes ptxas",
        seen_in: "13.0.88",
        ptx: "ld.global.u32 %r4, [%rd1]; ld.global.u16 %h2, [%rd1+4];
              cnot.b32 %r6, %r4; shr.u16 %h3, %h2, %r6; st.global.u16 [%rd2], %h3;",
        // What `cnot` reads is not loaded.
        shows: Shows::Lines(1, &["LDG"]),
        rule: "no pass makes a `cnot`; the generator makes none",
    },
    Quirk {
        name: "half-shift-amount",
        summary: "a 16-bit shift by a constant looks at 16 bits of the amount",
        seen_in: "13.0.88",
        ptx: "ld.global.u16 %h0, [%rd1]; shl.b16 %h0, %h0, 0x80000000; st.global.u16 [%rd2], %h0;",
        // Shifted out altogether, zero would be stored.
        shows: Shows::Line(&["LDG"]),
        rule: "`largest_immediate`: larger amounts stay in registers",
    },
    Quirk {
        name: "abs-not-negative",
        summary: "the result of `abs` is taken for non-negative by a division behind it, which that of −2³¹ is not",
        seen_in: "13.0.88",
        ptx: "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4];
              abs.s32 %r3, %r1; rem.s32 %r4, %r3, %r2; st.global.u32 [%rd2], %r4;",
        // A dividend that may be negative would be tested for it.
        shows: Shows::NoLine(&["ISETP.GE"]),
        rule: "no pass makes an integer `abs`; the generator makes none",
    },
    Quirk {
        name: "bfe-beyond-word",
        summary: "`bfe.s32` from a constant position beyond 31 gives −1 for every value instead of the sign",
        seen_in: "13.0.88",
        ptx: "ld.global.u32 %r1, [%rd1]; bfe.s32 %r2, %r1, 40, 8; st.global.u32 [%rd2], %r2;",
        shows: Shows::NoLine(&["LDG"]),
        rule: "`largest_immediate`: such positions stay in registers",
    },
    Quirk {
        name: "field-out-of-range",
        summary: "a constant position or length of a field above 255 is refused",
        seen_in: "13.0.88",
        ptx: "ld.global.u32 %r1, [%rd1]; bfi.b32 %r2, %r1, %r1, 256, 8; st.global.u32 [%rd2], %r2;",
        shows: Shows::Refused("out of range"),
        rule: "`largest_immediate`: such constants stay in registers",
    },
    Quirk {
        name: "negated-half-word",
        summary: "`neg.s16`, and `sub.s16` from zero, keep more than 16 bits: −32768 becomes 32768 for what extends the result",
        seen_in: "13.0.88",
        ptx: "ld.global.u16 %h1, [%rd1]; neg.s16 %h2, %h1; cvt.s32.s16 %r1, %h2; st.global.u32 [%rd2], %r1;",
        // The sign is extended before the negation, not after it.
        shows: Shows::Lines(1, &["PRMT"]),
        rule: "`negates_wrongly`: no pass makes a `neg.s16` or a `sub.s16` from zero",
    },
    Quirk {
        name: "high-half-of-narrow-load",
        summary: "the second 16 bits of a load of 8 or 16 bits, of which nothing else is read, are taken for the first; not of \
                  parameters and vectors, nor if `shr`, `bfe` or `prmt` takes them",
        seen_in: "13.0.88",
        ptx: "ld.global.s16 %r1, [%rd1]; mov.b32 {_, %h2}, %r1; st.global.b16 [%rd2], %h2;",
        // What is loaded is stored; its sign would be taken out with `PRMT`.
        shows: Shows::NoLine(&["PRMT"]),
        rule: "algebraic-simplification replaces what is known to be zero, and leaves conversions whose high half alone is \
               read apart from loads; what comes out has no more such places than what went in \
               (`oriole_analysis::ptxas_hazards`); `oriole check` warns of those that are there; the generator makes none",
    },
    Quirk {
        name: "high-half-of-extended-load",
        summary: "the same, with the load and the conversion that extends as it does apart",
        seen_in: "13.0.88",
        ptx: "ld.global.s8 %h1, [%rd1]; cvt.s32.s16 %r1, %h1; mov.b32 {_, %h2}, %r1; st.global.b16 [%rd2], %h2;",
        shows: Shows::NoLine(&["PRMT"]),
        rule: "see `high-half-of-narrow-load`",
    },
    Quirk {
        name: "folded-saturation",
        summary: "`add.sat.s32` and `sub.sat.s32` are folded with the wrapping sums they read, if terms cancel: the saturation is lost",
        seen_in: "13.0.88",
        ptx: "ld.global.u32 %r1, [%rd1]; ld.global.u32 %r2, [%rd1+4];
              add.s32 %r3, %r1, %r2; sub.sat.s32 %r4, %r3, %r2; st.global.u32 [%rd2], %r4;",
        // The other term is not loaded.
        shows: Shows::Lines(1, &["LDG"]),
        rule: "what comes out has no more such places than what went in (`oriole_analysis::ptxas_hazards`); `oriole check` warns \
               of those that are there; the generator makes none",
    },
    Quirk {
        name: "folded-saturation-of-constants",
        summary: "the same, if both sums add a constant: the constants are added without saturation",
        seen_in: "13.0.88",
        ptx: "ld.global.u32 %r1, [%rd1]; add.s32 %r3, %r1, 5; add.sat.s32 %r4, %r3, 7; st.global.u32 [%rd2], %r4;",
        shows: Shows::Line(&["VIADD", "0xc"]),
        rule: "see `folded-saturation`",
    },
    Quirk {
        name: "warp-result-uniform",
        summary: "the result of a vote, a reduction, `match.all` and a shuffle from one lane is taken for the same in all lanes even \
                  where parts of a warp execute the instruction at different times and get different results; so is that of any \
                  shuffle or match of what is the same in all lanes",
        seen_in: "13.0.88",
        ptx: "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 23; ld.global.u32 %r5, [%rd1]; setp.ne.u32 %p3, %r5, %r1;
              @!%p1 bra OTHER; vote.sync.ballot.b32 %r9, %p3, -1;
              OTHER: vote.sync.ballot.b32 %r3, %p3, -1; vote.sync.ballot.b32 %r4, %p1, -1;
              @%p1 bra END; vote.sync.ballot.b32 %r9, %p1, -1;
              END: red.global.add.u32 [%rd2], %r3;",
        // One lane adds its own result as often as there are lanes.
        shows: Shows::Line(&["UPOPC"]),
        rule: "`oriole_analysis::Uniformity` takes results of warp operations for different by lane; the generator lets lanes \
               that are a round apart exchange only what ptxas knows to differ by lane",
    },
    Quirk {
        name: "minimum-of-one",
        summary: "`min` and `max` of a value and itself are replaced by the value, so that a NaN keeps its payload",
        seen_in: "13.0.88",
        ptx: "ld.global.u16 %h1, [%rd1]; min.f16 %h2, %h1, %h1; st.global.u16 [%rd2], %h2;",
        shows: Shows::NoLine(&["HMNMX2"]),
        rule: "which NaN comes out is not promised: nothing that gives a NaN is folded; the generator replaces all by one",
    },
    Quirk {
        name: "products-fuse",
        summary: "a product without a rounding that a sum without one reads becomes one `fma`, which rounds once; whether it \
                  does depends on who else reads the product and where the two stand",
        seen_in: "13.0.88",
        ptx: "ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; ld.global.f32 %f3, [%rd1+8];
              mul.f32 %f4, %f1, %f2; add.f32 %f5, %f4, %f3; st.global.f32 [%rd2], %f5;",
        shows: Shows::Line(&["FFMA"]),
        rule: "`is_contractible`: what may be fused is neither commoned nor moved (`oriole_opt::fusion`); constants are folded \
               only where both ways give the same bits",
    },
];

/// Whether `ptxas` ignores the guard of an instruction, in whole or in part: quirks `guard-of-testp`, `guard-of-set`,
/// `guard-of-packed-sum`.
pub fn ignores_guard(opcode: Opcode) -> bool {
    matches!(
        opcode,
        Opcode::Set
            | Opcode::Testp
            | Opcode::Vadd4
            | Opcode::Vsub4
            | Opcode::Vavrg4
            | Opcode::Vabsdiff4
            | Opcode::Vmin4
            | Opcode::Vmax4
            | Opcode::Vset4
    )
}

/// Whether `ptxas` takes a value of this type for constant behind a branch that has tested it: quirk
/// `tested-predicate-constant`. Such values share a register only if they did before.
pub fn takes_for_constant(scalar_type: ScalarType) -> bool {
    scalar_type == ScalarType::Pred
}

/// Whether `ptxas` negates integers of so many bits wrongly: quirk `negated-half-word`.
pub fn negates_wrongly(bits: u32) -> bool {
    bits == 16
}

/// The largest constant that may be written for an operand of an instruction, counted from the result, and that means what it
/// would in a register: quirks `half-shift-amount`, `bfe-beyond-word`, `field-out-of-range`.
pub fn largest_immediate(mnemonic: &Mnemonic, operand: usize) -> u64 {
    match (mnemonic.opcode(), operand) {
        (Opcode::Shl | Opcode::Shr, 2)
            if mnemonic.first_type().map(ScalarType::bits) == Some(16) =>
        {
            0xFFFF
        }
        (Opcode::Bfe, 2) => 31,
        (Opcode::Bfe, 3) | (Opcode::Bfi, 3 | 4) => 255,
        _ => u64::MAX,
    }
}

/// Whether an instruction is a floating-point product, sum or difference without a rounding, which `ptxas` may fuse with
/// another: quirk `products-fuse`.
pub fn is_contractible(mnemonic: &Mnemonic) -> bool {
    matches!(mnemonic.opcode(), Opcode::Add | Opcode::Sub | Opcode::Mul)
        && mnemonic.modifiers().rounding.is_none()
        && mnemonic.first_type().is_some_and(|first| first.is_float())
}
