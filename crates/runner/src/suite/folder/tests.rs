use super::*;

#[test]
fn a_damaged_pass_can_be_deleted_and_one_of_a_newer_build_is_kept() {
    let message = |text: &str| {
        let error = RunDoc::parse(text.as_bytes(), Path::new("pass-1.json")).unwrap_err();
        unreadable(error).to_string()
    };
    let remedy = "; delete that file, and the suite measures this pass again";
    for damaged in [
        r#"{"schema_version": 1, "#,
        "{}",
        r#"{"schema_version": 1}"#,
    ] {
        let text = message(damaged);
        assert!(text.starts_with("failed to read pass-1.json: "), "{text}");
        assert!(text.ends_with(remedy), "{text}");
    }
    assert!(!message(r#"{"schema_version": 2}"#).contains("delete"));
}
