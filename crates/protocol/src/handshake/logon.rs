//! Checks that a session has the requested kind of log-on. With other rights a
//! benchmark would measure something else.

use smb_msg::SessionFlags;

use super::HandshakeError;
use crate::auth::{Credentials, Logon};

/// The user name of guests.
const GUEST: &str = "guest";

/// The rights of a session, as the server says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogonRights {
    /// Those of the user.
    User,
    /// Those of a guest.
    Guest,
    /// Those of an anonymous user.
    Nobody,
}

impl From<SessionFlags> for LogonRights {
    fn from(flags: SessionFlags) -> Self {
        match (flags.is_guest(), flags.is_null_session()) {
            (true, _) => Self::Guest,
            (false, true) => Self::Nobody,
            (false, false) => Self::User,
        }
    }
}

/// Returns the kind of log-on that the server accepted (MS-SMB2 2.2.6).
pub(crate) fn judge(
    credentials: &Credentials,
    rights: LogonRights,
) -> Result<Logon, HandshakeError> {
    match (credentials, rights) {
        (Credentials::Ntlm(_), LogonRights::User) => Ok(Logon::Ntlm),
        (Credentials::Kerberos(_), LogonRights::User) => Ok(Logon::Kerberos),
        (Credentials::Guest(_), LogonRights::Guest) => Ok(Logon::Guest),
        (Credentials::Ntlm(account), LogonRights::Guest)
            if account.user.eq_ignore_ascii_case(GUEST) =>
        {
            Ok(Logon::Guest)
        }
        // Some servers report an anonymous session as a guest session, and some
        // set no flag. Without an account, no other log-on is possible.
        (Credentials::Anonymous, _) => Ok(Logon::Anonymous),
        (Credentials::Ntlm(_) | Credentials::Kerberos(_), LogonRights::Guest) => {
            Err(HandshakeError::OnlyAsGuest)
        }
        (_, LogonRights::Nobody) => Err(HandshakeError::OnlyAsNobody),
        (Credentials::Guest(_), LogonRights::User) => Err(HandshakeError::NotAsGuest),
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
            (Credentials::Guest(account("ann")), null, None),
            (Credentials::Anonymous, null, Some(Logon::Anonymous)),
            (Credentials::Anonymous, guest, Some(Logon::Anonymous)),
            (Credentials::Anonymous, user, Some(Logon::Anonymous)),
        ] {
            let found = judge(&credentials, flags.into()).ok();
            assert_eq!(found, expected, "{credentials:?}");
        }
        let of_user = Credentials::Ntlm(account("ann"));
        let error = |flags: SessionFlags| judge(&of_user, flags.into()).unwrap_err();
        assert!(matches!(error(null), HandshakeError::OnlyAsNobody));
        assert!(matches!(error(guest), HandshakeError::OnlyAsGuest));
    }
}
