//! How many registers `ptxas` is going to use.
