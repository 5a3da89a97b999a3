//! Whose account: which role reaches the account of an object (DESIGN: fail closed on identity).
