//! A picture of where the lanes of a warp are: lanes from left to right, banks or sectors from top to bottom.

use crate::report::{Access, Unit};
use oriole_analysis::lane_patterns::LANES;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Rows that are drawn.
const MOST_ROWS: usize = 8;
/// Bytes of a word of shared memory, and of a sector.
const WORD: i64 = 4;
const SECTOR: i64 = 32;
/// Banks of shared memory.
const BANKS: i64 = 32;

/// Lanes of one bank or sector, and what they ask it for.
#[derive(Default)]
struct Row {
    lanes: u32,
    /// Words of a bank, or bytes of a sector.
    parts: BTreeSet<i64>,
}

/// The picture of an access whose lanes are known, one line for each bank or sector that they touch, counted from that of the first lane.
pub fn picture(access: &Access) -> Option<String> {
    let offsets = access.offsets.as_ref()?;
    let bytes = i64::from(access.bytes);
    let is_shared = access.unit == Unit::Wavefronts;
    let mut rows: BTreeMap<i64, Row> = BTreeMap::new();
    let least = offsets.iter().flatten().min()?;
    for (lane, offset) in offsets.iter().enumerate() {
        let Some(offset) = offset else {
            continue;
        };
        let from = offset - least;
        match is_shared {
            true => {
                for word in from.div_euclid(WORD)..=(from + bytes - 1).div_euclid(WORD) {
                    let row = rows.entry(word.rem_euclid(BANKS)).or_default();
                    row.lanes |= 1 << lane;
                    row.parts.insert(word);
                }
            }
            false => {
                for byte in from..from + bytes {
                    let row = rows.entry(byte.div_euclid(SECTOR)).or_default();
                    row.lanes |= 1 << lane;
                    row.parts.insert(byte);
                }
            }
        }
    }
    let name = match is_shared {
        true => "bank",
        false => "sector",
    };
    let width = rows.keys().map(|number| number.to_string().len()).max()?;
    let margin = name.len() + 2 + width;
    let mut text = format!("{:<margin$} 0       8       16      24     31\n", "lane");
    for (number, row) in rows.iter().take(MOST_ROWS) {
        let lanes: String = (0..LANES)
            .map(|lane| if row.lanes >> lane & 1 != 0 { '#' } else { '.' })
            .collect();
        let count = row.parts.len();
        let asked = match is_shared {
            true if count == 1 => "1 word".to_owned(),
            true => format!("{count} words"),
            false => format!("{count} of {SECTOR} bytes"),
        };
        let _ = writeln!(text, "{name} +{number:<width$} {lanes}  {asked}");
    }
    if rows.len() > MOST_ROWS {
        let _ = writeln!(text, "{:<margin$} … {} more", "", rows.len() - MOST_ROWS);
    }
    Some(text)
}
