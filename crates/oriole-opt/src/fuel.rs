//! How many rewrites may still be made: the means to find the one that breaks something, by bisection.

/// A supply of rewrites. Every pass asks before each rewrite and leaves the code alone when the answer is no.
#[derive(Clone, Debug)]
pub struct Fuel {
    left: Option<u64>,
    spent: u64,
}

impl Fuel {
    /// As much as anyone wants.
    pub fn unlimited() -> Fuel {
        Fuel {
            left: None,
            spent: 0,
        }
    }

    /// At most this many rewrites.
    pub fn limited(rewrites: u64) -> Fuel {
        Fuel {
            left: Some(rewrites),
            spent: 0,
        }
    }

    /// Whether there is an end to it.
    pub fn is_limited(&self) -> bool {
        self.left.is_some()
    }

    /// Whether one more rewrite may be made; if so, it counts.
    pub fn spend(&mut self) -> bool {
        match &mut self.left {
            Some(0) => return false,
            Some(left) => *left -= 1,
            None => {}
        }
        self.spent += 1;
        true
    }

    /// Takes rewrites out that were made with a copy of this supply.
    pub fn take_out(&mut self, rewrites: u64) {
        self.left = self.left.map(|left| left.saturating_sub(rewrites));
        self.spent += rewrites;
    }

    /// Whether another rewrite would be allowed.
    pub fn is_left(&self) -> bool {
        self.left != Some(0)
    }

    /// How many rewrites were made.
    pub fn spent(&self) -> u64 {
        self.spent
    }
}
