//! Greatest common divisors, which take most of the time of exact arithmetic.

use num_bigint::{BigInt, BigUint};
use num_traits::{ToPrimitive, Zero};

/// The greatest common divisor.
#[inline]
pub(crate) fn gcd(mut a: u64, mut b: u64) -> u64 {
    if a == 1 || b == 1 {
        return 1;
    }
    if a == 0 || b == 0 {
        return a | b;
    }
    let twos = (a | b).trailing_zeros();
    a >>= a.trailing_zeros();
    while b != 0 {
        b >>= b.trailing_zeros();
        (a, b) = (a.min(b), a.abs_diff(b));
    }
    a << twos
}

/// The binary digits of the leading parts that stand for two large numbers.
const LEADING: u64 = 62;

/// The greatest common divisor of two large numbers, by Lehmer's algorithm: as long as the leading digits decide the
/// quotients of Euclid's algorithm, its steps are collected and applied to the whole numbers at once.
pub(crate) fn gcd_of_large(a: &BigUint, b: &BigUint) -> BigUint {
    let (mut a, mut b) = if a < b {
        (b.clone(), a.clone())
    } else {
        (a.clone(), b.clone())
    };
    loop {
        if let Some(small) = b.to_u64() {
            return match small {
                0 => a,
                _ => gcd(small, (a % small).to_u64().unwrap_or(0)).into(),
            };
        }
        match collected_steps(&a, &b) {
            Some([[p, q], [r, s]]) => {
                let (x, y) = (BigInt::from(a), BigInt::from(b));
                let (next, last) = (&x * p + &y * q, x * r + y * s);
                (a, b) = (next.into_parts().1, last.into_parts().1);
            }
            None => {
                let rest = &a % &b;
                (a, b) = (b, rest);
            }
        }
    }
}

/// The matrix of several steps of Euclid's algorithm on numbers `a >= b`, as far as their leading digits decide the
/// quotients; `None` if they do not decide the first one.
fn collected_steps(a: &BigUint, b: &BigUint) -> Option<[[i64; 2]; 2]> {
    let rest = a.bits().checked_sub(LEADING)?;
    let (mut x, mut y) = ((a >> rest).to_i64()?, (b >> rest).to_i64()?);
    let [[mut p, mut q], [mut r, mut s]] = [[1i64, 0], [0, 1]];
    // The numbers lie between x + p and x + q, and between y + r and y + s, in units of 2^rest: where both bounds have
    // one quotient, it is that of the numbers.
    while y + r != 0 && y + s != 0 {
        let quotient = (x + p) / (y + r);
        if quotient != (x + q) / (y + s) {
            break;
        }
        (p, r) = (r, p - quotient * r);
        (q, s) = (s, q - quotient * s);
        (x, y) = (y, x - quotient * y);
    }
    (q != 0).then_some([[p, q], [r, s]])
}

/// True if it is 1 or -1.
pub(crate) fn is_unit(n: &BigInt) -> bool {
    n.magnitude().to_u64() == Some(1)
}

/// The greatest common divisor of two large numbers of either sign, which is positive unless both are 0.
pub(crate) fn gcd_of_large_integers(a: &BigInt, b: &BigInt) -> BigInt {
    debug_assert!(!a.is_zero() || !b.is_zero(), "a fraction has a denominator");
    gcd_of_large(a.magnitude(), b.magnitude()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn euclid(a: BigUint, b: BigUint) -> BigUint {
        if b.is_zero() { a } else { euclid(b.clone(), a % b) }
    }

    proptest! {
        #![proptest_config(tautomer_testing::random_cases(512))]

        #[test]
        fn divisors_are_those_of_euclid(
            a in prop::collection::vec(any::<u32>(), 0..40),
            b in prop::collection::vec(any::<u32>(), 0..40),
            common in prop::collection::vec(any::<u32>(), 1..8),
        ) {
            let [a, b, common] = [a, b, common].map(BigUint::new);
            let (a, b) = (a * &common, b * &common);
            prop_assert_eq!(gcd_of_large(&a, &b), euclid(a.clone(), b.clone()));
            prop_assert_eq!(gcd_of_large(&b, &a), euclid(a, b));
        }

        #[test]
        fn divisors_of_small_numbers_are_those_of_euclid(a in any::<u64>(), b in any::<u64>(), c in 0u64..1 << 20) {
            for (a, b) in [(a, b), ((a >> 40) * c, (b >> 40) * c), (a, c), (c, b), (0, b), (a, 0)] {
                prop_assert_eq!(BigUint::from(gcd(a, b)), euclid(a.into(), b.into()));
            }
        }
    }

    #[test]
    fn numbers_with_long_sequences_of_quotients_have_divisors() {
        // Neighbouring Fibonacci numbers take the most steps.
        let (mut a, mut b) = (BigUint::from(1u32), BigUint::from(1u32));
        for _ in 0..2000 {
            (a, b) = (&a + &b, a);
        }
        assert_eq!(gcd_of_large(&a, &b), BigUint::from(1u32));
        let power = BigUint::from(1u32) << 3000u32;
        assert_eq!(gcd_of_large(&power, &(&power << 5u32)), power);
        assert_eq!(gcd_of_large(&power, &(&power - 1u32)), BigUint::from(1u32));
    }
}
