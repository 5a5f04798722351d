/// Returns a percentile, in thousandths, of sorted values by the nearest rank; NaN without values.
pub(crate) fn per_mille(sorted: &[f64], thousandths: usize) -> f64 {
    let rank = (sorted.len() * thousandths).div_ceil(1000);
    let value = sorted.get(rank.saturating_sub(1));
    value.copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::per_mille;

    #[test]
    fn a_percentile_is_a_value_that_was_measured() {
        let values: Vec<f64> = (1..=200).map(f64::from).collect();
        assert_eq!(per_mille(&values, 500), 100.0);
        assert_eq!(per_mille(&values, 990), 198.0);
        assert_eq!(per_mille(&values, 1000), 200.0);
        assert!(per_mille(&[], 500).is_nan());
    }
}
