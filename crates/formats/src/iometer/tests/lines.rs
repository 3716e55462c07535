//! Which key a value belongs to.

use std::time::Duration;

use super::{Note, minimal, parse};

/// An empty value belongs to its own key, and no key takes a value from behind
/// another key. Lines that name columns, and empty lines above a value, are not
/// values.
#[test]
fn a_value_is_that_of_the_key_above_it() {
    let setup = |lines: &str| {
        let text = minimal("512,100,0,0,0,1,0,0\n");
        let (version, rest) = text.split_once('\n').unwrap();
        let whole = format!(
            "{version}\n'TEST SETUP ===\n{lines}'Ramp Up Time (s)\n\t7\n'END test setup\n{rest}"
        );
        let config = parse("x.icf", whole.as_bytes()).unwrap();
        assert_eq!(
            config.setup.ramp_up,
            Some(Duration::from_secs(7)),
            "{lines}"
        );
        config
    };
    const TIME: &str = "'Run Time\n'\thours      minutes    seconds\n\t0 10 30\n";
    let half = Some(Duration::from_secs(630));
    for (above, description) in [
        ("'Test Description\n\t\n", None),
        ("'Test Description\n\n\n", None),
        ("'Test Description\n", None),
        ("'Test Description\n\n\tmine\n\n", Some("mine")),
    ] {
        let config = setup(&format!("{above}{TIME}"));
        assert_eq!(config.setup.description.as_deref(), description, "{above}");
        assert_eq!(config.setup.run_time, half, "{above}");
        assert_eq!(config.notes, []);
    }
    // An empty line is above the columns, and columns are named without a tab.
    for time in [
        "'Run Time\n\n'\thours\n\t0 10 30\n",
        "'Run Time\n'hours\n0 10 30\n",
    ] {
        assert_eq!(setup(time).setup.run_time, half, "{time}");
    }
    // An unknown key also keeps its empty value.
    let config = setup("'Test Description\n\t\n'Colour\n\tred\n'Run Time\n");
    assert_eq!(
        (config.setup.description, config.setup.run_time),
        (None, None)
    );
    let note = |line, text: &str| Note {
        line,
        text: text.to_owned(),
    };
    assert_eq!(
        config.notes,
        [
            note(6, "Colour is not known"),
            note(7, "Run Time has no value")
        ]
    );
}

#[test]
fn sizes_may_have_a_unit() {
    let [plain, with_unit] = ["4096,100,0,0,0,1,512,1024", "4K,100,0,0,0,1,512B,1KiB"]
        .map(|line| parse("x.icf", minimal(&format!("{line}\n")).as_bytes()).unwrap());
    assert_eq!(format!("{plain:?}"), format!("{with_unit:?}"));
}
