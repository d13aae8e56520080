//! How well register counts are predicted, on the half of the corpus the model was not fitted on.
//!
//! `tests/corpus/registers.tsv` is made by `tools/record-register-counts`, the model by `tools/fit-registers`.

#![allow(clippy::print_stdout)]

mod recorded;

use oriole_analysis::launch::occupancy::{Demand, Occupancy};
use oriole_analysis::register_model::prediction::predict;
use recorded::{Recorded, recorded};
use std::path::Path;

/// The split of `tools/fit-registers`: by a hash of the file's name.
fn was_fitted(file: &str) -> bool {
    let hash = file.bytes().fold(0x811C_9DC5u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    hash >> 16 & 1 == 0
}

/// The kernels that were not fitted, or those of another table: `ORIOLE_REGISTERS=TABLE` and `ORIOLE_PTX=FOLDER`.
fn rows() -> Vec<Recorded> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/corpus");
    let mut rows = match (
        std::env::var_os("ORIOLE_REGISTERS"),
        std::env::var_os("ORIOLE_PTX"),
    ) {
        (Some(table), Some(folder)) => recorded(Path::new(&table), Path::new(&folder), |_| true),
        _ => recorded(&root.join("registers.tsv"), &root.join("ptx"), |file| {
            !was_fitted(file)
        }),
    };
    rows.retain(|row| matches!(row.target.number(), 80 | 90));
    rows
}

fn ranks(values: &[u32]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|&index| values[index]);
    let mut ranks = vec![0.0; values.len()];
    for group in order.chunk_by(|&a, &b| values[a] == values[b]) {
        let first = order.partition_point(|&index| values[index] < values[group[0]]);
        for &index in group {
            ranks[index] = first as f64 + (group.len() - 1) as f64 / 2.0;
        }
    }
    ranks
}

fn correlation(a: &[f64], b: &[f64]) -> f64 {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_a, mean_b) = (mean(a), mean(b));
    let products = |x: &[f64], mx: f64, y: &[f64], my: f64| -> f64 {
        x.iter().zip(y).map(|(x, y)| (x - mx) * (y - my)).sum()
    };
    products(a, mean_a, b, mean_b)
        / (products(a, mean_a, a, mean_a) * products(b, mean_b, b, mean_b)).sqrt()
}

/// Mean absolute error, rank correlation, share of right occupancies at 256 threads.
fn figures(rows: &[Recorded], guess: impl Fn(&Recorded) -> u32) -> (f64, f64, f64) {
    let guesses: Vec<u32> = rows.iter().map(guess).collect();
    let actual: Vec<u32> = rows.iter().map(|row| row.registers).collect();
    let count = rows.len() as f64;
    let error: u32 = guesses
        .iter()
        .zip(&actual)
        .map(|(a, b)| a.abs_diff(*b))
        .sum();
    let blocks = |target, registers| {
        let demand = Demand {
            registers,
            threads: 256,
            shared: 0,
            barriers: 0,
            tensor_columns: 0,
            opt_in: true,
        };
        Occupancy::of(target, demand).expect("listed").blocks
    };
    let right = rows
        .iter()
        .zip(&guesses)
        .filter(|(row, guess)| blocks(row.target, **guess) == blocks(row.target, row.registers))
        .count();
    (
        f64::from(error) / count,
        correlation(&ranks(&guesses), &ranks(&actual)),
        right as f64 / count,
    )
}

/// The share of kernels whose count is in the interval.
fn inside(rows: &[Recorded]) -> f64 {
    let is_inside = |row: &&Recorded| {
        let prediction = predict(&row.features);
        (prediction.low..=prediction.high).contains(&row.registers)
    };
    rows.iter().filter(is_inside).count() as f64 / rows.len() as f64
}

#[test]
fn register_counts_are_predicted() {
    let rows = rows();
    assert!(
        rows.len() > 900 || std::env::var_os("ORIOLE_REGISTERS").is_some(),
        "{}",
        rows.len()
    );
    let plain = figures(&rows, |row| row.features.get("written") as u32);
    let (error, rank, bucket) = figures(&rows, |row| predict(&row.features).best);
    let inside = inside(&rows);
    println!("{} kernels not fitted", rows.len());
    println!(
        "pressure alone: mean error {:.2}, rank correlation {:.3}, occupancy right {:.3}",
        plain.0, plain.1, plain.2
    );
    println!(
        "prediction:     mean error {error:.2}, rank correlation {rank:.3}, occupancy right {bucket:.3}, inside the interval {inside:.3}"
    );
    let large: Vec<Recorded> = rows
        .iter()
        .filter(|row| row.registers > 32)
        .cloned()
        .collect();
    if !large.is_empty() {
        let (error, rank, bucket) = figures(&large, |row| predict(&row.features).best);
        println!(
            "above 32, {}:  mean error {error:.2}, rank correlation {rank:.3}, occupancy right {bucket:.3}, inside the interval {:.3}",
            large.len(),
            self::inside(&large)
        );
    }
    let furthest = rows
        .iter()
        .max_by_key(|row| predict(&row.features).best.abs_diff(row.registers))
        .expect("there are kernels");
    println!(
        "furthest off: {} of {}, {} registers",
        furthest.name, furthest.file, furthest.registers
    );
    assert!(
        error <= 3.5 && rank >= 0.9 && bucket >= 0.88,
        "{error} {rank} {bucket}"
    );
    assert!(inside >= 0.85, "{inside}");
}
