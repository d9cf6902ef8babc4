//! A rate never stands without its denominator; and few trials prove little, which the bound says.

/// Percent of certainty of [`Rate::upper_bound`].
pub const CERTAINTY: u32 = 95;

/// Halvings of the interval in which the bound is looked for; what is left is finer than a double can say.
const HALVINGS: u32 = 60;

/// A numerator over a denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// What was counted.
    pub numerator: u64,
    /// Among how many.
    pub denominator: u64,
}

impl Rate {
    /// The value; `None` while there is nothing to divide by.
    #[must_use]
    pub fn value(self) -> Option<f64> {
        (self.denominator > 0).then(|| real(self.numerator) / real(self.denominator))
    }

    /// The one-sided upper bound of Clopper and Pearson at 95 %: a true rate above it would have shown more than the
    /// numerator in 95 of 100 such series of independent trials. For 0 of n it is close to 3 / n. `None` while there is
    /// nothing to divide by.
    #[must_use]
    pub fn upper_bound(self) -> Option<f64> {
        if self.denominator == 0 {
            return None;
        }
        if self.numerator >= self.denominator {
            return Some(1.0);
        }
        let doubt = 1.0 - f64::from(CERTAINTY) / 100.0;
        let (mut low, mut high) = (0.0_f64, 1.0_f64);
        for _ in 0..HALVINGS {
            let middle = f64::midpoint(low, high);
            if self.ln_at_most(middle) > doubt.ln() {
                low = middle;
            } else {
                high = middle;
            }
        }
        Some(high)
    }

    /// Logarithm of the probability of at most `numerator` hits where each trial hits with `p`. Terms are added as
    /// logarithms, because the first one of a long series is smaller than a double can say.
    fn ln_at_most(self, p: f64) -> f64 {
        let n = real(self.denominator);
        let odds = p.ln() - (-p).ln_1p();
        let mut term = n * (-p).ln_1p();
        let mut sum = term;
        for i in 0..self.numerator {
            term += ((n - real(i)) / (real(i) + 1.0)).ln() + odds;
            let (great, small) = if sum > term { (sum, term) } else { (term, sum) };
            sum = great + (small - great).exp().ln_1p();
        }
        sum
    }
}

/// Counts beyond 2^53 lose their last digits here, and nothing else.
fn real(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(numerator: u64, denominator: u64) -> f64 {
        Rate { numerator, denominator }.upper_bound().unwrap()
    }

    #[test]
    fn nothing_divided_by_nothing_is_no_rate() {
        let none = Rate { numerator: 0, denominator: 0 };
        assert_eq!((none.value(), none.upper_bound()), (None, None));
        assert_eq!(Rate { numerator: 1, denominator: 4 }.value(), Some(0.25));
    }

    /// For no hit the bound has a closed form, 1 − 0.05^(1/n), which the rule of three comes near.
    #[test]
    fn no_hit_gives_the_closed_form_and_nearly_three_over_n() {
        for n in [1_u64, 2, 10, 59, 100, 3_000, 1_000_000] {
            let exact = -f64::exp_m1(0.05_f64.ln() / real(n));
            assert!((bound(0, n) / exact - 1.0).abs() < 1e-9, "{n}: {} and {exact}", bound(0, n));
        }
        assert!((bound(0, 3_000) * 1_000.0 - 1.0).abs() < 0.002);
    }

    /// The 0.95 quantiles of Beta(k + 1, n − k), found apart from this code by summing the binomial terms themselves; the
    /// last one has a closed form, 0.95^(1/n).
    #[test]
    fn hits_give_the_exact_limits() {
        for (hits, trials, expected) in [
            (1, 10, 0.394_16),
            (2, 10, 0.506_90),
            (5, 10, 0.777_56),
            (1, 100, 0.046_56),
            (5, 100, 0.102_25),
            (9, 10, 0.994_88),
        ] {
            assert!(
                (bound(hits, trials) - expected).abs() < 5e-5,
                "{hits}/{trials}: {}",
                bound(hits, trials)
            );
        }
        assert!((bound(7, 7) - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn long_series_do_not_lose_their_first_term() {
        let far = bound(50_000, 100_000);
        assert!((0.502..0.503).contains(&far), "{far}");
    }
}
