//! Special registers: what they hold, whether reading twice gives the same answer, and across which threads they agree.

use crate::scalar_type::ScalarType;
use crate::text_enum::text_enum;

text_enum! {
    /// A special register without component or number.
    SpecialRegisterKind {
        Tid = "%tid", Ntid = "%ntid", Ctaid = "%ctaid", Nctaid = "%nctaid",
        Laneid = "%laneid", Warpid = "%warpid", Nwarpid = "%nwarpid",
        Smid = "%smid", Nsmid = "%nsmid", Gridid = "%gridid",
        IsExplicitCluster = "%is_explicit_cluster", Clusterid = "%clusterid", Nclusterid = "%nclusterid",
        ClusterCtaid = "%cluster_ctaid", ClusterNctaid = "%cluster_nctaid",
        ClusterCtarank = "%cluster_ctarank", ClusterNctarank = "%cluster_nctarank",
        LanemaskEq = "%lanemask_eq", LanemaskLe = "%lanemask_le", LanemaskLt = "%lanemask_lt",
        LanemaskGe = "%lanemask_ge", LanemaskGt = "%lanemask_gt",
        Clock = "%clock", ClockHi = "%clock_hi", Clock64 = "%clock64",
        Globaltimer = "%globaltimer", GlobaltimerLo = "%globaltimer_lo", GlobaltimerHi = "%globaltimer_hi",
        TotalSmemSize = "%total_smem_size", AggrSmemSize = "%aggr_smem_size",
        DynamicSmemSize = "%dynamic_smem_size",
        ReservedSmemOffsetBegin = "%reserved_smem_offset_begin", ReservedSmemOffsetEnd = "%reserved_smem_offset_end",
        ReservedSmemOffsetCap = "%reserved_smem_offset_cap",
        CurrentGraphExec = "%current_graph_exec",
        Pm = "%pm", Pm64 = "%pm_64", Envreg = "%envreg", ReservedSmemOffset = "%reserved_smem_offset_",
    }
}

/// The largest group of threads in which a value is the same, besides being pure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Uniformity {
    /// May differ between threads of a warp.
    Thread,
    /// Equal in a warp.
    Warp,
    /// Equal in a block.
    Block,
    /// Equal in a cluster.
    Cluster,
    /// Equal in the grid.
    Grid,
}

/// A component of a vector special register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Component {
    /// `.x`
    X,
    /// `.y`
    Y,
    /// `.z`
    Z,
    /// `.w`, which reads as zero
    W,
}

/// A special register as an operand names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpecialRegister {
    kind: SpecialRegisterKind,
    component: Option<Component>,
    number: u8,
}

impl SpecialRegister {
    /// Decodes `%tid.x`, `%clock64`, `%envreg12`, `%pm3`, or the whole vector `%tid`.
    pub fn from_text(text: &str) -> Option<SpecialRegister> {
        use SpecialRegisterKind::*;
        if !text.starts_with('%') {
            return None;
        }
        if let Some((base, component)) = text.split_once('.') {
            let kind = SpecialRegisterKind::from_text(base)?;
            let component = match component {
                "x" | "r" => Component::X,
                "y" | "g" => Component::Y,
                "z" | "b" => Component::Z,
                "w" | "a" => Component::W,
                _ => return None,
            };
            return is_vector_kind(kind).then_some(SpecialRegister {
                kind,
                component: Some(component),
                number: 0,
            });
        }
        let digits = text.len() - text.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        let (base, number) = text.split_at(text.len() - digits);
        let plain = |kind| {
            Some(SpecialRegister {
                kind,
                component: None,
                number: 0,
            })
        };
        let numbered = |kind, limit: u8| {
            let number: u8 = number.parse().ok()?;
            (number < limit && (number == 0 || !text_has_leading_zero(text, digits))).then_some(
                SpecialRegister {
                    kind,
                    component: None,
                    number,
                },
            )
        };
        match base {
            "%envreg" => numbered(Envreg, 32),
            "%reserved_smem_offset_" => numbered(ReservedSmemOffset, 2),
            "%pm" if digits > 0 => numbered(Pm, 8),
            _ => {
                if let Some(middle) = text.strip_prefix("%pm").and_then(|t| t.strip_suffix("_64")) {
                    let number: u8 = middle.parse().ok()?;
                    return (middle.len() == 1 && number < 8).then_some(SpecialRegister {
                        kind: Pm64,
                        component: None,
                        number,
                    });
                }
                match SpecialRegisterKind::from_text(text)? {
                    Pm | Pm64 | Envreg | ReservedSmemOffset => None,
                    kind => plain(kind),
                }
            }
        }
    }

    /// The register without component or number.
    pub fn kind(self) -> SpecialRegisterKind {
        self.kind
    }

    /// The component, where one was named.
    pub fn component(self) -> Option<Component> {
        self.component
    }

    /// The number of `%envregN`, `%pmN` and their like, else 0.
    pub fn number(self) -> u8 {
        self.number
    }

    /// Whether the operand is the whole four-element vector (`mov.v4.u32 {…}, %tid`).
    pub fn is_vector(self) -> bool {
        self.component.is_none() && is_vector_kind(self.kind)
    }

    /// The type of the value, or of each element.
    pub fn scalar_type(self) -> ScalarType {
        use SpecialRegisterKind::*;
        match self.kind {
            IsExplicitCluster => ScalarType::Pred,
            Gridid | Clock64 | Globaltimer | Pm64 | CurrentGraphExec => ScalarType::U64,
            Envreg => ScalarType::B32,
            _ => ScalarType::U32,
        }
    }

    /// Whether two reads by one thread may differ.
    pub fn is_volatile(self) -> bool {
        use SpecialRegisterKind::*;
        matches!(
            self.kind,
            Clock
                | ClockHi
                | Clock64
                | Globaltimer
                | GlobaltimerLo
                | GlobaltimerHi
                | Smid
                | Warpid
                | Nwarpid
                | Pm
                | Pm64
        )
    }

    /// Whether every read by one thread gives the same value.
    pub fn is_pure(self) -> bool {
        !self.is_volatile()
    }

    /// The threads that see the same value. A volatile register counts as differing between threads. `%tid` counts as
    /// differing even in components a launch may leave uniform.
    pub fn uniformity(self) -> Uniformity {
        use SpecialRegisterKind::*;
        if self.is_volatile() {
            return Uniformity::Thread;
        }
        if self.component == Some(Component::W) {
            return Uniformity::Grid;
        }
        match self.kind {
            Tid | Laneid | LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt => {
                Uniformity::Thread
            }
            Ctaid | ClusterCtaid | ClusterCtarank => Uniformity::Block,
            Clusterid => Uniformity::Cluster,
            _ => Uniformity::Grid,
        }
    }
}

fn text_has_leading_zero(text: &str, digits: usize) -> bool {
    text[text.len() - digits..].starts_with('0')
}

fn is_vector_kind(kind: SpecialRegisterKind) -> bool {
    use SpecialRegisterKind::*;
    matches!(
        kind,
        Tid | Ntid | Ctaid | Nctaid | Clusterid | Nclusterid | ClusterCtaid | ClusterNctaid
    )
}

impl std::fmt::Display for SpecialRegister {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use SpecialRegisterKind::*;
        match self.kind {
            Envreg | Pm | ReservedSmemOffset => {
                write!(formatter, "{}{}", self.kind.text(), self.number)
            }
            Pm64 => write!(formatter, "%pm{}_64", self.number),
            kind => {
                formatter.write_str(kind.text())?;
                match self.component {
                    None => Ok(()),
                    Some(Component::X) => formatter.write_str(".x"),
                    Some(Component::Y) => formatter.write_str(".y"),
                    Some(Component::Z) => formatter.write_str(".z"),
                    Some(Component::W) => formatter.write_str(".w"),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> SpecialRegister {
        let register = SpecialRegister::from_text(text).unwrap_or_else(|| panic!("{text}"));
        assert_eq!(register.to_string(), text);
        register
    }

    #[test]
    fn spellings_read_back() {
        for &kind in SpecialRegisterKind::ALL {
            use SpecialRegisterKind::*;
            if !matches!(kind, Pm | Pm64 | Envreg | ReservedSmemOffset) {
                assert_eq!(read(kind.text()).kind(), kind);
            }
        }
        for text in [
            "%envreg0",
            "%envreg31",
            "%pm0",
            "%pm7",
            "%pm3_64",
            "%reserved_smem_offset_1",
        ] {
            read(text);
        }
        for text in [
            "%envreg32",
            "%envreg",
            "%pm8",
            "%pm",
            "%pm9_64",
            "%tid.q",
            "%laneid.x",
            "%r1",
            "tid",
            "%tidx",
            "%",
        ] {
            assert_eq!(SpecialRegister::from_text(text), None, "{text}");
        }
    }

    #[test]
    fn classes_follow_the_design() {
        for text in [
            "%tid.x",
            "%ctaid.y",
            "%ntid.z",
            "%nctaid.x",
            "%laneid",
            "%lanemask_lt",
        ] {
            assert!(read(text).is_pure(), "{text}");
        }
        for text in [
            "%clock",
            "%clock64",
            "%globaltimer",
            "%globaltimer_lo",
            "%smid",
            "%warpid",
            "%pm2",
        ] {
            assert!(read(text).is_volatile(), "{text}");
        }
        assert_eq!(read("%tid.x").uniformity(), Uniformity::Thread);
        assert_eq!(read("%ctaid.x").uniformity(), Uniformity::Block);
        assert_eq!(read("%ntid.x").uniformity(), Uniformity::Grid);
        assert_eq!(read("%clusterid.x").uniformity(), Uniformity::Cluster);
        assert!(read("%tid").is_vector() && !read("%tid.x").is_vector());
        assert_eq!(read("%is_explicit_cluster").scalar_type(), ScalarType::Pred);
    }
}
