//! Rules, and tests of them.
