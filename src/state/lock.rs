//! The lock of an instance's state: a side file that a dead holder does not keep.
