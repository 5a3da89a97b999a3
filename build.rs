//! How development builds are linked.
//!
//! A position-independent program carries a table of the places that the loader has to adjust. In a development build of
//! AWS's SDK that is 6 MB, all of which is read, and stays in memory, at each start. The packed form is a hundredth of it.
//! It needs glibc 2.36 where the program runs, so a release build, which may go elsewhere, does not have it.
//!
//! Much of such a build is the same function over and over, once for each type. LLD, which links it, folds those that are alike
//! byte by byte: 3 MB less in memory. No code here compares addresses of functions.

use std::env;
use std::process::Command;

/// The first glibc that reads the packed form.
const GLIBC: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if is_development_build_for_here() && glibc().is_some_and(|version| version >= GLIBC) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
        println!("cargo::rustc-link-arg-bins=-Wl,--icf=all");
    }
}

fn is_development_build_for_here() -> bool {
    let variable = |name| env::var(name).unwrap_or_default();
    let target = variable("TARGET");
    variable("PROFILE") == "debug" && target == variable("HOST") && target == "x86_64-unknown-linux-gnu"
}

/// The version of the C library of this machine: `glibc 2.36`.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
