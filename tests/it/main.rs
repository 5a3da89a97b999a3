//! Integration tests: the real binary against the local AWS of `localstack/`, two accounts, real HTTP.
//!
//! One emulator serves the whole test run; every test has accounts, an Argo CD double, a proxy and a state folder of its
//! own, so tests run side by side.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, clippy::print_stderr, missing_docs)]

mod state_commands;
mod support;

mod apply;
mod argocd;
mod argocd_double;
mod argocd_drain;
mod argocd_errors;
mod benchmark;
mod broken_documents;
mod complaints;
mod copies;
mod crash;
mod crash_sample;
mod destroy;
mod disk;
mod drift;
mod end_state;
mod existing_vpc;
mod facts;
mod faults;
mod guards;
mod identity;
mod import;
mod kubeconfig;
mod old_python;
mod orphans;
mod outputs;
mod outside;
mod rebuild;
mod renames;
mod signals;
mod state;
mod team_state;
mod view;
