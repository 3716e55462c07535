//! Names and notes that contain markup.

use std::fs;

use resvg::usvg::roxmltree;
use smbench_publish::save;
use smbench_report::doc::Named;
use smbench_report::study::ComparisonKind;

use crate::samples::{comparison, dropped, point, run, study};

const EVIL: &str = "</title></svg>--><script>alert(1)</script><img src=http://192.0.2.1/x onerror='x'>\
    \"'&amp;]]>\u{1}\u{1b}[2J\nline|`*_[x](http://192.0.2.1)\u{ffff}";

#[test]
fn text_stays_text() {
    let mut bad = dropped(point(2, 1, 6.0, 1000));
    bad.invalid_reason = Some(EVIL.to_owned());
    bad.dropouts[0].reason = EVIL.to_owned();
    let op = bad.ops["read"].clone();
    bad.ops.insert(EVIL.to_owned(), op);
    let mut doc = run(vec![point(1, 1, 5.0, 1000), bad]);
    doc.server.url = EVIL.to_owned();
    doc.server.dialect = EVIL.to_owned();
    doc.server.notes = vec![EVIL.to_owned()];
    doc.outcome_reason = Some(EVIL.to_owned());
    doc.leftover = Some(EVIL.to_owned());
    doc.plan.profile = EVIL.to_owned();
    doc.plan.digest = EVIL.to_owned();
    doc.plan.generator.driver = Some(Named::Foreign(EVIL.to_owned()));
    let mut study = study(&[(EVIL, doc)]);
    study.doc.name = EVIL.to_owned();
    study.doc.title = EVIL.to_owned();
    study.doc.started = EVIL.to_owned();
    study.doc.command = vec![EVIL.to_owned()];
    study.doc.profiles = vec![EVIL.to_owned()];
    study.doc.servers[0].url = Some(EVIL.to_owned());
    study.doc.servers[0].notes = vec![EVIL.to_owned()];
    study.doc.servers[0].settings = vec![EVIL.to_owned()];
    study.doc.servers[0].client = vec![EVIL.to_owned()];
    study.doc.comparisons = vec![comparison(EVIL, ComparisonKind::Change, &[EVIL])];

    let folder = tempfile::tempdir().unwrap();
    let written = save(&study, folder.path()).unwrap();
    let page = fs::read_to_string(&written.page).unwrap();
    for tag in ["<script", "<img", "</title></svg>", "-->"] {
        assert!(!page.contains(tag), "{tag}");
    }
    assert!(
        !page.chars().any(|c| c.is_control() && c != '\n'),
        "control characters"
    );
    assert!(page.contains("&lt;script&gt;alert(1)"), "shown as it is");
    let markdown = fs::read_to_string(&written.markdown).unwrap();
    // Text between fences is not markup, so only every other piece is checked: the
    // first, the third and so on.
    let prose: Vec<_> = markdown.split("\n```\n").step_by(2).collect();
    assert_eq!(
        prose.len(),
        4,
        "the command, the settings and what clients ask for are between fences"
    );
    let markdown = prose.concat();
    assert!(!markdown.contains("<script"), "{markdown}");
    assert!(!markdown.contains("[x](http"), "{markdown}");
    let mut pictures = 0;
    for entry in fs::read_dir(&written.plots).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(path.parent(), Some(&*written.plots), "within the folder");
        if path.extension().unwrap() == "svg" {
            let svg = fs::read_to_string(&path).unwrap();
            let tree = roxmltree::Document::parse(&svg).unwrap();
            let foreign = tree.descendants().find(|node| {
                let name = node.tag_name().name();
                ["script", "img", "image", "a", "style"].contains(&name)
            });
            assert_eq!(foreign, None);
            pictures += 1;
        }
    }
    assert!(pictures > 0);
}
