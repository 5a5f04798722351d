use std::process::{Command, Stdio};

/// Runs a command whose output nobody reads to the end, like `| head`. That is not an error, and the command reports nothing.
pub fn assert_ends_quietly_if_output_closes(command: &mut Command) {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{command:?}: {output:?}"
    );
}
