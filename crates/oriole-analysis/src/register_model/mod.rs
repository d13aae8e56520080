//! How many registers `ptxas` is going to use: what is looked at ([`features`]), the function as `ptxas` sees it, and the fitted
//! model ([`prediction`]).

mod call_closure;
mod counts;
mod facts;
pub mod features;
mod folding;
#[cfg(test)]
mod model_text;
pub mod prediction;
mod reordered;
mod scheduling;
mod steps;
