use super::*;

#[test]
fn a_damaged_pass_can_be_deleted_and_one_of_a_newer_build_is_kept() {
    let told = |text: &str| {
        let error = RunDoc::parse(text.as_bytes(), Path::new("pass-1.json")).unwrap_err();
        unreadable(error).to_string()
    };
    let remedy = "; delete that file, and the suite measures this pass again";
    for damaged in [
        r#"{"schema_version": 1, "#,
        "{}",
        r#"{"schema_version": 1}"#,
    ] {
        let text = told(damaged);
        assert!(text.starts_with("failed to read pass-1.json: "), "{text}");
        assert!(text.ends_with(remedy), "{text}");
    }
    assert!(!told(r#"{"schema_version": 2}"#).contains("delete"));
}

#[test]
fn passes_alternate_between_servers() {
    let order: Vec<_> = {
        let server = |name: &str| smbench_report::study::StudyServerDoc {
            name: name.to_owned(),
            url: None,
            notes: Vec::new(),
            settings: Vec::new(),
            client: Vec::new(),
        };
        let study = StudyDoc {
            schema_version: 1,
            tool: smbench_report::doc::ToolDoc::this(),
            name: String::new(),
            title: String::new(),
            started: String::new(),
            command: Vec::new(),
            profiles: vec!["p".to_owned(), "q".to_owned()],
            load_points: vec![1],
            passes: 2,
            servers: vec![server("a"), server("b")],
            transfers: Vec::new(),
            comparisons: Vec::new(),
        };
        slots(&study).into_iter()
    }
    .map(|slot| (slot.pass, slot.profile, slot.server))
    .collect();
    assert_eq!(
        order,
        [
            (1, 0, 0),
            (1, 0, 1),
            (1, 1, 0),
            (1, 1, 1),
            (2, 0, 0),
            (2, 0, 1),
            (2, 1, 0),
            (2, 1, 1),
        ]
    );
}
