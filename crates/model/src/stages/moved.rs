//! The clients that stages move: at which level each is under load.

/// The clients of all populations, as one of them sees them.
///
/// Populations without a share stay under load. The clients of the others join one after another,
/// so that each population has its part of them at any level.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MovedClients {
    /// Clients that no stage moves.
    pub fixed: u32,
    /// Clients of each population that stages move.
    pub moved: Vec<u32>,
    /// Index of this population in `moved`.
    pub index: usize,
}

impl MovedClients {
    /// Returns the clients of a load of one population.
    #[must_use]
    pub fn only(clients: u32) -> Self {
        Self {
            fixed: 0,
            moved: vec![clients],
            index: 0,
        }
    }

    /// Returns the level above which a client of this population is under load, if `most` is the
    /// highest level. The places of all clients divide the levels above the fixed clients.
    #[must_use]
    pub fn bound(&self, client: u32, most: f64) -> f64 {
        let all: u32 = self.moved.iter().sum();
        let fixed = f64::from(self.fixed);
        let place = f64::from(self.before(client)) + 0.5;
        fixed + place / f64::from(all.max(1)) * (most - fixed).max(0.0)
    }

    /// Returns how many clients of this population are under load at a level.
    #[must_use]
    pub fn at_level(&self, level: f64, most: f64) -> u32 {
        let (mut low, mut high) = (0, self.moved.get(self.index).copied().unwrap_or(0));
        while low < high {
            let middle = low.midpoint(high);
            if level > self.bound(middle, most) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Returns how many clients of all populations come before a client of this one.
    ///
    /// Client i of n comes at (2i + 1) / 2n of the way. Of clients at the same place, that of an
    /// earlier population comes first.
    fn before(&self, client: u32) -> u32 {
        let own = self.moved.get(self.index).copied().unwrap_or(1).max(1);
        let place = 2 * u64::from(client) + 1;
        let of_population = |(index, count): (usize, &u32)| {
            let scaled = place * u64::from(*count);
            let own = u64::from(own);
            // Those j with 2j + 1 < scaled / own; of an earlier population also those at it.
            let before = if index < self.index {
                (scaled / own).div_ceil(2)
            } else {
                scaled.div_ceil(own) / 2
            };
            before.min((*count).into()) as u32
        };
        self.moved.iter().enumerate().map(of_population).sum()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of_each(fixed: u32, moved: &[u32]) -> Vec<MovedClients> {
        let of_index = |index| MovedClients {
            fixed,
            moved: moved.to_vec(),
            index,
        };
        (0..moved.len()).map(of_index).collect()
    }

    proptest! {
        #[test]
        fn all_clients_together_are_those_of_the_level(
            fixed in 0_u32..20,
            moved in prop::collection::vec(1_u32..200, 1..6),
            part in 0.0_f64..1.0,
        ) {
            let all: u32 = moved.iter().sum();
            let most = f64::from(fixed + all);
            let level = (f64::from(fixed) + part * f64::from(all)).round();
            let each = of_each(fixed, &moved);
            let under_load: Vec<_> = each.iter().map(|one| one.at_level(level, most)).collect();
            prop_assert_eq!(under_load.iter().sum::<u32>() + fixed, level as u32);
            for (count, of) in under_load.iter().zip(&moved) {
                let exact = (level - f64::from(fixed)) * f64::from(*of) / f64::from(all);
                // Other populations may have clients at the same place, which come before.
                prop_assert!((f64::from(*count) - exact).abs() <= moved.len() as f64);
            }
            for one in &each {
                let clients = one.moved[one.index];
                let bounds: Vec<_> = (0..clients).map(|client| one.bound(client, most)).collect();
                prop_assert!(bounds.is_sorted());
                let counted = bounds.iter().filter(|bound| level > **bound).count();
                prop_assert_eq!(counted as u32, one.at_level(level, most));
            }
        }
    }

    #[test]
    fn clients_without_a_share_stay_below_the_lowest_level() {
        let each = of_each(4, &[400, 96]);
        let at = |level: f64| {
            each.iter()
                .map(|one| one.at_level(level, 500.0))
                .collect::<Vec<_>>()
        };
        assert_eq!(at(0.0), [0, 0]);
        assert_eq!(at(4.0), [0, 0]);
        assert_eq!(at(50.0), [37, 9]);
        assert_eq!(at(500.0), [400, 96]);
        assert_eq!(MovedClients::only(10).bound(4, 10.0), 4.5);
    }
}
