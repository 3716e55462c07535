//! Converts information levels of SMB1 to classes of SMB2 (MS-CIFS 2.2.2.3, MS-SMB
//! 2.2.2.3.5, MS-FSCC 2.4 and 2.5).
//!
//! Levels from 1000 pass a class through to the file system, and SMB2 has the same
//! class. An older level gets the class with the same information, or the smallest
//! class that contains it.

/// The first level that passes a class through.
const PASS_THROUGH: u32 = 1000;

fn passed_through(level: u32, classes: &[u8]) -> Option<u8> {
    let class = u8::try_from(level.checked_sub(PASS_THROUGH)?).ok()?;
    classes.contains(&class).then_some(class)
}

/// Returns the class of a query of a file (MS-SMB2 2.2.37, MS-FSCC 2.4).
#[must_use]
pub fn query(level: u32) -> Option<u8> {
    Some(match level {
        // SMB_INFO_STANDARD: times, size, attributes.
        1 => 34,
        // SMB_INFO_QUERY_EA_SIZE, SMB_QUERY_FILE_EA_INFO.
        2 | 0x103 => 7,
        // SMB_QUERY_FILE_BASIC_INFO, _STANDARD_INFO.
        0x101 => 4,
        0x102 => 5,
        // SMB_QUERY_FILE_NAME_INFO, whose information SMB2 returns only with all
        // the rest, and SMB_QUERY_FILE_ALL_INFO.
        0x104 | 0x107 => 18,
        // SMB_QUERY_FILE_ALT_NAME_INFO, _STREAM_INFO, _COMPRESSION_INFO.
        0x108 => 21,
        0x109 => 22,
        0x10B => 28,
        _ => {
            let classes = [4, 5, 6, 7, 8, 14, 16, 17, 18, 21, 22, 28, 34, 35];
            return match level {
                // SMB2 returns FileNameInformation, too, only with all the rest.
                1009 => Some(18),
                _ => passed_through(level, &classes),
            };
        }
    })
}

/// Returns the class of a query of a file system (MS-FSCC 2.5).
#[must_use]
pub fn file_system(level: u32) -> Option<u8> {
    Some(match level {
        // SMB_INFO_ALLOCATION, SMB_QUERY_FS_SIZE_INFO.
        1 | 0x103 => 3,
        // SMB_INFO_VOLUME, SMB_QUERY_FS_VOLUME_INFO.
        2 | 0x102 => 1,
        // SMB_QUERY_FS_DEVICE_INFO, _ATTRIBUTE_INFO.
        0x104 => 4,
        0x105 => 5,
        _ => return passed_through(level, &[1, 3, 4, 5, 6, 7, 8, 11]),
    })
}

/// Returns the class of a change of a file. Loadfiles do not contain the new
/// values. The replay therefore sets times, sets sizes to their current values, and
/// marks no file for deletion.
#[must_use]
pub fn set(level: u32) -> Option<u8> {
    Some(match level {
        // SMB_INFO_STANDARD, SMB_SET_FILE_BASIC_INFO.
        1 | 0x101 => 4,
        // SMB_SET_FILE_DISPOSITION_INFO, _ALLOCATION_INFO, _END_OF_FILE_INFO.
        0x102 => 13,
        0x103 => 19,
        0x104 => 20,
        _ => return passed_through(level, &[4, 13, 19, 20]),
    })
}

/// Returns the class of a directory listing (MS-SMB2 2.2.33).
#[must_use]
pub fn listing(level: u32) -> Option<u8> {
    Some(match level {
        // SMB_INFO_STANDARD, SMB_FIND_FILE_DIRECTORY_INFO.
        1 | 0x101 => 1,
        // SMB_INFO_QUERY_EA_SIZE, SMB_FIND_FILE_FULL_DIRECTORY_INFO.
        2 | 0x102 => 2,
        // SMB_FIND_FILE_NAMES_INFO.
        0x103 => 12,
        // SMB_FIND_FILE_BOTH_DIRECTORY_INFO.
        0x104 => 3,
        // SMB_FIND_FILE_ID_FULL_DIRECTORY_INFO, _ID_BOTH_DIRECTORY_INFO.
        0x105 => 38,
        0x106 => 37,
        _ => return passed_through(level, &[1, 2, 3, 12, 37, 38]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_of_smb1_are_classes_of_smb2() {
        // The first levels are those of Debian's client.txt.
        for (level, class) in [
            (257, 4),
            (258, 5),
            (1004, 4),
            (1005, 5),
            (1035, 35),
            (1, 34),
        ] {
            assert_eq!(query(level), Some(class), "{level}");
        }
        for (level, class) in [(1, 3), (259, 3), (1007, 7), (258, 1)] {
            assert_eq!(file_system(level), Some(class), "{level}");
        }
        assert_eq!(
            (set(1004), set(1019), set(260)),
            (Some(4), Some(19), Some(20))
        );
        assert_eq!((listing(260), listing(1037)), (Some(3), Some(37)));
        for level in [0, 999, 1000, 1010, 1255, 1256, u32::MAX] {
            assert_eq!(query(level), None, "{level}");
            assert_eq!(file_system(level), None, "{level}");
            assert_eq!(set(level), None, "{level}");
            assert_eq!(listing(level), None, "{level}");
        }
    }
}
