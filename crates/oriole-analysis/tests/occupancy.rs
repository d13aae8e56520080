//! Occupancy against what `cuda_occupancy.h` says; `occupancy.txt` is made by `tools/record-occupancy`.

use oriole_analysis::launch::occupancy::{Cliffs, Demand, Limiter, Occupancy, UNLIMITED};
use oriole_isa::Target;

fn numbers(line: &str) -> Vec<u32> {
    line.split(' ')
        .skip(1)
        .map(|word| {
            if word == "-" {
                UNLIMITED
            } else {
                word.parse().unwrap()
            }
        })
        .collect()
}

#[test]
fn the_recorded_table_is_reproduced() {
    let text = include_str!("occupancy.txt");
    let mut lines = text
        .lines()
        .filter(|line| !line.starts_with('#'))
        .peekable();
    let registers = numbers(lines.next().unwrap());
    let threads = numbers(lines.next().unwrap());
    let shared = numbers(lines.next().unwrap());
    let barriers = numbers(lines.next().unwrap());
    let mut parts = 0;
    while let Some(line) = lines.next() {
        let number = numbers(line)[0] as u16;
        let target = Target::new(number / 10, number % 10);
        let of = |registers, threads, shared, barriers, opt_in| {
            Occupancy::of(
                target,
                Demand {
                    registers,
                    threads,
                    shared,
                    barriers,
                    tensor_columns: 0,
                    opt_in,
                },
            )
            .expect("listed")
        };
        let warps: Vec<u32> = threads
            .iter()
            .map(|&t| of(1, t, 0, 0, true).limits[2])
            .collect();
        assert_eq!(warps, numbers(lines.next().unwrap()), "{target}: warps");
        assert_eq!(
            of(1, 32, 0, 0, true).limits[3],
            numbers(lines.next().unwrap())[0],
            "{target}: blocks"
        );
        let by_barriers: Vec<u32> = barriers
            .iter()
            .map(|&b| of(1, 32, 0, b, true).limits[4])
            .collect();
        assert_eq!(
            by_barriers,
            numbers(lines.next().unwrap()),
            "{target}: barriers"
        );
        for opt_in in [true, false] {
            let by_shared: Vec<u32> = shared
                .iter()
                .map(|&s| of(1, 32, s, 0, opt_in).limits[1])
                .collect();
            assert_eq!(
                by_shared,
                numbers(lines.next().unwrap()),
                "{target}: shared memory, {opt_in}"
            );
        }
        for &r in &registers {
            let recorded = numbers(lines.next().unwrap());
            assert_eq!(recorded[0], r);
            let by_registers: Vec<u32> = threads
                .iter()
                .map(|&t| of(r, t, 0, 0, true).limits[0])
                .collect();
            assert_eq!(by_registers, recorded[1..], "{target}: {r} registers");
        }
        let last = lines.next().unwrap();
        let words: Vec<&str> = last.split(' ').collect();
        parts += 1;
        // Half a million combinations each: debug builds take two parts that differ from all others.
        if cfg!(debug_assertions) && !matches!(number, 60 | 90) {
            continue;
        }
        let mut hash = 14695981039346656037u64;
        let mut count = 0u64;
        for &r in &registers {
            for &t in &threads {
                for &s in &shared {
                    for &b in &barriers {
                        for opt_in in [false, true] {
                            let blocks = u64::from(of(r, t, s, b, opt_in).blocks);
                            hash = (hash ^ blocks).wrapping_mul(1099511628211);
                            count += 1;
                        }
                    }
                }
            }
        }
        assert_eq!(count, words[1].parse::<u64>().unwrap());
        assert_eq!(format!("{hash:016x}"), words[2], "{target}: the whole grid");
    }
    assert_eq!(parts, 20);
}

#[test]
fn cliffs_are_where_occupancy_changes() {
    let demand = Demand {
        registers: 40,
        threads: 256,
        shared: 0,
        barriers: 1,
        tensor_columns: 0,
        opt_in: true,
    };
    let target = Target::new(9, 0);
    let now = Occupancy::of(target, demand).expect("listed");
    assert_eq!(
        (now.blocks, now.warps, now.limiter()),
        (6, 48, Limiter::Registers)
    );
    let cliffs = Cliffs::of(target, demand).expect("listed");
    assert_eq!(cliffs.fewer_registers.unwrap().at, 32);
    assert_eq!(cliffs.fewer_registers.unwrap().blocks, 8);
    assert_eq!(cliffs.more_registers.unwrap().at, 41);
    assert_eq!(cliffs.less_shared, None);
    // Six blocks share 228 KB: 38 KB each, less one the driver takes.
    assert_eq!(cliffs.more_shared.unwrap().at, 37 * 1024 + 1);
}
