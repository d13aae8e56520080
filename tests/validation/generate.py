#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 OR MIT
"""Writes microbenchmarks.ptx: kernels with one memory instruction each (two for local memory), whose addresses are known.

    generate.py [-o microbenchmarks.ptx]

Every kernel takes `data` (a buffer), `out` (never written: it keeps loads alive) and `n`, a number that is 0. Its name says what it does:
operation, space, type and pattern of addresses. `.reqntid` says how it is launched, with one block.
"""

import argparse
import pathlib
import re

# Patterns --------------------------------------------------------------------------------------------------------------
# Text that makes a byte offset %o from the number of the thread %t, for accesses of `w` bytes. %u and %v are scratch.


def stride(count):
    return lambda w: f"mul.lo.u32 %o, %t, {count * w};"


def stride_bytes(count):
    return lambda w: f"mul.lo.u32 %o, %t, {count};"


def shifted(count):
    return lambda w: f"mad.lo.u32 %o, %t, {w}, {count * w};"


def shifted_bytes(count):
    return lambda w: f"mad.lo.u32 %o, %t, {w}, {count};"


def masked(bits):
    return lambda w: f"and.b32 %o, %t, {bits}; mul.lo.u32 %o, %o, {w};"


def halved(shift):
    return lambda w: f"shr.u32 %o, %t, {shift}; mul.lo.u32 %o, %o, {w};"


def exclusive(bits):
    return lambda w: f"xor.b32 %o, %t, {bits}; mul.lo.u32 %o, %o, {w};"


def reverse(w):
    return f"sub.u32 %o, 31, %t; mul.lo.u32 %o, %o, {w};"


def bits_reversed(w):
    return f"brev.b32 %o, %t; shr.u32 %o, %o, 27; mul.lo.u32 %o, %o, {w};"


def rotated(w):
    return f"shr.u32 %o, %t, 3; shl.b32 %u, %t, 2; and.b32 %u, %u, 31; or.b32 %o, %o, %u; mul.lo.u32 %o, %o, {w};"


def multiplied(factor):
    return lambda w: f"mul.lo.u32 %o, %t, {factor}; and.b32 %o, %o, 31; mul.lo.u32 %o, %o, {w};"


def remainder(divisor, step):
    return lambda w: f"rem.u32 %o, %t, {divisor}; mul.lo.u32 %o, %o, {step * w};"


def quotient(divisor, step):
    return lambda w: f"div.u32 %o, %t, {divisor}; mul.lo.u32 %o, %o, {step * w};"


def squares(w):
    return f"mul.lo.u32 %o, %t, %t; mul.lo.u32 %o, %o, {w};"


def rows(columns, pitch):
    """Rows of so many elements, `pitch` bytes apart."""
    shift = columns.bit_length() - 1
    return lambda w: f"shr.u32 %u, %t, {shift}; and.b32 %v, %t, {columns - 1}; mul.lo.u32 %u, %u, {pitch}; mad.lo.u32 %o, %v, {w}, %u;"


def swizzled(columns, pitch, bits):
    """As `rows`, with the column's number xored with the row's."""
    shift = columns.bit_length() - 1
    return lambda w: (
        f"shr.u32 %u, %t, {shift}; and.b32 %v, %t, {columns - 1}; and.b32 %o, %u, {bits}; xor.b32 %v, %v, %o; "
        f"mul.lo.u32 %u, %u, {pitch}; mad.lo.u32 %o, %v, {w}, %u;"
    )


def two_ends(w):
    """Odd lanes far from even ones."""
    return f"and.b32 %u, %t, 1; shr.u32 %v, %t, 1; mul.lo.u32 %v, %v, {w}; mad.lo.u32 %o, %u, 4096, %v;"


def half_paired(w):
    """Pairs of lanes agree in the first half of a warp only."""
    return f"setp.lt.u32 %p, %t, 16; shr.u32 %o, %t, 1; selp.b32 %o, %o, %t, %p; mul.lo.u32 %o, %o, {w};"


def nearly_paired(w):
    """Pairs of lanes agree, but for one."""
    return f"setp.eq.u32 %p, %t, 31; shr.u32 %o, %t, 1; selp.b32 %o, 17, %o, %p; mul.lo.u32 %o, %o, {w};"


def paired_in_two_ways(w):
    """Lanes l and l^1 agree in every other group of eight, lanes l and l^2 in the rest."""
    return (
        "and.b32 %u, %t, 8; setp.eq.u32 %p, %u, 0; shr.u32 %u, %t, 1; and.b32 %v, %u, 2; and.b32 %q, %t, 1; or.b32 %v, %v, %q; "
        f"and.b32 %q, %u, 12; or.b32 %v, %v, %q; selp.b32 %o, %u, %v, %p; mul.lo.u32 %o, %o, {w};"
    )


PATTERNS = {
    **{f"stride{n}": stride(n) for n in (0, 1, 2, 3, 4, 5, 7, 8, 16, 31, 32, 33)},
    **{f"step{n}": stride_bytes(n) for n in (16, 20, 24, 28, 32, 48, 64, 96, 128, 144, 160, 256)},
    **{f"from{n}": shifted(n) for n in (1, 2, 3, 4, 5, 7)},
    **{f"at{n}": shifted_bytes(n) for n in (16, 32, 48, 112)},
    **{f"and{n}": masked(n) for n in (1, 3, 7, 15, 16, 24, 28, 29, 30)},
    **{f"shr{n}": halved(n) for n in (1, 2, 3, 4)},
    **{f"xor{n}": exclusive(n) for n in (1, 5, 16, 31)},
    "reverse": reverse,
    "brev": bits_reversed,
    "rotate": rotated,
    "times5": multiplied(5),
    "times11": multiplied(11),
    "rem3": remainder(3, 32),
    "rem5": remainder(5, 8),
    "div3": quotient(3, 1),
    "div7": quotient(7, 9),
    "squares": squares,
    "rows8x128": rows(8, 128),
    "rows4x64": rows(4, 64),
    "rows4x80": rows(4, 80),
    "rows2x128": rows(2, 128),
    "rows2x144": rows(2, 144),
    "rows16x1024": rows(16, 1024),
    "swizzle8x128": swizzled(8, 128, 7),
    "swizzle4x64": swizzled(4, 64, 3),
    "swizzle8x256": swizzled(8, 256, 7),
    "swizzle2x128": swizzled(2, 128, 1),
    "ends": two_ends,
}

# For accesses of 8 and 16 bytes.
PAIRS = {"halfpaired": half_paired, "nearpaired": nearly_paired, "twoways": paired_in_two_ways}

# Which lanes take part: text that makes the predicate %g, and its name.
MASKS = {
    "": "",
    "first1": "setp.lt.u32 %g, %t, 1;",
    "first5": "setp.lt.u32 %g, %t, 5;",
    "first8": "setp.lt.u32 %g, %t, 8;",
    "first17": "setp.lt.u32 %g, %t, 17;",
    "first31": "setp.lt.u32 %g, %t, 31;",
    "from16": "setp.ge.u32 %g, %t, 16;",
    "even": "and.b32 %u, %t, 1; setp.eq.u32 %g, %u, 0;",
    "fourth": "and.b32 %u, %t, 3; setp.eq.u32 %g, %u, 0;",
    "eighth": "and.b32 %u, %t, 7; setp.eq.u32 %g, %u, 5;",
    "half": "and.b32 %u, %t, 4; setp.ne.u32 %g, %u, 0;",
}

# Types -----------------------------------------------------------------------------------------------------------------
# Name, bytes, vector suffix, scalar type.
TYPES = {
    "b8": (1, "", "b8"),
    "b16": (2, "", "b16"),
    "b32": (4, "", "b32"),
    "b64": (8, "", "b64"),
    "v2b8": (2, ".v2", "b8"),
    "v4b8": (4, ".v4", "b8"),
    "v2b16": (4, ".v2", "b16"),
    "v4b16": (8, ".v4", "b16"),
    "v2b32": (8, ".v2", "b32"),
    "v4b32": (16, ".v4", "b32"),
    "v2b64": (16, ".v2", "b64"),
}
REGISTER = {"b8": "%h", "b16": "%h", "b32": "%r", "b64": "%d"}

HEAD = """//
// Written by generate.py: do not edit.
//
.version 8.0
.target sm_90
.address_size 64
"""


class Writer:
    def __init__(self):
        self.kernels = {}

    def kernel(self, name, body, block="32", variables=""):
        assert name not in self.kernels, name
        text = f".visible .entry {name}(.param .u64 data, .param .u64 out, .param .u32 n)\n.reqntid {block}\n{{\n"
        lines = variables + "mov.u32 %t, %tid.x;\n" + "".join(line + "\n" for line in body if line) + "ret;\n}\n"
        used = set(re.findall(r"%[a-z]\d?\b", lines))
        for kind, letters in (("pred", "gp"), ("b16", "h"), ("b32", "rtouvxysq"), ("b64", "dab")):
            names = sorted(register for register in used if register[1] in letters)
            if names:
                text += f".reg .{kind} {', '.join(names)};\n"
        text += lines
        self.kernels[name] = text

    def text(self):
        return HEAD + "".join(self.kernels.values())


def operand(kind):
    _, vector, scalar = TYPES[kind]
    count = int(vector[2:]) if vector else 1
    names = [f"{REGISTER[scalar]}{i}" for i in range(count)]
    return names, names[0] if count == 1 else "{" + ", ".join(names) + "}"


def sink(kind):
    """Keeps loaded values alive: a store that never happens, as `data` holds zeros."""
    names, _ = operand(kind)
    scalar = TYPES[kind][2]
    width = {"b8": "b16"}.get(scalar, scalar)
    lines = [f"or.{width} {names[0]}, {names[0]}, {name};" for name in names[1:]]
    return lines + [f"setp.eq.{width.replace('b', 's')} %p, {names[0]}, 77;", "@%p bra NEVER;", "ret;", "NEVER:", "ld.param.u64 %b, [out];", "st.global.u32 [%b], %t;"]


def constants(kind):
    """What is stored: numbers of threads."""
    names, _ = operand(kind)
    scalar = TYPES[kind][2]
    convert = {"b8": "cvt.u16.u32", "b16": "cvt.u16.u32", "b32": "mov.u32", "b64": "cvt.u64.u32"}[scalar]
    return [f"{convert} {name}, %t;" for name in names]


# Where an offset is added to, by space: text that makes an address, and the address.
def address(space, offset="%o"):
    if space == "global":
        return ["ld.param.u64 %a, [data];", "cvta.to.global.u64 %a, %a;", f"cvt.u64.u32 %b, {offset};", "add.u64 %a, %a, %b;"], "%a"
    if space == "generic":
        return ["ld.param.u64 %a, [data];", f"cvt.u64.u32 %b, {offset};", "add.u64 %a, %a, %b;"], "%a"
    if space == "either":  # shared memory, but nobody can tell
        return [
            "ld.param.u64 %a, [data];", "ld.param.u32 %x, [n];", "mov.u64 %b, memory;", "cvta.shared.u64 %b, %b;",
            "setp.ne.u32 %p, %x, 0;", "selp.b64 %a, %a, %b, %p;", f"cvt.u64.u32 %b, {offset};", "add.u64 %a, %a, %b;",
        ], "%a"
    return ["mov.u32 %x, memory;", f"add.u32 %x, %x, {offset};"], "%x"


VARIABLES = {
    "shared": ".shared .align 128 .b8 memory[40960];\n",
    "local": ".local .align 16 .b8 memory[2048];\n",
    "either": ".shared .align 128 .b8 memory[40960];\n",
}


def access(writer, operation, space, kind, pattern, mask="", modifier=""):
    """A load or a store."""
    width, vector, scalar = TYPES[kind]
    _, values = operand(kind)
    lines, where = address(space)
    written = "" if space in ("generic", "either") else f".{space}"
    guard = "@%g " if mask else ""
    lines = [MASKS[mask], (PATTERNS | PAIRS)[pattern](width)] + lines
    if operation == "ld":
        names, _ = operand(kind)
        first = [f"mov.{'b16' if scalar == 'b8' else scalar} {name}, 0;" for name in names] if mask else []
        lines += first + [f"{guard}ld{written}{modifier}{vector}.{scalar} {values}, [{where}];"] + sink(kind)
    else:
        lines += constants(kind) + [f"{guard}st{written}{modifier}{vector}.{scalar} [{where}], {values};"]
    name = f"{operation}_{space}{modifier.replace('.', '_')}_{kind}_{pattern}" + (f"_{mask}" if mask else "")
    writer.kernel(name, lines, variables=VARIABLES.get(space, ""))


def atomic(writer, operation, space, what, kind, pattern, mask=""):
    width = int(kind[1:]) // 8
    register = "%d" if width == 8 else "%r"
    lines, where = address(space)
    written = "" if space == "generic" else f".{space}"
    guard = "@%g " if mask else ""
    convert = "cvt.u64.u32" if width == 8 else "mov.u32"
    lines = [MASKS[mask], PATTERNS[pattern](width)] + lines + [f"{convert} {register}1, %t;", f"mov.b{8 * width} {register}2, 3;"]
    values = f"{register}1, {register}2" if what == "cas" else f"{register}1"
    if operation == "atom":
        result = f"b{8 * width}"
        first = [f"mov.{result} {register}0, 0;"] if mask else []
        lines += first + [f"{guard}atom{written}.{what}.{kind} {register}0, [{where}], {values};"]
        lines += [f"setp.eq.s{8 * width} %p, {register}0, -77;", "@%p bra NEVER;", "ret;", "NEVER:", "ld.param.u64 %b, [out];", "st.global.u32 [%b], %t;"]
    else:
        lines += [f"{guard}red{written}.{what}.{kind} [{where}], {values};"]
    name = f"{operation}_{space}_{what}_{kind}_{pattern}" + (f"_{mask}" if mask else "")
    writer.kernel(name, lines, variables=VARIABLES.get(space, ""))


def copy(writer, cache, width, pattern, target, mask=""):
    """cp.async: a load by one pattern, a store by another."""
    guard = "@%g " if mask else ""
    lines = [MASKS[mask], PATTERNS[pattern](width), "mov.u32 %q, %o;", PATTERNS[target](width)]
    lines += address("global", "%q")[0] + address("shared")[0]
    lines += [f"{guard}cp.async.{cache}.shared.global [%x], [%a], {width};", "cp.async.wait_all;"]
    name = f"cp_async_{cache}_{width}_{pattern}_to_{target}" + (f"_{mask}" if mask else "")
    writer.kernel(name, lines, variables=VARIABLES["shared"])


def matrix(writer, operation, count, pattern, transposed=False):
    names = [f"%r{i}" for i in range(count)]
    values = "{" + ", ".join(names) + "}"
    lines = [PATTERNS[pattern](16)] + address("shared")[0]
    suffix = f".sync.aligned.m8n8.x{count}{'.trans' if transposed else ''}.shared.b16"
    if operation == "ldmatrix":
        lines += [f"ldmatrix{suffix} {values}, [%x];"]
        lines += [f"or.b32 %r0, %r0, {name};" for name in names[1:]]
        lines += ["setp.eq.s32 %p, %r0, 77;", "@%p bra NEVER;", "ret;", "NEVER:", "ld.param.u64 %b, [out];", "st.global.u32 [%b], %t;"]
    else:
        lines += [f"mov.u32 {name}, %t;" for name in names] + [f"stmatrix{suffix} [%x], {values};"]
    name = f"{operation}_x{count}{'_trans' if transposed else ''}_{pattern}"
    writer.kernel(name, lines, variables=VARIABLES["shared"])


def local(writer, kind, pattern):
    """A store and then a load elsewhere: what was stored must not be known."""
    width, vector, scalar = TYPES[kind]
    _, values = operand(kind)
    lines = [PATTERNS[pattern](width), "and.b32 %o, %o, 1008;" if width == 16 else f"and.b32 %o, %o, {1024 - width};", "ld.param.u32 %y, [n];", "add.u32 %o, %o, %y;"]
    lines += address("local")[0] + constants(kind)
    lines += [f"st.local{vector}.{scalar} [%x], {values};", f"ld.local{vector}.{scalar} {values}, [%x+1024];"] + sink(kind)
    writer.kernel(f"local_{kind}_{pattern}", lines, variables=VARIABLES["local"])


def plane(writer, operation, space, kind, block, by_x, by_y):
    """Blocks of several rows: `by_x` and `by_y` are bytes from thread to thread."""
    _, vector, scalar = TYPES[kind]
    _, values = operand(kind)
    lines, where = address(space)
    lines = ["mov.u32 %u, %tid.y;", f"mul.lo.u32 %v, %u, {by_y};", f"mad.lo.u32 %o, %t, {by_x}, %v;"] + lines
    if operation == "ld":
        lines += [f"ld.{space}{vector}.{scalar} {values}, [{where}];"] + sink(kind)
    else:
        lines += constants(kind) + [f"st.{space}{vector}.{scalar} [{where}], {values};"]
    name = f"{operation}_{space}_{kind}_block{block.replace(', ', 'x')}_{by_x}_{by_y}"
    writer.kernel(name, lines, block=block, variables=VARIABLES.get(space, ""))


# The list --------------------------------------------------------------------------------------------------------------


def generate() -> str:
    writer = Writer()
    for index, pattern in enumerate(PATTERNS):
        for space in ("global", "shared"):
            access(writer, "ld", space, "b32", pattern)
            if index % 2 == 0:
                access(writer, "st", space, "b32", pattern)
    narrow = ("stride0", "stride1", "stride2", "stride31", "stride32", "from1", "from3", "and15", "and30", "shr2", "brev", "ends")
    for kind in ("b8", "b16"):
        for index, pattern in enumerate(narrow):
            access(writer, "ld", "global", kind, pattern)
            access(writer, "ld", "shared", kind, pattern)
            access(writer, "st", ("global", "shared")[index % 2], kind, pattern)
    # Which lanes of wide accesses go together: lanes that agree with others, and sectors that several quarters of a warp touch.
    together = ("stride0", "stride1", "stride2", "from1", "and1", "and7", "and15", "and16", "and28", "and29", "and30", "shr1", "shr2", "shr3")
    wide = ("stride3", "stride4", "stride5", "stride8", "stride33", "from2", "and3", "and24", "shr4", "xor5", "reverse", "brev", "rotate", "rem3", "squares", "rows8x128", "rows4x80", "rows2x144", "swizzle8x128", "swizzle8x256", "ends")
    for kind in ("v2b32", "v4b32"):
        for space in ("global", "shared"):
            for pattern in together + wide:
                access(writer, "ld", space, kind, pattern)
            for pattern in together:
                access(writer, "st", space, kind, pattern)
    for kind in ("b64", "v2b64", "v2b8", "v4b8", "v2b16", "v4b16"):
        for pattern in ("stride1", "stride2"):
            access(writer, "ld", "global", kind, pattern)
            access(writer, "ld", "shared", kind, pattern)
    for modifier in (".nc", ".ca", ".cg", ".cs", ".cv"):
        access(writer, "ld", "global", "b32", "stride2", modifier=modifier)
        access(writer, "ld", "global", "v4b32", "from1", modifier=modifier)
    for modifier in (".cg", ".wt"):
        access(writer, "st", "global", "v4b32", "from1", modifier=modifier)
    for mask in list(MASKS)[1:]:
        for kind in ("b32", "v2b32", "v4b32"):
            access(writer, "ld", "global", kind, "stride1", mask)
            access(writer, "ld", "shared", kind, "stride1", mask)
        access(writer, "ld", "shared", "v4b32", "stride2", mask)
        access(writer, "st", "shared", "b32", "stride4", mask)
    for kind in ("b32", "v4b32"):
        for pattern in ("stride0", "stride1", "stride2", "from1"):
            access(writer, "ld", "generic", kind, pattern)
    access(writer, "st", "generic", "b32", "stride2")
    access(writer, "st", "generic", "b8", "stride32")
    for pattern in ("stride1", "stride2", "stride32"):
        access(writer, "ld", "either", "b32", pattern)
    for pattern in ("stride0", "stride1", "stride2", "stride32", "and15", "shr1"):
        for operation, what, kind in (("atom", "add", "u32"), ("red", "add", "u32"), ("atom", "exch", "b32"), ("atom", "cas", "b64"), ("red", "add", "u64")):
            atomic(writer, operation, "global", what, kind, pattern)
            if (what, kind) != ("add", "u64"):
                atomic(writer, operation, "shared", what, kind, pattern)
    for space in ("global", "shared"):
        atomic(writer, "atom", space, "exch", "b32", "stride2", "even")
        atomic(writer, "red", space, "max", "s32", "stride4")
    atomic(writer, "atom", "generic", "exch", "b32", "stride2")
    for cache, width in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
        for pattern in ("stride1", "stride2", "from1", "and7"):
            for target in ("stride1", "stride2", "swizzle8x128"):
                copy(writer, cache, width, pattern, target)
        copy(writer, cache, width, "stride0", "stride8")
        copy(writer, cache, width, "stride8", "stride0")
        copy(writer, cache, width, "stride1", "stride1", "even")
    rows_of = ("stride0", "stride1", "stride2", "stride4", "stride5", "stride8", "and7", "and24", "brev", "swizzle8x128", "step144")
    for pattern in rows_of:
        for count in (1, 2, 4):
            matrix(writer, "ldmatrix", count, pattern)
        matrix(writer, "stmatrix", 4, pattern)
    matrix(writer, "stmatrix", 1, "stride2")
    matrix(writer, "stmatrix", 2, "stride2")
    matrix(writer, "ldmatrix", 4, "stride2", True)
    matrix(writer, "stmatrix", 4, "stride2", True)
    for kind in ("b8", "b16", "b32", "v2b32", "v4b32"):
        for pattern in ("stride0", "stride1", "and1", "and15", "shr3", "brev"):
            local(writer, kind, pattern)
    for kind, width in (("b32", 4), ("v4b32", 16)):
        for block in ("64", "16, 16", "8, 8", "48", "5, 7"):
            for by_x, by_y in ((width, 32 * width), (32 * width, width), (width, 33 * width)):
                plane(writer, "ld", "global", kind, block, by_x, by_y)
                plane(writer, "ld", "shared", kind, block, by_x, by_y)
    settle(writer)
    return writer.text()


def settle(writer):
    """What the others left open."""
    for kind in ("v2b32", "v4b32"):
        for pattern in PAIRS:
            access(writer, "ld", "shared", kind, pattern)
        for mask in ("even", "fourth", "first31", "first17", "half"):
            access(writer, "ld", "shared", kind, "shr1", mask)
        access(writer, "ld", "shared", kind, "stride0", "fourth")
        access(writer, "st", "shared", kind, "shr1", "even")
    for pattern in ("stride0", "stride1", "stride2", "and15", "shr1"):
        atomic(writer, "atom", "shared", "cas", "b32", pattern)
        atomic(writer, "atom", "shared", "exch", "b64", pattern)
    for what, kind in (("min", "u32"), ("and", "b32"), ("inc", "u32")):
        atomic(writer, "atom", "shared", what, kind, "and15")
        atomic(writer, "red", "shared", what, kind, "stride2")
    atomic(writer, "atom", "shared", "cas", "b64", "stride1", "even")
    copies = (
        ("stride1", "from1"), ("stride1", "at48"), ("swizzle8x128", "stride1"), ("shr1", "stride1"), ("brev", "times5"), ("rows4x80", "stride1"), ("and30", "stride1"), ("squares", "stride1"),
        ("stride1", "rows4x80"), ("times11", "xor5"),
    )
    for cache, width in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16)):
        for pattern, target in copies:
            copy(writer, cache, width, pattern, target)
        copy(writer, cache, width, "stride1", "stride2", "first5")
        copy(writer, cache, width, "stride2", "swizzle8x128", "half")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent / "microbenchmarks.ptx")
    parser.parse_args().output.write_text(generate())


if __name__ == "__main__":
    main()
