//! Setups that are refused.

use super::*;

#[test]
fn a_line_that_makes_no_sense_or_is_not_supported_is_named() {
    for (lines, expected) in [
        ("", "x.icf:4: `A` has no line with a size and its numbers"),
        (
            "512,60,0,0,0,1,0,0\n512,30,0,0,0,1,0,0\n",
            "x.icf:4: the % of size of `A` add up to 90, not to 100",
        ),
        (
            "512,100,0,0,0,1,0\n",
            "x.icf:6: `512,100,0,0,0,1,0` has 7 of the 8 fields \
             size,% of size,% reads,% random,delay,burst,align,reply",
        ),
        (
            "512,100,0,0,0,1,0,0,9\n",
            "x.icf:6: `512,100,0,0,0,1,0,0,9` has 9 of the 8 fields \
             size,% of size,% reads,% random,delay,burst,align,reply",
        ),
        (
            "512,100,x,0,0,1,0,0\n",
            "x.icf:6: % reads is `x`, and not a whole number",
        ),
        (
            "512,100,-1,0,0,1,0,0\n",
            "x.icf:6: % reads is `-1`, and not a whole number",
        ),
        (
            "512,100,0,101,0,1,0,0\n",
            "x.icf:6: % random is 101: at most 100 make sense",
        ),
        (
            "0,100,0,0,0,1,0,0\n",
            "x.icf:6: size is 0: it must be at least 1",
        ),
        (
            "4x,100,0,0,0,1,0,0\n",
            "x.icf:6: size is wrong: `4x` is not a size: use bytes or a unit, for example 4096, \
             4KiB or 10MiB",
        ),
        (
            "2147483648,100,0,0,0,1,0,0\n",
            "x.icf:6: size is 2147483648: requests of more than 1 GiB are not supported",
        ),
        (
            "512,100,0,0,0,1,0,1073741825\n",
            "x.icf:6: reply is 1073741825: requests of more than 1 GiB are not supported",
        ),
        (
            "512,100,0,0,90000000,1,0,0\n",
            "x.icf:6: delay is 90000000 ms: more than a day is not supported",
        ),
        (
            "512,100,0,0,0,5000000000,0,0\n",
            "x.icf:6: burst is 5000000000: too much",
        ),
    ] {
        assert_eq!(refusal(&minimal(lines)), expected);
    }
    let many = "512,0,0,0,0,1,0,0\n".repeat(101);
    assert_eq!(
        refusal(&minimal(&many)),
        "x.icf:106: `A` has more than 100 lines, as many as are possible"
    );
}

#[test]
fn a_file_that_makes_no_sense_is_named_by_line() {
    let whole = minimal("512,100,0,0,0,1,0,0\n");
    for (from, to, expected) in [
        (
            "Version 1.1.0",
            "Hello",
            "x.icf:1: `Hello` is not the first line of an Iometer configuration: expected Version 1.1.0",
        ),
        (
            "Version 1.1.0",
            "Version 1998.01.05",
            "x.icf:1: `Version 1998.01.05`: access specifications of Iometer before 1998.05.21 have \
             no names and are not read: save the file with a newer Iometer",
        ),
        (
            "'size,% of size,% reads,% random,delay,burst,align,reply\n",
            "",
            "x.icf:5: `A` lacks the line that names its columns: expected \
             'size,% of size,% reads,% random,delay,burst,align,reply before `512,100,0,0,0,1,0,0`",
        ),
        (
            "'END access specifications\n",
            "'Access specification name,default assignment\n\tB,NONE\n'END access specifications\n",
            "x.icf:9: `B` lacks the line that names its columns: expected \
             'size,% of size,% reads,% random,delay,burst,align,reply before \
             `'END access specifications`",
        ),
        (
            "burst,align,reply",
            "burst,align,reply,colour",
            "x.icf:5: column `colour` is not supported",
        ),
        (
            "delay,burst",
            "pause,burst",
            "x.icf:5: column `pause` is not supported: expected `delay`",
        ),
        (
            "'END access specifications\n",
            "",
            "x.icf:6: the file ends within 'ACCESS SPECIFICATIONS",
        ),
        (
            "'Access specification name,default assignment",
            "'Access specification colour",
            "x.icf:3: `'Access specification colour` is no part of an access specification: expected \
             'Access specification name,default assignment",
        ),
        (
            "'END access specifications\n",
            "'END access specifications\nhello\n",
            "x.icf:8: `hello` is in no section: expected one such as 'ACCESS SPECIFICATIONS",
        ),
    ] {
        assert!(whole.contains(from));
        assert_eq!(refusal(&whole.replace(from, to)), expected);
    }
    assert_eq!(
        refusal("Version 1.1.0\n"),
        "x.icf:1: the file ends without an access specification: save it in Iometer with its access \
         specifications"
    );
}

#[test]
fn a_setup_that_makes_no_sense_is_named_by_line() {
    let text = String::from_utf8(SEVERAL.to_vec()).unwrap();
    let broken = text.replace("\t0          10         30", "\t0 10");
    assert_eq!(
        refusal(&broken),
        "x.icf:7: `0 10` has not the 3 whole numbers that are expected here"
    );
    let cut = &text[..text.find("'End worker").unwrap()];
    assert!(refusal(cut).ends_with("the file ends within 'MANAGER LIST"));
}
