//! The fitted model as text, as `tools/fit-registers` writes it.
//!
//! The build script reads it and writes tables that need no reading; tests compare both.

/// A node of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node {
    /// Feature, threshold, and where the right branch starts; the left one is next.
    Split(u32, f32, u32),
    /// A range of the model's needs.
    Leaf(u32, u32),
}

/// The trees, and what they were fitted to.
#[derive(Debug, Default)]
pub struct Model {
    /// The names of features, in order.
    pub features: Vec<String>,
    /// The pressure a tree starts from, and the tree.
    pub trees: Vec<(usize, Vec<Node>)>,
    /// What kernels of leaves needed.
    pub needs: Vec<i16>,
    /// Quantiles that bound the interval.
    pub low: f32,
    /// Likewise, above.
    pub high: f32,
}

impl Model {
    /// The model of a text; nothing if it is not well formed.
    pub fn parse(text: &str) -> Option<Model> {
        let mut model = Model::default();
        for line in text.lines() {
            let (keyword, rest) = line.split_once(' ')?;
            match keyword {
                "#" => {}
                "features" => model.features = rest.split(' ').map(str::to_owned).collect(),
                "interval" => {
                    let (low, high) = rest.split_once(' ')?;
                    model.low = low.parse().ok()?;
                    model.high = high.parse().ok()?;
                }
                "tree" => {
                    let (base, tree) = rest.split_once(' ')?;
                    let count = model.features.len();
                    let base = base.parse().ok().filter(|&base| base < count)?;
                    let tree = model.parse_tree(tree)?;
                    model.trees.push((base, tree));
                }
                _ => return None,
            }
        }
        (!model.trees.is_empty()).then_some(model)
    }

    /// A tree in preorder.
    pub fn parse_tree(&mut self, text: &str) -> Option<Vec<Node>> {
        let mut nodes = Vec::new();
        // Splits whose left branch is being read.
        let mut open: Vec<usize> = Vec::new();
        let mut reader = Reader(text.as_bytes());
        loop {
            if reader.takes(b'=') {
                let start = self.needs.len() as u32;
                loop {
                    self.needs.push(reader.integer()?);
                    if !reader.takes(b',') {
                        break;
                    }
                }
                nodes.push(Node::Leaf(start, self.needs.len() as u32));
                let next = nodes.len() as u32;
                let Some(split) = open.pop() else {
                    return reader.0.is_empty().then_some(nodes);
                };
                if let Node::Split(_, _, right) = &mut nodes[split] {
                    *right = next;
                }
            } else {
                let feature = u32::try_from(reader.integer()?).ok()?;
                if feature as usize >= self.features.len() || !reader.takes(b'<') {
                    return None;
                }
                open.push(nodes.len());
                nodes.push(Node::Split(feature, reader.threshold()?, 0));
            }
            if !reader.takes(b' ') {
                return None;
            }
        }
    }
}

/// What is left of the text of a tree.
struct Reader<'text>(&'text [u8]);

impl Reader<'_> {
    fn takes(&mut self, byte: u8) -> bool {
        let is_next = self.0.first() == Some(&byte);
        self.0 = &self.0[usize::from(is_next)..];
        is_next
    }

    /// Digits, as a number, and how many they are; no more than nine.
    fn digits(&mut self) -> Option<(u32, usize)> {
        let mut number = 0u32;
        let before = self.0.len();
        while let [digit @ b'0'..=b'9', rest @ ..] = self.0 {
            number = number
                .wrapping_mul(10)
                .wrapping_add(u32::from(digit - b'0'));
            self.0 = rest;
        }
        let count = before - self.0.len();
        (count <= 9).then_some((number, count))
    }

    fn integer(&mut self) -> Option<i16> {
        let is_negative = self.takes(b'-');
        let (number, count) = self.digits()?;
        let number = i16::try_from(number).ok().filter(|_| count > 0)?;
        Some(if is_negative { -number } else { number })
    }

    /// A number up to a space or the end.
    fn threshold(&mut self) -> Option<f32> {
        let end = self.0.iter().position(|&byte| byte == b' ');
        let (text, rest) = self.0.split_at(end.unwrap_or(self.0.len()));
        self.0 = rest;
        std::str::from_utf8(text).ok()?.parse().ok()
    }
}
