//! Products of random matrices, against what an H200 gave (`tools/oriole-generate/record_mma.py`).

use oriole_emulator::{Launch, Machine, Options, Value};

/// Registers of A, B and C.
fn registers(mnemonic: &str) -> [usize; 3] {
    let words: Vec<&str> = mnemonic.split('.').collect();
    let (shape, factors, result) = (words[3], words[7], words[6]);
    let inner: usize = shape[shape.find('k').expect("a shape") + 1..]
        .parse()
        .expect("a number");
    let a = if factors == "tf32" {
        inner / 2
    } else {
        inner / 4
    };
    [a, a / 2, if result == "f16" { 2 } else { 4 }]
}

fn list(letter: char, count: usize) -> String {
    let names: Vec<String> = (0..count)
        .map(|index| format!("%{letter}{index}"))
        .collect();
    names.join(", ")
}

/// Each thread loads its words of A, B and C from `in` and stores those of D to `out`.
fn kernel(mnemonic: &str) -> String {
    let [a, b, c] = registers(mnemonic);
    let mut body = String::new();
    let mut offset = 0;
    for (letter, count) in [('a', a), ('b', b), ('c', c)] {
        for index in 0..count {
            body += &format!("ld.global.u32 %{letter}{index}, [%i+{offset}];\n");
            offset += 4;
        }
    }
    let (d, a, b, operands) = (list('d', c), list('a', a), list('b', b), list('c', c));
    body += &format!("{mnemonic} {{{d}}}, {{{a}}}, {{{b}}}, {{{operands}}};\n");
    for index in 0..c {
        body += &format!("st.global.u32 [%o+{}], %d{index};\n", 4 * index);
    }
    format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n\
         .visible .entry k(.param .u64 in, .param .u64 out)\n{{\n\
         .reg .b64 %i, %o; .reg .b32 %t, {a}, {b}, {operands}, {d};\n\
         ld.param.u64 %i, [in]; ld.param.u64 %o, [out]; mov.u32 %t, %tid.x;\n\
         mad.wide.u32 %i, %t, {offset}, %i; mad.wide.u32 %o, %t, {}, %o;\n{body}ret;\n}}\n",
        4 * c
    )
}

fn words(text: &str) -> Vec<u32> {
    text.split(' ')
        .map(|word| u32::from_str_radix(word, 16).expect("a word"))
        .collect()
}

#[test]
fn matrices_are_multiplied_as_recorded() {
    let mut products = 0;
    let recording = include_str!("data/mma_h200.txt");
    for line in recording.lines().filter(|line| !line.starts_with('#')) {
        let (left, right) = line.split_once(" = ").expect("a result");
        let (mnemonic, inputs) = left.split_once(' ').expect("operands");
        let (inputs, expected) = (words(inputs), words(right));
        let (module, errors) = oriole_syntax::parse("mma.ptx", kernel(mnemonic));
        assert!(errors.is_empty(), "{errors:?}");
        let mut machine = Machine::new(&module).expect("a valid module");
        let bytes: Vec<u8> = inputs.iter().flat_map(|word| word.to_le_bytes()).collect();
        let input = machine.buffer("in", &bytes);
        let output = machine.buffer("out", &vec![0; 4 * expected.len()]);
        let launch = Launch {
            kernel: "k",
            grid: [1; 3],
            block: [32, 1, 1],
            dynamic_shared: 0,
            arguments: vec![Value::Buffer(input), Value::Buffer(output)],
        };
        machine
            .launch(&launch, &Options::default())
            .expect("the kernel runs");
        let found: Vec<u32> = machine
            .read(output)
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().expect("four bytes")))
            .collect();
        assert_eq!(found, expected, "{mnemonic}");
        products += 1;
    }
    assert_eq!(products, 24);
}
