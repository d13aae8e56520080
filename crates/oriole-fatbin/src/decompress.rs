//! Decompression that allocates no more than the input can make.

use std::io::Read;

/// An LZ4 block grows by a factor of 255 at most.
const MOST_LZ4_GROWTH: u64 = 255;

/// The `size` bytes of an LZ4 block.
pub(crate) fn lz4(bytes: &[u8], size: u64) -> Result<Vec<u8>, String> {
    if size > (bytes.len() as u64 + 1).saturating_mul(MOST_LZ4_GROWTH) {
        return Err(format!("{} bytes of LZ4 cannot become {size}", bytes.len()));
    }
    let size = usize::try_from(size).map_err(|_| "it does not fit into memory".to_owned())?;
    let plain = lz4_flex::block::decompress(bytes, size).map_err(|error| error.to_string())?;
    exact(plain, size)
}

/// The `size` bytes of zstd frames.
pub(crate) fn zstd(bytes: &[u8], size: u64) -> Result<Vec<u8>, String> {
    let mut plain = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() && (plain.len() as u64) <= size {
        let before = rest.len();
        let decoder = ruzstd::decoding::StreamingDecoder::new(&mut rest)
            .map_err(|error| error.to_string())?;
        // One more than there may be tells that there are too many.
        let most = size + 1 - plain.len() as u64;
        decoder
            .take(most)
            .read_to_end(&mut plain)
            .map_err(|error| error.to_string())?;
        if rest.len() == before {
            return Err("a frame is empty".to_owned());
        }
    }
    let size = usize::try_from(size).map_err(|_| "it does not fit into memory".to_owned())?;
    exact(plain, size)
}

fn exact(plain: Vec<u8>, size: usize) -> Result<Vec<u8>, String> {
    match plain.len() == size {
        true => Ok(plain),
        false => Err(format!(
            "it does not have the {size} bytes that it says it has"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zstd_frame(plain: &[u8]) -> Vec<u8> {
        ruzstd::encoding::compress_to_vec(plain, ruzstd::encoding::CompressionLevel::Fastest)
    }

    #[test]
    fn what_was_compressed_comes_back() {
        let plain: Vec<u8> = (0..100_000u32)
            .flat_map(|n| (n / 7).to_le_bytes())
            .collect();
        let size = plain.len() as u64;
        assert_eq!(
            lz4(&lz4_flex::block::compress(&plain), size).unwrap(),
            plain
        );
        assert_eq!(zstd(&zstd_frame(&plain), size).unwrap(), plain);
    }

    #[test]
    fn a_size_that_is_wrong_is_an_error() {
        let plain = [7; 1000];
        let (packed, frame) = (lz4_flex::block::compress(&plain), zstd_frame(&plain));
        for size in [0, 999, 1001] {
            assert!(lz4(&packed, size).is_err(), "{size}");
            assert!(zstd(&frame, size).is_err(), "{size}");
        }
    }

    #[test]
    fn a_size_that_cannot_be_allocates_nothing() {
        assert!(lz4(&[0; 8], 1 << 29).unwrap_err().contains("cannot become"));
        assert!(zstd(&[0; 8], 1 << 29).is_err());
        // A gibibyte of zeroes that is said to be ten bytes ends after eleven.
        assert!(zstd(&zstd_frame(&vec![0; 1 << 20]), 10).is_err());
    }
}
