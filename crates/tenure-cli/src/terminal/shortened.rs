//! Text cut to a width.

/// Returns text of at most that many characters; a cut is shown as `…`.
pub fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    text.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_is_visible() {
        assert_eq!(shortened("kube-controller-manager", 8), "kube-co…");
        assert_eq!(shortened("kubectl", 7), "kubectl");
    }
}
