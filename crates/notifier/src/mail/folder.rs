use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use service_kit::data_dir;
use service_kit::start::DataDir;

/// The folder inside the data folder for mails without a mail server.
const NAME: &str = "mail";

/// Stores mails as files that any mail program can open.
#[derive(Debug, Clone)]
pub(super) struct Folder(DataDir);

impl Folder {
    pub(super) fn new(data_folder: DataDir) -> Self {
        Self(data_folder)
    }

    /// Stores a mail completely or not at all, readable for the owner of the process only. The same name again
    /// replaces the same mail. The error is a sentence.
    pub(super) async fn write(&self, name: String, bytes: Vec<u8>) -> Result<(), String> {
        let data_folder = self.0.clone();
        let task = move || {
            let folder = data_folder.folder().map_err(|error| error.to_string())?;
            let folder = data_dir::resolve(Some(&folder.join(NAME)));
            let folder = folder.map_err(|error| error.to_string())?;
            write(&folder, &name, &bytes).map_err(|error| format!("{}: {error}", folder.display()))
        };
        let written = tokio::task::spawn_blocking(task).await;
        written.unwrap_or_else(|_| Err("the process is stopping".to_owned()))
    }
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temporary = folder.join(format!(".{name}.part"));
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o600)
        .open(&temporary)?;
    file.write_all(bytes)?;
    file.sync_all()?;
    fs::rename(&temporary, folder.join(name))?;
    // The name must also survive a power failure before the row says that the mail is stored.
    File::open(folder)?.sync_all()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn a_mail_file_is_private_and_replaced_as_a_whole() {
        let data_folder = tempfile::tempdir().unwrap();
        let folder = Folder::new(DataDir::new(Some(data_folder.path())));
        for bytes in [b"first".to_vec(), b"again".to_vec()] {
            folder.write("a.eml".to_owned(), bytes).await.unwrap();
        }
        let path = data_folder.path().join(NAME);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join("a.eml"))), (0o700, 0o600));
        assert_eq!(fs::read(path.join("a.eml")).unwrap(), b"again");
        assert_eq!(fs::read_dir(&path).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn the_error_for_a_folder_that_cannot_be_created_names_it() {
        let data_folder = tempfile::tempdir().unwrap();
        fs::write(data_folder.path().join(NAME), "a file").unwrap();
        let folder = Folder::new(DataDir::new(Some(data_folder.path())));
        let error = folder
            .write("a.eml".to_owned(), Vec::new())
            .await
            .unwrap_err();
        assert!(error.contains("mail"), "{error}");
    }
}
