//! What C's `printf` makes of a format and its arguments.
//!
//! Flags, widths, precisions and length modifiers are those of C; `%n` stores nothing. Arguments are read through closures, since
//! they lie in the memory of the emulated thread.

/// One `%…` of a format.
#[derive(Clone, Debug, Default)]
struct Specification {
    left: bool,
    plus: bool,
    space: bool,
    alternate: bool,
    zero: bool,
    width: usize,
    precision: Option<usize>,
    /// Bytes of an integer.
    bytes: u32,
}

/// Wider fields are cut: a format is not a way to fill memory.
const WIDEST: usize = 4096;

/// Formats; `argument` gives the next argument of a size in bytes, `string` the text at an address.
///
/// # Errors
/// What the closures return.
pub(crate) fn format<E>(
    format: &[u8],
    mut argument: impl FnMut(u64) -> Result<u64, E>,
    mut string: impl FnMut(u64) -> Result<Vec<u8>, E>,
) -> Result<Vec<u8>, E> {
    let mut text = Vec::new();
    let mut rest = format.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            text.push(byte);
            continue;
        }
        let mut specification = Specification {
            bytes: 4,
            ..Specification::default()
        };
        while let Some(flag) = rest.next_if(|byte| b"-+ #0".contains(byte)) {
            match flag {
                b'-' => specification.left = true,
                b'+' => specification.plus = true,
                b' ' => specification.space = true,
                b'#' => specification.alternate = true,
                _ => specification.zero = true,
            }
        }
        let mut number = |rest: &mut std::iter::Peekable<_>| -> Result<i64, E> {
            if rest.next_if_eq(&b'*').is_some() {
                return Ok((argument(4)? as i32).into());
            }
            let mut value = 0;
            while let Some(digit) = rest.next_if(u8::is_ascii_digit) {
                value = (value * 10 + i64::from(digit - b'0')).min(WIDEST as i64);
            }
            Ok(value)
        };
        let width = number(&mut rest)?;
        specification.left |= width < 0;
        specification.width = (width.unsigned_abs() as usize).min(WIDEST);
        if rest.next_if_eq(&b'.').is_some() {
            let precision = number(&mut rest)?;
            specification.precision = usize::try_from(precision)
                .ok()
                .map(|precision| precision.min(WIDEST));
        }
        while let Some(length) = rest.next_if(|byte| b"hljzt".contains(byte)) {
            specification.bytes = match length {
                b'h' => (specification.bytes / 2).max(1),
                _ => 8,
            };
        }
        let Some(conversion) = rest.next() else {
            break;
        };
        let item = match conversion {
            b'%' => {
                text.push(b'%');
                continue;
            }
            b'n' => {
                argument(8)?;
                continue;
            }
            b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => {
                let size = if specification.bytes == 8 { 8 } else { 4 };
                specification.integer(argument(size)?, conversion)
            }
            b'c' => specification.pad(&[], &[argument(4)? as u8], false),
            b's' => {
                let mut bytes = string(argument(8)?)?;
                bytes.truncate(specification.precision.unwrap_or(usize::MAX));
                specification.pad(&[], &bytes, false)
            }
            b'p' => {
                let address = format!("{:#x}", argument(8)?);
                specification.pad(&[], address.as_bytes(), false)
            }
            b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
                specification.float(f64::from_bits(argument(8)?), conversion)
            }
            // Unknown conversions are passed through, as the machine does.
            other => vec![b'%', other],
        };
        text.extend(item);
    }
    Ok(text)
}

impl Specification {
    /// Fills the field: spaces before or behind, or zeros between prefix and digits.
    fn pad(&self, prefix: &[u8], digits: &[u8], zeros: bool) -> Vec<u8> {
        let missing = self.width.saturating_sub(prefix.len() + digits.len());
        let (before, between, behind) = match (self.left, zeros) {
            (true, _) => (0, 0, missing),
            (false, true) => (0, missing, 0),
            (false, false) => (missing, 0, 0),
        };
        let mut text = vec![b' '; before];
        text.extend(prefix);
        text.extend(std::iter::repeat_n(b'0', between));
        text.extend(digits);
        text.extend(std::iter::repeat_n(b' ', behind));
        text
    }

    fn sign(&self, negative: bool) -> &'static str {
        match (negative, self.plus, self.space) {
            (true, _, _) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        }
    }

    fn integer(&self, value: u64, conversion: u8) -> Vec<u8> {
        let unused = 64 - 8 * self.bytes.max(1);
        let unsigned = value << unused >> unused;
        let signed = ((value << unused) as i64) >> unused;
        let mut prefix = "";
        let mut digits = match conversion {
            b'd' | b'i' => {
                prefix = self.sign(signed < 0);
                signed.unsigned_abs().to_string()
            }
            b'o' => format!("{unsigned:o}"),
            b'x' => format!("{unsigned:x}"),
            b'X' => format!("{unsigned:X}"),
            _ => unsigned.to_string(),
        };
        if self.precision == Some(0) && unsigned == 0 {
            digits.clear();
        }
        let least = self.precision.unwrap_or(1);
        if digits.len() < least {
            digits.insert_str(0, &"0".repeat(least - digits.len()));
        }
        if self.alternate {
            match conversion {
                b'x' if unsigned != 0 => prefix = "0x",
                b'X' if unsigned != 0 => prefix = "0X",
                b'o' if !digits.starts_with('0') => digits.insert(0, '0'),
                _ => {}
            }
        }
        let zeros = self.zero && self.precision.is_none();
        self.pad(prefix.as_bytes(), digits.as_bytes(), zeros)
    }

    fn float(&self, value: f64, conversion: u8) -> Vec<u8> {
        let mut prefix = self.sign(value.is_sign_negative()).to_owned();
        let magnitude = value.abs();
        let precision = self.precision.unwrap_or(6);
        let mut digits = match conversion.to_ascii_lowercase() {
            _ if value.is_nan() => "nan".to_owned(),
            _ if value.is_infinite() => "inf".to_owned(),
            b'f' => self.fixed(magnitude, precision),
            b'e' => self.scientific(magnitude, precision),
            b'a' => {
                prefix.push_str("0x");
                self.hexadecimal(magnitude)
            }
            _ => self.general(magnitude, precision.max(1)),
        };
        if conversion.is_ascii_uppercase() {
            digits.make_ascii_uppercase();
            prefix.make_ascii_uppercase();
        }
        let zeros = self.zero && value.is_finite();
        self.pad(prefix.as_bytes(), digits.as_bytes(), zeros)
    }

    fn fixed(&self, value: f64, precision: usize) -> String {
        let mut text = format!("{value:.precision$}");
        if self.alternate && precision == 0 {
            text.push('.');
        }
        text
    }

    fn scientific(&self, value: f64, precision: usize) -> String {
        let text = format!("{value:.precision$e}");
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let point = if self.alternate && precision == 0 {
            "."
        } else {
            ""
        };
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{mantissa}{point}e{sign}{:02}", exponent.abs())
    }

    /// `%g`: the shorter of the two, without zeros at the end.
    fn general(&self, value: f64, significant: usize) -> String {
        let rounded = format!("{value:.*e}", significant - 1);
        let exponent: i32 = rounded
            .split_once('e')
            .and_then(|(_, exponent)| exponent.parse().ok())
            .unwrap_or(0);
        let is_fixed = (-4..significant as i32).contains(&exponent);
        let text = if is_fixed {
            self.fixed(value, (significant as i32 - 1 - exponent) as usize)
        } else {
            self.scientific(value, significant - 1)
        };
        if self.alternate {
            return text;
        }
        let (mantissa, rest) = match text.find('e') {
            Some(at) => text.split_at(at),
            None => (text.as_str(), ""),
        };
        if !mantissa.contains('.') {
            return text;
        }
        let kept = mantissa.trim_end_matches('0').trim_end_matches('.');
        format!("{kept}{rest}")
    }

    /// `%a` behind its `0x`: the bits of the mantissa, rounded to nearest even where a precision is given.
    fn hexadecimal(&self, value: f64) -> String {
        let bits = value.to_bits();
        let field = (bits >> 52) as i32;
        let exponent = match (field, bits) {
            (_, 0) => 0,
            (0, _) => -1022,
            _ => field - 1023,
        };
        let mut mantissa = bits & ((1 << 52) - 1) | u64::from(field != 0) << 52;
        let mut count = 13;
        if let Some(precision) = self.precision.filter(|&precision| precision < 13) {
            let dropped = 4 * (13 - precision as u32);
            let (half, rest) = (1u64 << (dropped - 1), mantissa & ((1 << dropped) - 1));
            mantissa >>= dropped;
            mantissa += u64::from(rest > half || rest == half && mantissa & 1 != 0);
            count = precision;
        }
        let (first, fraction) = (mantissa >> (4 * count), mantissa & ((1 << (4 * count)) - 1));
        let mut digits = if count == 0 {
            String::new()
        } else {
            format!("{fraction:0count$x}")
        };
        match self.precision {
            Some(precision) => digits.push_str(&"0".repeat(precision.saturating_sub(count))),
            None => digits.truncate(digits.trim_end_matches('0').len()),
        }
        let point = if digits.is_empty() && !self.alternate {
            ""
        } else {
            "."
        };
        format!("{first}{point}{digits}p{exponent:+}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats one conversion with these arguments, and checks that all of them were taken.
    fn one(text: &str, arguments: &[u64]) -> String {
        let mut left = arguments.iter().copied();
        let result: Result<Vec<u8>, ()> = format(
            text.as_bytes(),
            |_| left.next().ok_or(()),
            |_| Ok(b"oriole".to_vec()),
        );
        assert_eq!(left.next(), None, "{text}");
        String::from_utf8(result.expect("enough arguments")).expect("text")
    }

    #[test]
    fn integers() {
        let minus = (-42i64) as u64;
        for (text, value, expected) in [
            ("%d", 42, "42"),
            ("%d", minus, "-42"),
            ("%+d|", 42, "+42|"),
            ("% d|", 42, " 42|"),
            ("%6d|", minus, "   -42|"),
            ("%-6d|", minus, "-42   |"),
            ("%06d|", minus, "-00042|"),
            ("%-06d|", 42, "42    |"),
            ("%.5d", minus, "-00042"),
            ("%8.5d|", minus, "  -00042|"),
            ("%08.5d|", 42, "   00042|"),
            ("%.0d|", 0, "|"),
            ("%u", 0xffff_ffff, "4294967295"),
            ("%hd", 0x1_8000, "-32768"),
            ("%hhu", 0x1ff, "255"),
            ("%lld", minus, "-42"),
            ("%lu", u64::MAX, "18446744073709551615"),
            ("%x", 0xbeef, "beef"),
            ("%#x", 0xbeef, "0xbeef"),
            ("%#010x", 0xbeef, "0x0000beef"),
            ("%#X", 0xbeef, "0XBEEF"),
            ("%#x", 0, "0"),
            ("%o", 8, "10"),
            ("%#o", 8, "010"),
            ("%zu", 7, "7"),
            ("%c|", 65, "A|"),
            ("%3c|", 65, "  A|"),
            ("%p", 0x10, "0x10"),
        ] {
            assert_eq!(one(text, &[value]), expected, "{text}");
        }
    }

    #[test]
    fn floats() {
        for (text, value, expected) in [
            ("%f", 1.5, "1.500000"),
            ("%f", -0.0, "-0.000000"),
            ("%.2f", 2.675, "2.67"),
            ("%.0f", 2.5, "2"),
            ("%#.0f", 2.5, "2."),
            ("%8.3f|", -1.5, "  -1.500|"),
            ("%-8.3f|", 1.5, "1.500   |"),
            ("%08.3f|", -1.5, "-001.500|"),
            ("%+.1f", 1.0, "+1.0"),
            ("%e", 12345.678, "1.234568e+04"),
            ("%.2e", 0.00012, "1.20e-04"),
            ("%E", 1e100, "1.000000E+100"),
            ("%g", 0.0001, "0.0001"),
            ("%g", 0.00001, "1e-05"),
            ("%g", 100000.0, "100000"),
            ("%g", 1000000.0, "1e+06"),
            ("%g", 3.0, "3"),
            ("%#g", 3.0, "3.00000"),
            ("%.3g", 1234.5, "1.23e+03"),
            ("%.10g", 0.1, "0.1"),
            ("%g", 999999.5, "1e+06"),
            ("%f", f64::INFINITY, "inf"),
            ("%010f|", f64::NEG_INFINITY, "      -inf|"),
            ("%F", f64::NAN, "NAN"),
            ("%a", 1.0, "0x1p+0"),
            ("%a", 0.1, "0x1.999999999999ap-4"),
            ("%.2a", 0.1, "0x1.9ap-4"),
            ("%.0a", 1.5, "0x2p+0"),
            ("%A", 255.0, "0X1.FEP+7"),
            ("%a", 0.0, "0x0p+0"),
        ] {
            assert_eq!(one(text, &[value.to_bits()]), expected, "{text}");
        }
    }

    #[test]
    fn strings_stars_and_the_rest() {
        assert_eq!(one("%s|", &[0]), "oriole|");
        assert_eq!(one("%8s|%-8s|%.3s|", &[0, 0, 0]), "  oriole|oriole  |ori|");
        assert_eq!(one("%*d|", &[5, 42]), "   42|");
        let minus_five = (-5i32) as u32;
        assert_eq!(one("%*d|", &[minus_five.into(), 42]), "42   |");
        assert_eq!(one("%.*f", &[1, 2.25f64.to_bits()]), "2.2");
        assert_eq!(one("100%% %n%q%", &[0]), "100% %q");
        assert!(one("%9999999999d", &[1]).len() <= WIDEST);
        assert_eq!(one("%hhhhd", &[0x1ff]), "-1");
    }
}
