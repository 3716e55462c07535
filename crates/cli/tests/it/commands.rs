//! Outputs that are the same on every machine: help, profiles, plans, usage errors.

#[test]
fn printed_text_is_as_recorded() {
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .case("tests/cmd/*.trycmd");
}
