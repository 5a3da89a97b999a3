//! Tests of state.
