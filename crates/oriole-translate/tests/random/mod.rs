//! Numbers at random, the same ones each time.

/// Gives one number after the other.
pub struct Random(pub u64);

impl Random {
    /// A number below a bound; 0 if the bound is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}
