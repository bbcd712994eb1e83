//! The link that signs a browser in as the user of this process. It is shown on a terminal; elsewhere it is in a file that its owner
//! alone can read, so that it is never in a log.

use std::{
    fs,
    io::{self, IsTerminal},
    path::Path,
};

/// Returns what to print: the link if the output is a terminal, else the file that it was written to.
pub fn describe_link(link: &str, file: &Path) -> io::Result<String> {
    describe(link, file, io::stdout().is_terminal())
}

fn describe(link: &str, file: &Path, is_terminal: bool) -> io::Result<String> {
    if is_terminal {
        return Ok(format!("In the browser, once, within ten minutes: {link}"));
    }
    let failed = |error: io::Error| {
        io::Error::new(error.kind(), format!("cannot write the sign-in link to {}: {error}", file.display()))
    };
    // A file that exists keeps its mode, and may be a link to another place.
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    tenure_files::create_new(file, format!("{link}\n").as_bytes()).map_err(failed)?;
    let file = std::path::absolute(file).map_err(failed)?;
    Ok(format!("In the browser: open the link in {}, once, within ten minutes", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_in_the_output_of_a_terminal_only() {
        let directory = tempfile::TempDir::new().unwrap();
        let file = directory.path().join("sign-in-link");
        fs::write(&file, "of an earlier start").unwrap();
        let link = "https://127.0.0.1:6443/ui/#code=secret";
        assert!(describe(link, &file, true).unwrap().contains(link));
        let printed = describe(link, &file, false).unwrap();
        assert!(!printed.contains("secret") && printed.contains("sign-in-link"), "{printed}");
        assert_eq!(fs::read_to_string(&file).unwrap().trim(), link);
        assert!(tenure_files::is_private(&file).unwrap());
    }
}
