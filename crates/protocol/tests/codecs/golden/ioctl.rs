//! IOCTL: copies inside the server, network interfaces, and the validation of a
//! negotiation.

use smbench_protocol::FileId;
use smbench_protocol::command::ioctl::copy_chunk::{
    CopyChunk, CopyChunkRequest, CopyChunkResponse, RESUME_KEY_OUTPUT_MAX, ResumeKey,
};
use smbench_protocol::command::ioctl::{IoctlRequest, IoctlResponse, fsctl};
use smbench_protocol::header::HEADER_LEN;

use super::{body, id};

/// Clears the output offset of a request. smbclient sets it to the place where
/// output would be. smbtorture and this crate leave it zero.
fn without_output_offset(captured: &[u8]) -> Vec<u8> {
    let mut theirs = captured[HEADER_LEN..].to_vec();
    assert_eq!(theirs[40..44], [0; 4], "no output");
    theirs[36..40].fill(0);
    theirs
}

#[test]
fn a_resume_key_and_the_copy_it_allows() {
    let source = id(0xd581_3fbb, 0x8c71_82d6);
    let request = IoctlRequest {
        code: fsctl::FSCTL_SRV_REQUEST_RESUME_KEY,
        file_id: source,
        input: &[],
        output_max: RESUME_KEY_OUTPUT_MAX,
    };
    assert_eq!(
        without_output_offset(&captured!("3.1.1", "resume-key-request")),
        body(|out| request.encode(out))
    );
    let response = captured!("3.1.1", "resume-key-response");
    let response = IoctlResponse::decode(&response).expect("decodes");
    assert_eq!((response.code, response.file_id), (request.code, source));
    let key = ResumeKey::decode(response.output).expect("decodes");

    let copy = CopyChunkRequest {
        code: fsctl::FSCTL_SRV_COPYCHUNK_WRITE,
        target: id(0x1208_7a78, 0xcd78_8fce),
        source: key,
        chunks: &[CopyChunk {
            source: 0,
            target: 0,
            length: 45,
        }],
    };
    assert_eq!(
        without_output_offset(&captured!("3.1.1", "copychunk-write-request")),
        body(|out| copy.encode(out))
    );
}

#[test]
fn a_copy_and_what_a_server_takes_at_most() {
    let request = captured!("3.1.1", "copychunk-request");
    let mut key = [0; 24];
    key.copy_from_slice(&request[HEADER_LEN + 56..HEADER_LEN + 80]);
    let copy = CopyChunkRequest {
        code: fsctl::FSCTL_SRV_COPYCHUNK,
        target: id(0x7a24_2446, 0x46fc_87bc),
        source: ResumeKey(key),
        chunks: &[CopyChunk {
            source: 0,
            target: 0,
            length: 4096,
        }],
    };
    assert_eq!(
        without_output_offset(&request),
        body(|out| copy.encode(out))
    );
    let response = |captured: &[u8]| {
        let response = IoctlResponse::decode(captured).expect("decodes");
        CopyChunkResponse::decode(response.output).expect("decodes")
    };
    assert_eq!(
        response(&captured!("3.1.1", "copychunk-response")),
        CopyChunkResponse {
            chunks: 1,
            chunk_bytes: 0,
            total_bytes: 4096
        }
    );
    assert_eq!(
        response(&captured!("3.1.1", "copychunk-limits")),
        CopyChunkResponse {
            chunks: 256,
            chunk_bytes: 1 << 20,
            total_bytes: 16 << 20
        }
    );
}

#[test]
fn network_interfaces() {
    let request = IoctlRequest {
        code: fsctl::FSCTL_QUERY_NETWORK_INTERFACE_INFO,
        file_id: FileId::RELATED,
        input: &[],
        output_max: 0x10000,
    };
    let mut theirs = captured!("3.1.1", "interfaces-request")[HEADER_LEN..].to_vec();
    // Without input, smbtorture sets the input offset to zero. smbclient and
    // this crate set it to the place where input would be.
    assert_eq!(theirs[24], 0);
    theirs[24] = 0x78;
    assert_eq!(theirs, body(|out| request.encode(out)));
}

#[test]
fn the_validation_of_a_negotiation() {
    let captured = captured!("2.1", "validate-negotiate-request");
    let request = IoctlRequest {
        code: fsctl::FSCTL_VALIDATE_NEGOTIATE_INFO,
        file_id: FileId::RELATED,
        input: &captured[HEADER_LEN + 56..],
        output_max: 24,
    };
    assert_eq!(
        without_output_offset(&captured),
        body(|out| request.encode(out))
    );
    let response = captured!("2.1", "validate-negotiate-response");
    let response = IoctlResponse::decode(&response).expect("decodes");
    assert_eq!(
        (response.output.len(), &response.output[20..]),
        (24, &[1, 0, 0x10, 2][..])
    );
}
