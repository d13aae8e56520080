//! Compares a recording with `evaluate`.

use std::collections::BTreeMap;

use oriole_isa::{Bits, Flag, Opcode, ScalarType, approximate, evaluate, evaluate_video, extend};

use super::{Form, VECTORS, candidates, inputs, inputs_hash, recorded_bytes, register_bits};

/// What a replay found.
pub struct Report {
    /// The machine of the recording.
    pub device: String,
    /// Forms compared.
    pub forms: usize,
    /// Vectors compared bit for bit.
    pub exact: usize,
    /// Vectors of approximations, compared within their error.
    pub approximate: usize,
    /// Vectors that `evaluate` leaves open on purpose.
    pub open: usize,
    /// One line per form with mismatches: how many, and the first.
    pub failures: Vec<String>,
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count);
        self.0 = rest;
        taken
    }

    fn number(&mut self, bytes: usize) -> u64 {
        let taken = self.take(bytes).iter().rev();
        taken.fold(0, |value, &byte| value << 8 | u64::from(byte))
    }

    fn text(&mut self, bytes: usize) -> String {
        String::from_utf8(self.take(bytes).to_vec()).expect("recorded text")
    }
}

/// Replays a recording and shows that many mismatches of each form. Panics when it is not one, or was made of other inputs.
pub fn replay(compressed: &[u8], shown: usize) -> Report {
    let recording =
        miniz_oxide::inflate::decompress_to_vec_zlib(compressed).expect("a compressed recording");
    let mut reader = Reader(&recording);
    assert_eq!(reader.take(16), b"oriole-vectors-1", "not a recording");
    let hash = reader.number(8);
    assert_eq!(
        reader.number(4),
        VECTORS as u64,
        "another number of vectors"
    );
    let count = reader.number(4) as usize;
    let length = reader.number(2) as usize;
    let device = reader.text(length);

    let known: BTreeMap<String, Form> = candidates()
        .into_iter()
        .map(|form| (form.key.clone(), form))
        .collect();
    let mut report = Report {
        device,
        forms: 0,
        exact: 0,
        approximate: 0,
        open: 0,
        failures: Vec::new(),
    };
    let mut signatures: BTreeMap<Vec<&str>, Vec<ScalarType>> = BTreeMap::new();
    for _ in 0..count {
        let length = reader.number(2) as usize;
        let key = reader.text(length);
        let form = known
            .get(&key)
            .unwrap_or_else(|| panic!("{key} is recorded but no candidate"));
        signatures.insert(
            form.inputs.iter().map(|input| input.text()).collect(),
            form.inputs.clone(),
        );
        let columns = reader.number(1) as usize;
        let widths: Vec<usize> = reader
            .take(columns)
            .iter()
            .map(|&width| width.into())
            .collect();
        let expected: Vec<usize> = form
            .outputs
            .iter()
            .map(|&output| recorded_bytes(output))
            .collect();
        assert_eq!(widths, expected, "{key}: other outputs are recorded");
        let recorded: Vec<Vec<u64>> = widths
            .iter()
            .map(|&width| (0..VECTORS).map(|_| reader.number(width)).collect())
            .collect();
        compare(form, &recorded, shown, &mut report);
    }
    assert!(reader.0.is_empty(), "bytes left over in the recording");
    assert_eq!(
        hash,
        inputs_hash(signatures.values().map(|signature| &signature[..])),
        "the inputs have changed since the recording"
    );
    report
}

fn compare(form: &Form, recorded: &[Vec<u64>], shown: usize, report: &mut Report) {
    report.forms += 1;
    let mut mismatches = 0;
    let mut first = String::new();
    for (row, values) in inputs(&form.inputs).into_iter().enumerate() {
        let actual: Vec<u64> = recorded.iter().map(|column| column[row]).collect();
        let expected = match expectation(form, &values) {
            Expectation::Exact(expected) => {
                report.exact += 1;
                if expected == actual {
                    continue;
                }
                expected
            }
            Expectation::Near(expected) => {
                report.approximate += 1;
                if close(form, &values, expected[0], actual[0]) {
                    continue;
                }
                expected
            }
            Expectation::Open => {
                report.open += 1;
                continue;
            }
        };
        mismatches += 1;
        if mismatches <= shown {
            first += &format!("; {values:x?} gives {actual:x?}, not {expected:x?}");
        }
    }
    if mismatches > 0 {
        report
            .failures
            .push(format!("{}: {mismatches} of {VECTORS}{first}", form.key));
    }
}

enum Expectation {
    Exact(Vec<u64>),
    Near(Vec<u64>),
    Open,
}

fn expectation(form: &Form, values: &[u64]) -> Expectation {
    let mut operands: Vec<Bits> = values.iter().map(|&value| value.into()).collect();
    if let Some(immediate) = form.immediate {
        operands.insert(3, immediate.into());
    }
    let mnemonic = &form.mnemonic;
    // The flag was set and read by subtractions, which say whether they borrow; the flag itself is the opposite.
    let borrows = form.flag == super::Flag::Subtraction;
    if borrows
        && mnemonic.effects().reads_carry
        && let Some(flag) = operands.last_mut()
    {
        *flag ^= 1;
    }
    let result = match &form.video {
        Some(video) => evaluate_video(mnemonic, &operands, video),
        None => evaluate(mnemonic, &operands),
    };
    let registers = |outputs: oriole_isa::Outputs| -> Vec<u64> {
        let carry = outputs.carry.map(|carry| Bits::from(carry != borrows));
        let values = outputs.values().iter().copied().chain(carry);
        values
            .zip(&form.outputs)
            .map(|(value, &output)| extend(value, output, register_bits(output)) as u64)
            .collect()
    };
    if let Some(outputs) = result {
        return Expectation::Exact(registers(outputs));
    }
    match mnemonic.opcode() {
        // Where the manual and the machine differ.
        _ if form.video.is_some() => Expectation::Open,
        // Division by zero and `fns` beyond its mask are the machine's choice: execution knows, folding does not.
        Opcode::Fns | Opcode::Div | Opcode::Rem
            if mnemonic.first_type().is_some_and(|first| !first.is_float()) =>
        {
            let outputs = approximate(mnemonic, &operands).expect("the machine's choice");
            Expectation::Exact(registers(outputs))
        }
        _ => {
            let outputs = approximate(mnemonic, &operands)
                .unwrap_or_else(|| panic!("{} is not evaluated", form.key));
            Expectation::Near(registers(outputs))
        }
    }
}

/// Whether an approximation is within a generous bound of the manual's error.
fn close(form: &Form, inputs: &[u64], expected: u64, actual: u64) -> bool {
    let scalar_type = form.outputs[0];
    let width = scalar_type.lane().bits();
    (0..scalar_type.lanes()).all(|lane| {
        let lane_value = |bits: u64| number(scalar_type.lane(), bits >> (lane * width));
        let (expected, actual) = (lane_value(expected), lane_value(actual));
        let argument = number(form.inputs[0].lane(), inputs[0] >> (lane * width));
        // The error of sine and cosine is stated for one period only.
        if matches!(form.mnemonic.opcode(), Opcode::Sin | Opcode::Cos) && argument.abs() > 3.2 {
            return expected.is_nan() == actual.is_nan() && (actual.is_nan() || actual.abs() <= 1.01);
        }
        // `div.approx` is stated for divisors between 2^-126 and 2^126.
        if form.mnemonic.opcode() == Opcode::Div && form.mnemonic.has(Flag::Approximate) {
            let divisor = f64::from(f32::from_bits(inputs[1] as u32)).abs();
            if !(2.0f64.powi(-126)..=2.0f64.powi(126)).contains(&divisor) {
                return true;
            }
        }
        let relative = match scalar_type.lane() {
            ScalarType::F32 => 2.0f64.powi(-10 - 8 * i32::from(form.mnemonic.opcode() != Opcode::Tanh)),
            ScalarType::F16 => 2.0f64.powi(-9),
            _ => 2.0f64.powi(-6),
        };
        // One unit of the smallest numbers of half precision.
        let unit = if scalar_type.lane() == ScalarType::F16 { 2.0f64.powi(-24) } else { 0.0 };
        expected.is_nan() && actual.is_nan()
            || (expected - actual).abs() <= unit
            || expected == actual
            || (expected - actual).abs() <= relative * expected.abs().max(1.0e-30)
            || (matches!(form.mnemonic.opcode(), Opcode::Lg2 | Opcode::Sin | Opcode::Cos) && (expected - actual).abs() <= 2.0f64.powi(-18))
            // A subnormal result may be flushed.
            || (expected.abs() < 1.2e-38 && actual.abs() < 1.2e-38)
    })
}

fn number(scalar_type: ScalarType, bits: u64) -> f64 {
    match scalar_type {
        ScalarType::F64 => f64::from_bits(bits),
        ScalarType::F32 => f32::from_bits(bits as u32).into(),
        ScalarType::Bf16 => f32::from_bits((bits as u32 & 0xffff) << 16).into(),
        _ => {
            let (exponent, mantissa) = ((bits >> 10 & 31) as i32, (bits & 1023) as f64);
            let magnitude = match exponent {
                0 => mantissa * 2.0f64.powi(-24),
                31 if mantissa == 0.0 => f64::INFINITY,
                31 => f64::NAN,
                _ => (1024.0 + mantissa) * 2.0f64.powi(exponent - 25),
            };
            if bits >> 15 & 1 != 0 {
                -magnitude
            } else {
                magnitude
            }
        }
    }
}
