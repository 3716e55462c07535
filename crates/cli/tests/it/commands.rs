//! What is the same everywhere: help, profiles, plans, bad usage.

#[test]
fn printed_text_is_as_recorded() {
    trycmd::TestCases::new()
        .env("COLUMNS", "100")
        .case("tests/cmd/*.trycmd");
}
