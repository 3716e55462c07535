//! Whether a session is what was asked for: under other rights, something else
//! would be measured.

use smb_msg::SessionFlags;

use super::HandshakeError;
use crate::auth::{Credentials, Logon};

/// The user name that means a guest.
const GUEST: &str = "guest";

/// As what the server let the user in (MS-SMB2 2.2.6).
pub(super) fn judge(
    credentials: &Credentials,
    flags: SessionFlags,
) -> Result<Logon, HandshakeError> {
    match (credentials, flags.is_guest_or_null_session()) {
        (Credentials::Ntlm(_), false) => Ok(Logon::Ntlm),
        (Credentials::Kerberos(_), false) => Ok(Logon::Kerberos),
        (Credentials::Guest(_), true) => Ok(Logon::Guest),
        (Credentials::Ntlm(account), true) if account.user.eq_ignore_ascii_case(GUEST) => {
            Ok(Logon::Guest)
        }
        // Some servers take nobody for a guest, and some say nothing at all;
        // there is nobody else it could be.
        (Credentials::Anonymous, _) => Ok(Logon::Anonymous),
        (Credentials::Ntlm(_) | Credentials::Kerberos(_), true) => Err(HandshakeError::OnlyAsGuest),
        (Credentials::Guest(_), false) => Err(HandshakeError::NotAsGuest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::Account;

    #[test]
    fn only_what_was_asked_for_is_taken() {
        let account = |user: &str| Account {
            domain: String::new(),
            user: user.to_owned(),
            password: String::new(),
        };
        let user = SessionFlags::new();
        let guest = SessionFlags::new().with_is_guest(true);
        let null = SessionFlags::new().with_is_null_session(true);
        for (credentials, flags, expected) in [
            (Credentials::Ntlm(account("ann")), user, Some(Logon::Ntlm)),
            (Credentials::Ntlm(account("ann")), guest, None),
            (Credentials::Ntlm(account("ann")), null, None),
            (
                Credentials::Ntlm(account("Guest")),
                guest,
                Some(Logon::Guest),
            ),
            (Credentials::Ntlm(account("Guest")), user, Some(Logon::Ntlm)),
            (
                Credentials::Guest(account("ann")),
                guest,
                Some(Logon::Guest),
            ),
            (Credentials::Guest(account("ann")), user, None),
            (Credentials::Anonymous, null, Some(Logon::Anonymous)),
            (Credentials::Anonymous, guest, Some(Logon::Anonymous)),
            (Credentials::Anonymous, user, Some(Logon::Anonymous)),
        ] {
            let found = judge(&credentials, flags).ok();
            assert_eq!(found, expected, "{credentials:?}");
        }
    }
}
