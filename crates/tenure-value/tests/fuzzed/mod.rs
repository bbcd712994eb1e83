//! The bodies of the fuzz targets: properties of arbitrary input, also run by an ordinary test.

use tenure_value::{Error, Limits, json, yaml};

/// A text that parses as JSON formats and parses to the same document, which is then a fixed point; any other
/// text is rejected with a position inside it.
pub fn json(bytes: &[u8]) {
    match json::parse_checked(bytes, &Limits::default()) {
        Ok((value, _)) => {
            assert_eq!(json::parse(bytes, &Limits::default()).as_ref(), Ok(&value));
            let mut reader = json::Reader::new(Limits::default());
            assert_eq!(reader.read_base(bytes).as_ref(), Ok(&value));
            assert_eq!(reader.read_similar(bytes).as_ref(), Ok(&value));
            let written = json::to_vec(&value);
            let again = json::parse(&written, &Limits::default());
            assert_eq!(reader.read_similar(&written), again);
            let read = json::parse(&written, &Limits::default()).unwrap();
            assert!(read.same(&value));
            assert_eq!(json::parse(&json::to_vec(&read), &Limits::default()), Ok(read));
        }
        Err(error) => refused(&error, bytes),
    }
}

/// Each document of a text that parses as YAML formats and parses to the same document, as YAML and as JSON.
pub fn yaml(bytes: &[u8]) {
    match yaml::parse_all(bytes, &Limits::default()) {
        Ok(documents) => {
            for document in documents {
                let written = yaml::to_string(&document);
                assert_eq!(
                    yaml::parse(written.as_bytes(), &Limits::default()).as_ref(),
                    Ok(&document),
                    "{written}"
                );
                let written = json::to_vec(&document);
                assert_eq!(yaml::parse_any(&written, &Limits::default()).as_ref(), Ok(&document));
            }
        }
        Err(error) => refused(&error, bytes),
    }
    let _ = yaml::parse_any_checked(bytes, &Limits::default());
}

fn refused(error: &Error, bytes: &[u8]) {
    assert!(error.position().is_none_or(|position| position.offset <= bytes.len()), "{error}");
    assert!(!error.problem().is_empty());
}
