//! What follows from the cause of a session error: its phase, and the texts about the failed step and
//! the remedy.

use smbench_model::record::SetupPhase;
use smbench_protocol::handshake::Demand;
use smbench_protocol::header::Command;
use smbench_protocol::{AuthError, HandshakeError, NtStatus};

use crate::smb::session::LogonIdentity;
use crate::smb::tickets as kerberos;

/// Names what is missing when a file is not found.
pub(super) const fn removed(status: NtStatus) -> &'static str {
    match status {
        NtStatus::OBJECT_PATH_NOT_FOUND => "its directory",
        _ => "it",
    }
}

/// Returns the phase in which a handshake failed.
pub(super) const fn phase_of(error: &HandshakeError) -> SetupPhase {
    match error {
        HandshakeError::Refused {
            command: Command::SessionSetup,
            ..
        }
        | HandshakeError::OnlyAsGuest
        | HandshakeError::OnlyAsNobody
        | HandshakeError::NotAsGuest
        | HandshakeError::Auth(_) => SetupPhase::LogOn,
        HandshakeError::Refused {
            command: Command::TreeConnect,
            ..
        }
        | HandshakeError::NotADisk => SetupPhase::TreeConnect,
        _ => SetupPhase::Negotiate,
    }
}

/// Returns the step that failed, worded to follow "failed to".
pub(super) fn handshake_action(error: &HandshakeError, who: &LogonIdentity, share: &str) -> String {
    match phase_of(error) {
        SetupPhase::LogOn => format!("log on {who}"),
        SetupPhase::TreeConnect => format!("connect to share '{share}'"),
        SetupPhase::Connect | SetupPhase::Negotiate => "negotiate a session".to_owned(),
    }
}

/// Returns advice about a failed handshake, as the tail of a sentence.
pub(super) fn handshake_advice(error: &HandshakeError, who: &LogonIdentity) -> &'static str {
    match error {
        HandshakeError::Refused {
            command: Command::SessionSetup,
            status,
        } => log_on_advice(*status, who),
        HandshakeError::Refused { command, status } => match (*command, *status) {
            (
                Command::TreeConnect,
                NtStatus::BAD_NETWORK_NAME
                | NtStatus::OBJECT_PATH_NOT_FOUND
                | NtStatus::OBJECT_NAME_NOT_FOUND,
            ) => "; there is no share of that name, check the target URL",
            (Command::TreeConnect, NtStatus::ACCESS_DENIED) => {
                "; the user may not use this share, or the share requires encryption: see @encrypt"
            }
            (Command::Negotiate, NtStatus::NOT_SUPPORTED) => {
                "; the server speaks none of the dialects offered, see @dialect (cifs is SMB1)"
            }
            (_, status) => status_advice(status),
        },
        HandshakeError::SigningRequired => "; leave out @sign off",
        HandshakeError::OnlyAsGuest => {
            "; check the user's name, or ask for a guest session with @auth guest"
        }
        HandshakeError::OnlyAsNobody => {
            "; check the user's name, or ask for an anonymous session with @auth anonymous"
        }
        HandshakeError::NotAsGuest => "; leave out @auth guest, or the user and the password",
        HandshakeError::CannotSign(_) => "; leave out @sign required",
        HandshakeError::CannotEncrypt {
            by: Demand::Client, ..
        } => "; leave out @encrypt required",
        HandshakeError::CannotEncrypt { .. } => "; log on as a user whom the server knows",
        HandshakeError::Auth(AuthError::Kerberos(error)) => kerberos::advice(error),
        HandshakeError::EncryptionRequired => "; leave out @encrypt off",
        HandshakeError::NoCipher { .. } => "; see @dialect and @cipher",
        HandshakeError::SigningAlgorithm(_) => "; see @signing_algorithm",
        HandshakeError::Smb1 => "; offer it with @dialect cifs, in a network that you trust",
        HandshakeError::NoCifs | HandshakeError::OnlyCifs => "; leave out @dialect cifs",
        HandshakeError::NoSigning => "; leave out @sign required",
        HandshakeError::NoExtendedSecurity => "; log on with @auth ntlm",
        HandshakeError::Dialect(_) => "; see @dialect",
        _ => "",
    }
}

/// Returns advice about a refused log-on, as the tail of a sentence.
fn log_on_advice(status: NtStatus, who: &LogonIdentity) -> &'static str {
    match (status, who) {
        (
            NtStatus::LOGON_FAILURE | NtStatus::ACCESS_DENIED,
            LogonIdentity::Guest | LogonIdentity::Anonymous,
        ) => "; the server does not allow guest or anonymous logins",
        (NtStatus::LOGON_FAILURE | NtStatus::INVALID_PARAMETER, LogonIdentity::Kerberos(_)) => {
            "; check that the server's keytab has this service with its present key, that the \
             server knows the user, and that its clock is right"
        }
        (NtStatus::ACCESS_DENIED, _) => {
            "; the server refuses the user, or requires encryption: see @encrypt"
        }
        (status, _) => status_advice(status),
    }
}

/// Returns advice about a status, as the tail of a sentence.
pub(super) fn status_advice(status: NtStatus) -> &'static str {
    match status {
        NtStatus::LOGON_FAILURE | NtStatus::WRONG_PASSWORD | NtStatus::NO_SUCH_USER => {
            "; check the user and domain in the URL, and the password"
        }
        NtStatus::NTLM_BLOCKED => "; the server or its domain permits no NTLM: use @auth kerberos",
        NtStatus::NO_LOGON_SERVERS => "; the server reaches no domain controller",
        NtStatus::ACCOUNT_EXPIRED => "; the account has expired",
        NtStatus::INVALID_WORKSTATION
        | NtStatus::INVALID_LOGON_HOURS
        | NtStatus::AUTHENTICATION_FIREWALL_FAILED
        | NtStatus::LOGON_TYPE_NOT_GRANTED
        | NtStatus::ACCOUNT_RESTRICTION => {
            "; the user may not log on there, from this machine, or at this time: ask the administrator"
        }
        NtStatus::PATH_NOT_COVERED => {
            "; this is a DFS namespace, which smbench does not follow: name the server and the \
             share behind it"
        }
        NtStatus::ACCOUNT_LOCKED_OUT | NtStatus::ACCOUNT_DISABLED => {
            "; the server has closed this account for now"
        }
        NtStatus::PASSWORD_EXPIRED | NtStatus::PASSWORD_MUST_CHANGE => {
            "; the password must be changed first"
        }
        NtStatus::ACCESS_DENIED
        | NtStatus::MEDIA_WRITE_PROTECTED
        | NtStatus::NETWORK_ACCESS_DENIED => {
            "; the share is read-only, or the user may not read or write there"
        }
        NtStatus::DISK_FULL | NtStatus::QUOTA_EXCEEDED => {
            "; the share is full: free some space, or use fewer clients or smaller files (@file_size)"
        }
        NtStatus::OBJECT_PATH_NOT_FOUND => "; check that the directory in the target URL exists",
        NtStatus::OBJECT_NAME_NOT_FOUND => {
            "; check that the directory in the target URL exists, and that the server does not hide \
             such names (Samba: veto files)"
        }
        NtStatus::REQUEST_NOT_ACCEPTED | NtStatus::TOO_MANY_SESSIONS => {
            "; the server takes no further sessions (a client edition of Windows stops at 20)"
        }
        NtStatus::INSUFFICIENT_RESOURCES
        | NtStatus::INSUFF_SERVER_RESOURCES
        | NtStatus::NO_MEMORY => {
            "; the server is out of memory or at a limit: use fewer clients, or raise its limits"
        }
        _ => "",
    }
}

/// Returns the place of the password, if the advice is to check the password.
pub(super) fn where_given<'a>(
    error: &HandshakeError,
    who: &LogonIdentity,
    note: &'a str,
) -> &'a str {
    match (error, who) {
        (
            HandshakeError::Refused {
                command: Command::SessionSetup,
                status: NtStatus::LOGON_FAILURE | NtStatus::WRONG_PASSWORD,
            },
            LogonIdentity::User(_),
        ) => note,
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A server that refuses a user says why in its status alone.
    #[test]
    fn refusals_of_a_log_on_have_a_name_and_advice() {
        for (code, name, advice) in [
            (0xC000_0418, "STATUS_NTLM_BLOCKED", "@auth kerberos"),
            (0xC000_0257, "STATUS_PATH_NOT_COVERED", "DFS"),
            (
                0xC000_0205,
                "STATUS_INSUFF_SERVER_RESOURCES",
                "fewer clients",
            ),
            (0xC000_0070, "STATUS_INVALID_WORKSTATION", "this machine"),
        ] {
            let status = NtStatus(code);
            assert_eq!(status.to_string(), name);
            assert!(status_advice(status).contains(advice), "{name}");
        }
    }
}
