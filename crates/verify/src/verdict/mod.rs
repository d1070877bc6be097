//! Reports about rules: verdicts, the evidence for them, lock files and their table.

pub(crate) mod certificate;
pub(crate) mod evidence;
pub(crate) mod fingerprint;
pub(crate) mod level;
pub(crate) mod lock;
pub(crate) mod options;
pub(crate) mod report;
pub(crate) mod shipped;
pub(crate) mod table;
