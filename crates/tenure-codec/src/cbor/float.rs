//! Floats in the smallest of three widths that keeps their value, and half floats.

/// Writes a finite float as a data item.
pub(crate) fn write(number: f64, out: &mut Vec<u8>) {
    let single = number as f32;
    if f64::from(single).to_bits() != number.to_bits() {
        out.push(0xfb);
        return out.extend_from_slice(&number.to_be_bytes());
    }
    match half(single) {
        Some(bits) => {
            out.push(0xf9);
            out.extend_from_slice(&bits.to_be_bytes());
        }
        None => {
            out.push(0xfa);
            out.extend_from_slice(&single.to_be_bytes());
        }
    }
}

/// Returns the bits of the half float with the same value, if there is one.
fn half(single: f32) -> Option<u16> {
    let bits = single.to_bits();
    let sign = (bits >> 16) as u16 & 0x8000;
    let (exponent, fraction) = (bits >> 23 & 0xff, bits & 0x7f_ffff);
    match exponent {
        0 if fraction == 0 => Some(sign),
        113..=142 if fraction & 0x1fff == 0 => {
            Some(sign | ((exponent - 112) << 10) as u16 | (fraction >> 13) as u16)
        }
        // Subnormal: a multiple of 2^-24 below 2^-14.
        103..=112 => {
            let (whole, shift) = (fraction | 0x80_0000, 126 - exponent);
            (whole & ((1 << shift) - 1) == 0).then_some(sign | (whole >> shift) as u16)
        }
        _ => None,
    }
}

/// Returns the value of a half float.
pub(crate) fn from_half(bits: u16) -> f64 {
    let sign = if bits & 0x8000 == 0 { 1.0 } else { -1.0 };
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    sign * match exponent {
        0 => fraction * 2f64.powi(-24),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * 2f64.powi(exponent - 25),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finite_half_float_is_written_as_itself() {
        for bits in 0..=u16::MAX {
            let number = from_half(bits);
            if number.is_finite() {
                let mut out = Vec::new();
                write(number, &mut out);
                assert_eq!(out, [&[0xf9][..], &bits.to_be_bytes()].concat(), "{bits:#x}");
            }
        }
    }

    #[test]
    fn a_float_takes_the_smallest_width_that_keeps_it() {
        for (number, bytes) in [
            (1.5, 3),
            (65504.0, 3),
            (65505.0, 5),
            (100_000.0, 5),
            (1e-7, 9),
            (3.402_823_466_385_288_6e38, 5),
            (2f64.powi(-24), 3),
            (2f64.powi(-25), 5),
            (1.1, 9),
            (1e300, 9),
            (-0.0, 3),
        ] {
            let mut out = Vec::new();
            write(number, &mut out);
            assert_eq!(out.len(), bytes, "{number}");
        }
    }
}
