//! The data directory: SQLite files, mails, and keys that were not configured.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, ErrorKind, Read, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use crate::config::SecretKey;
use crate::crypto::random_bytes;
use base64::{Engine, engine::general_purpose::STANDARD};

/// The directory if none is configured, relative to the working directory.
pub const DEFAULT: &str = "data";

/// Why the data directory cannot be used. The message names the path.
#[derive(Debug, thiserror::Error)]
pub enum DataDirError {
    /// A file operation failed.
    #[error("{path}: {source}")]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// A key file contains something else.
    #[error(
        "{0}: not a key of 32 bytes in base64; restore the file, or remove it if nothing was sealed with it"
    )]
    BadKey(PathBuf),
}

/// Returns the absolute path of the data directory, and creates it, for its owner only, if it is missing.
pub fn resolve(given: Option<&Path>) -> Result<PathBuf, DataDirError> {
    let path = given.unwrap_or(Path::new(DEFAULT));
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(failed(path))?;
    path.canonicalize().map_err(failed(path))
}

/// Returns the absolute path of the data directory, without creating it. Anything else at this path is an error.
pub fn locate(given: Option<&Path>) -> Result<PathBuf, DataDirError> {
    let path = given.unwrap_or(Path::new(DEFAULT));
    match fs::metadata(path) {
        Ok(found) if !found.is_dir() => Err(failed(path)(ErrorKind::NotADirectory.into())),
        Err(error) if error.kind() != ErrorKind::NotFound || path.is_symlink() => {
            Err(failed(path)(error))
        }
        _ => std::path::absolute(path).map_err(failed(path)),
    }
}

/// Returns the key in the file `name` of the directory. The first call creates it, with mode 0600.
///
/// Several processes may call this at the same time: the file appears complete or not at all, the first one wins, and all get the
/// same key.
pub fn key_file(dir: &Path, name: &str) -> Result<SecretKey, DataDirError> {
    let path = dir.join(name);
    match File::open(&path) {
        Ok(file) => read_key(file, &path),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            make_key(dir, &path)?;
            read_key(File::open(&path).map_err(failed(&path))?, &path)
        }
        Err(error) => Err(failed(&path)(error)),
    }
}

fn read_key(mut file: File, path: &Path) -> Result<SecretKey, DataDirError> {
    let mode = file.metadata().map_err(failed(path))?.permissions().mode();
    if mode & 0o077 != 0 {
        log::warn!(
            "{} is readable by other users (mode {:o})",
            path.display(),
            mode & 0o777
        );
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(failed(path))?;
    text.parse().map_err(|_| DataDirError::BadKey(path.into()))
}

/// Writes a new key beside `path` and links it there. Unlike a rename, a link never replaces a file that another process created
/// in the meantime.
fn make_key(dir: &Path, path: &Path) -> Result<(), DataDirError> {
    let suffix: String = random_bytes::<8>()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let temporary = dir.join(format!(".key-{suffix}"));
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&temporary)
        .map_err(failed(&temporary))?;
    let written = writeln!(file, "{}", STANDARD.encode(random_bytes::<32>()))
        .and_then(|()| file.sync_all())
        .and_then(|()| match fs::hard_link(&temporary, path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            other => other,
        })
        // The directory entry must survive a power loss as surely as the data that the key will seal.
        .and_then(|()| File::open(dir)?.sync_all());
    let removed = fs::remove_file(&temporary);
    written.map_err(failed(path))?;
    removed.map_err(failed(&temporary))
}

fn failed(path: &Path) -> impl FnOnce(io::Error) -> DataDirError {
    let path = path.to_path_buf();
    move |source| DataDirError::Io { path, source }
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt, thread};

    use super::{DataDirError, key_file, resolve};

    #[test]
    fn a_key_is_made_once_for_all_who_ask_at_once_and_only_its_owner_reads_it() {
        let parent = tempfile::tempdir().unwrap();
        let dir = resolve(Some(&parent.path().join("a/b"))).unwrap();
        let keys: Vec<[u8; 32]> = thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| *key_file(&dir, "k").unwrap().expose()))
                .collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap())
                .collect()
        });
        assert!(keys.windows(2).all(|pair| pair.first() == pair.last()));
        assert_ne!(keys.first().unwrap(), &[0; 32]);
        let mode = |path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(dir.join("k")), mode(dir.clone())), (0o600, 0o700));
        assert_eq!(
            fs::read_dir(&dir).unwrap().count(),
            1,
            "no temporary file stays"
        );
    }

    #[test]
    fn a_damaged_key_stops_the_start_and_is_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("k"), "c2hvcnQ=\n").unwrap();
        let error = key_file(dir.path(), "k").unwrap_err();
        assert!(matches!(error, DataDirError::BadKey(_)), "{error}");
        assert_eq!(
            fs::read_to_string(dir.path().join("k")).unwrap(),
            "c2hvcnQ=\n"
        );
    }
}
