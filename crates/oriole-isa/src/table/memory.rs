//! Synchronous memory access: loads, stores, atomics, cache control, the stack.

use super::*;

const ACCESS: Accepts = TYPE
    .and(SPACE)
    .and(MEMORY_ORDER)
    .and(Accepts::CACHE_OPERATOR)
    .and(Accepts::EVICTION)
    .and(Accepts::PREFETCH)
    .and(Accepts::VECTOR)
    .and(CACHE_HINT)
    .and(Accepts::flag(Flag::MemoryMapped));
const ATOMIC: Accepts = TYPE
    .and(SPACE)
    .and(MEMORY_ORDER)
    .and(Accepts::OPERATION)
    .and(Accepts::VECTOR)
    .and(CACHE_HINT)
    .and(NO_FTZ);
const POLICY: Accepts = TYPE.and(SPACE).and(Accepts::EVICTION);

pub(super) static ENTRIES: &[Entry] = &[
    Entry::new(
        Opcode::Ld,
        &["ld"],
        ACCESS.and(Accepts::flag(Flag::NonCoherent)),
        &[form(&[D, READ])],
    )
    .words(&["unified"])
    .in_space(Space::Generic),
    Entry::new(Opcode::Ldu, &["ldu"], ACCESS, &[form(&[D, READ])]).in_space(Space::Generic),
    Entry::new(Opcode::St, &["st"], ACCESS, &[form(&[WRITE, U])]).in_space(Space::Generic),
    Entry::new(
        Opcode::StBulk,
        &["st.bulk"],
        SPACE.and(Accepts::SEMANTICS),
        &[form(&[WRITE, U_64, U_64])],
    )
    .in_space(Space::Generic),
    Entry::new(
        Opcode::Atom,
        &["atom"],
        ATOMIC,
        &[form(&[D, READ_WRITE, U]), form(&[D, READ_WRITE, U, U])],
    )
    .in_space(Space::Generic),
    Entry::new(Opcode::Red, &["red"], ATOMIC, &[form(&[READ_WRITE, U])]).in_space(Space::Generic),
    // Multicast memory.
    Entry::new(
        Opcode::MultimemLdReduce,
        &["multimem.ld_reduce"],
        ATOMIC,
        &[form(&[D, READ])],
    )
    .words(&["acc::f32", "acc::f16"])
    .in_space(Space::Generic),
    Entry::new(
        Opcode::MultimemSt,
        &["multimem.st"],
        ATOMIC,
        &[form(&[WRITE, U])],
    )
    .in_space(Space::Generic),
    Entry::new(
        Opcode::MultimemRed,
        &["multimem.red"],
        ATOMIC,
        &[form(&[READ_WRITE, U])],
    )
    .in_space(Space::Generic),
    // Cache control.
    Entry::new(
        Opcode::Prefetch,
        &["prefetch"],
        SPACE.and(Accepts::EVICTION),
        &[form(&[ADDRESS])],
    )
    .words(&["L1", "L2", "tensormap"])
    .in_space(Space::Generic),
    Entry::new(
        Opcode::Prefetchu,
        &["prefetchu"],
        SPACE,
        &[form(&[ADDRESS])],
    )
    .words(&["L1"])
    .in_space(Space::Generic),
    Entry::new(
        Opcode::Applypriority,
        &["applypriority"],
        SPACE.and(Accepts::EVICTION),
        &[form(&[ADDRESS, IMMEDIATE])],
    )
    .in_space(Space::Generic),
    Entry::new(
        Opcode::Discard,
        &["discard"],
        SPACE,
        &[form(&[WRITE, IMMEDIATE])],
    )
    .words(&["L2"])
    .in_space(Space::Generic),
    Entry::new(
        Opcode::Createpolicy,
        &["createpolicy.fractional", "createpolicy"],
        POLICY,
        &[form(&[D_64]), form(&[D_64, U_ANY])],
    )
    .words(SECONDARY_PRIORITIES),
    Entry::new(
        Opcode::Createpolicy,
        &["createpolicy.range"],
        POLICY,
        &[form(&[D_64, ADDRESS, U_32, U_32])],
    )
    .words(SECONDARY_PRIORITIES),
    Entry::new(
        Opcode::Createpolicy,
        &["createpolicy.cvt"],
        TYPE,
        &[form(&[D_64, U_64])],
    )
    .words(&["L2"]),
    // Stack.
    Entry::new(Opcode::Stacksave, &["stacksave"], TYPE, &[form(&[D])]),
    Entry::new(Opcode::Stackrestore, &["stackrestore"], TYPE, &[form(&[U])]),
    Entry::new(
        Opcode::Alloca,
        &["alloca"],
        TYPE,
        &[form(&[D, U]), form(&[D, U, IMMEDIATE])],
    ),
];

/// `createpolicy` names two L2 priorities; the first is decoded.
const SECONDARY_PRIORITIES: &[&str] = &["L2::evict_first", "L2::evict_unchanged"];
