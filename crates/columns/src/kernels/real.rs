//! Loops compiled for the instructions of the machine.

use pulp::{Arch, Simd, WithSimd};

/// Runs a loop compiled for the instructions of this machine. Called as `FnMut`, a closure is inlined where they are
/// known; as `FnOnce` it would be called through a function that does not know them.
pub(crate) fn run(arch: Arch, f: impl FnMut()) {
    struct Body<F>(F);

    impl<F: FnMut()> WithSimd for Body<F> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(mut self, _: S) {
            (self.0)();
        }
    }

    arch.dispatch(Body(f));
}
