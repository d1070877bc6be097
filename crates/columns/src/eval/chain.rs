//! Chains of arithmetic on floats: every operation takes the result of the one before, which stays in registers.

#![expect(
    clippy::needless_range_loop,
    clippy::manual_memcpy,
    reason = "loops over several arrays of one length; copies would be calls"
)]

use pulp::{Arch, Simd, WithSimd};

/// Vectors that are computed at once.
const WIDTH: usize = 8;

/// What an operation is applied to beside the result so far.
#[derive(Debug, Clone, Copy)]
pub(super) enum Operand<'a, N> {
    /// A value for each row.
    Each(&'a [N]),
    /// One value.
    Same(N),
}

/// An operation with another value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Two {
    Add,
    Subtract,
    /// The other value minus the result so far.
    SubtractFrom,
    Multiply,
    Divide,
    /// The other value divided by the result so far.
    DivideInto,
}

/// An operation on the result so far alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum One {
    Negative,
    Abs,
    Sqrt,
}

/// One operation, or a run of them.
#[derive(Debug, Clone, Copy)]
pub(super) enum Link<'a, N> {
    Two(Two, Operand<'a, N>),
    One(One),
    /// Times the first, plus the second, for each pair.
    Affine(&'a [(N, N)]),
    /// Times the row's value, plus the number, for each number.
    Horner(&'a [N], &'a [N]),
}

/// Floats that chains are computed on.
pub(super) trait Float: Copy + Default {
    type Vector<S: Simd>: Copy;
    fn vectors<S: Simd>(values: &[Self]) -> &[Self::Vector<S>];
    fn vectors_mut<S: Simd>(values: &mut [Self]) -> &mut [Self::Vector<S>];
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Vector<S>;
    fn two<S: Simd>(simd: S, op: Two, a: Self::Vector<S>, b: Self::Vector<S>) -> Self::Vector<S>;
    fn one<S: Simd>(simd: S, op: One, a: Self::Vector<S>) -> Self::Vector<S>;
}

macro_rules! float {
    ($N:ident, $V:ident, $as:ident, $as_mut:ident, $splat:ident, $add:ident $sub:ident $mul:ident $div:ident,
     $neg:ident $abs:ident $sqrt:ident) => {
        impl Float for $N {
            type Vector<S: Simd> = S::$V;

            #[inline(always)]
            fn vectors<S: Simd>(values: &[Self]) -> &[S::$V] {
                S::$as(values).0
            }

            #[inline(always)]
            fn vectors_mut<S: Simd>(values: &mut [Self]) -> &mut [S::$V] {
                S::$as_mut(values).0
            }

            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> S::$V {
                simd.$splat(value)
            }

            #[inline(always)]
            fn two<S: Simd>(simd: S, op: Two, a: S::$V, b: S::$V) -> S::$V {
                match op {
                    Two::Add => simd.$add(a, b),
                    Two::Subtract => simd.$sub(a, b),
                    Two::SubtractFrom => simd.$sub(b, a),
                    Two::Multiply => simd.$mul(a, b),
                    Two::Divide => simd.$div(a, b),
                    Two::DivideInto => simd.$div(b, a),
                }
            }

            #[inline(always)]
            fn one<S: Simd>(simd: S, op: One, a: S::$V) -> S::$V {
                match op {
                    One::Negative => simd.$neg(a),
                    One::Abs => simd.$abs(a),
                    One::Sqrt => simd.$sqrt(a),
                }
            }
        }
    };
}
float!(f64, f64s, as_simd_f64s, as_mut_simd_f64s, splat_f64s, add_f64s sub_f64s mul_f64s div_f64s,
    neg_f64s abs_f64s sqrt_f64s);
float!(f32, f32s, as_simd_f32s, as_mut_simd_f32s, splat_f32s, add_f32s sub_f32s mul_f32s div_f32s,
    neg_f32s abs_f32s sqrt_f32s);

/// Computes a chain for all rows of `out`; every operand has as many, a multiple of 128.
pub(super) fn run<N: Float>(arch: Arch, out: &mut [N], start: Operand<'_, N>, links: &[Link<'_, N>]) {
    arch.dispatch(Chain { out, start, links });
}

struct Chain<'a, N> {
    out: &'a mut [N],
    start: Operand<'a, N>,
    links: &'a [Link<'a, N>],
}

impl<N: Float> WithSimd for Chain<'_, N> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (at, out) in N::vectors_mut::<S>(self.out).chunks_exact_mut(WIDTH).enumerate() {
            // The vectors of this group, of which 128 rows have a whole number.
            macro_rules! group {
                ($values:expr) => {
                    &N::vectors::<S>($values)[at * WIDTH..][..WIDTH]
                };
            }
            // Loops instead of functions of arrays, whose closures would not know the instructions of the machine.
            let mut sum = [N::splat(simd, N::default()); WIDTH];
            match self.start {
                Operand::Each(values) => {
                    let values = group!(values);
                    for i in 0..WIDTH {
                        sum[i] = values[i];
                    }
                }
                Operand::Same(value) => sum = [N::splat(simd, value); WIDTH],
            }
            // One arm for each operation, so that each is a loop without branches.
            macro_rules! each {
                ($op:expr, $with:expr) => {
                    match $with {
                        Operand::Each(values) => {
                            let values = group!(values);
                            for i in 0..WIDTH {
                                sum[i] = N::two(simd, $op, sum[i], values[i]);
                            }
                        }
                        Operand::Same(value) => {
                            let value = N::splat(simd, value);
                            for i in 0..WIDTH {
                                sum[i] = N::two(simd, $op, sum[i], value);
                            }
                        }
                    }
                };
            }
            for link in self.links {
                match *link {
                    Link::Two(Two::Add, with) => each!(Two::Add, with),
                    Link::Two(Two::Subtract, with) => each!(Two::Subtract, with),
                    Link::Two(Two::SubtractFrom, with) => each!(Two::SubtractFrom, with),
                    Link::Two(Two::Multiply, with) => each!(Two::Multiply, with),
                    Link::Two(Two::Divide, with) => each!(Two::Divide, with),
                    Link::Two(Two::DivideInto, with) => each!(Two::DivideInto, with),
                    Link::One(One::Negative) => {
                        for i in 0..WIDTH {
                            sum[i] = N::one(simd, One::Negative, sum[i]);
                        }
                    }
                    Link::One(One::Abs) => {
                        for i in 0..WIDTH {
                            sum[i] = N::one(simd, One::Abs, sum[i]);
                        }
                    }
                    Link::One(One::Sqrt) => {
                        for i in 0..WIDTH {
                            sum[i] = N::one(simd, One::Sqrt, sum[i]);
                        }
                    }
                    Link::Affine(pairs) => {
                        for &(factor, term) in pairs {
                            let (factor, term) = (N::splat(simd, factor), N::splat(simd, term));
                            for i in 0..WIDTH {
                                let product = N::two(simd, Two::Multiply, sum[i], factor);
                                sum[i] = N::two(simd, Two::Add, product, term);
                            }
                        }
                    }
                    Link::Horner(values, terms) => {
                        let values = group!(values);
                        for &term in terms {
                            let term = N::splat(simd, term);
                            for i in 0..WIDTH {
                                let product = N::two(simd, Two::Multiply, sum[i], values[i]);
                                sum[i] = N::two(simd, Two::Add, product, term);
                            }
                        }
                    }
                }
            }
            for i in 0..WIDTH {
                out[i] = sum[i];
            }
        }
    }
}
