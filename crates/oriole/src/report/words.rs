//! Numbers and nouns as reports write them.

/// The plural of a noun.
fn plural(noun: &str) -> String {
    let hisses = ["s", "sh", "ch", "x"].iter().any(|end| noun.ends_with(end));
    match hisses {
        true => format!("{noun}es"),
        false => format!("{noun}s"),
    }
}

/// A number and a noun: "1 access", "2 accesses".
pub fn count(number: u64, noun: &str) -> String {
    counted(number as f64, noun)
}

/// A number that need not be whole, and a noun.
pub fn counted(amount: f64, noun: &str) -> String {
    let text = number(amount);
    match text == "1" {
        true => format!("1 {noun}"),
        false => format!("{text} {}", plural(noun)),
    }
}

/// A number with thousands by comma, and one decimal only where needed.
pub fn number(number: f64) -> String {
    let tenths = (number.abs() * 10.0).round();
    let (whole, tenth) = ((tenths / 10.0).trunc(), tenths % 10.0);
    let digits = format!("{whole:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if tenth > 0.0 {
        text += &format!(".{tenth:.0}");
    }
    match number < 0.0 && tenths > 0.0 {
        true => format!("-{text}"),
        false => text,
    }
}

/// A share as whole percent.
pub fn percent(share: f64) -> String {
    let percent = share * 100.0;
    match percent {
        _ if percent > 0.0 && percent < 0.5 => "< 1 %".to_owned(),
        _ if (99.5..100.0).contains(&percent) => "> 99 %".to_owned(),
        _ => format!("{} %", percent.round()),
    }
}

/// An occupancy: percent with as many decimals as it has.
pub fn occupancy(percent: f64) -> String {
    format!("{} %", (percent * 100.0).round() / 100.0)
}

/// Bytes, from 10,000 on in KiB.
pub fn bytes(bytes: u64) -> String {
    match bytes {
        0..10_000 => count(bytes, "byte"),
        _ => format!("{} KiB", number(bytes as f64 / 1024.0)),
    }
}

/// A list: "a", "a and b", "a, b and c".
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A shape without sizes of one at its end: "32x8", "256x1".
pub fn shape(shape: [u32; 3]) -> String {
    let [x, y, z] = shape;
    match z {
        1 => format!("{x}x{y}"),
        _ => format!("{x}x{y}x{z}"),
    }
}

/// A number before and after.
pub fn change(before: f64, after: f64) -> String {
    format!("{} → {}", number(before), number(after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_plurals_right() {
        assert_eq!(count(1, "access"), "1 access");
        assert_eq!(count(1_096, "access"), "1,096 accesses");
        assert_eq!(counted(1.04, "sector"), "1 sector");
        assert_eq!(counted(0.5, "sector"), "0.5 sectors");
        assert_eq!(number(1_234_567.25), "1,234,567.3");
        assert_eq!(number(-0.01), "0");
        assert_eq!(
            [0.0, 0.004, 0.2, 0.996, 1.0].map(percent),
            ["0 %", "< 1 %", "20 %", "> 99 %", "100 %"]
        );
        assert_eq!(
            [128, 9_999, 49_152].map(bytes),
            ["128 bytes", "9,999 bytes", "48 KiB"]
        );
        assert_eq!(occupancy(31.25), "31.25 %");
        assert_eq!(
            list(&["a".to_owned(), "b".to_owned(), "c".to_owned()]),
            "a, b and c"
        );
        assert_eq!([shape([32, 8, 1]), shape([8, 8, 4])], ["32x8", "8x8x4"]);
    }
}
