//! A folder as store: temp file, fsync, rename, fsync of the folder; mode 0600; previous versions kept.
