//! The account that logs on: that of the run, or that of a client.

use smbench_model::login::Login;
use smbench_model::target::ClientAccount;
use smbench_protocol::{Account, Credentials};

use super::Endpoint;
use crate::smb::session::SessionError;

impl Endpoint {
    /// Returns this endpoint for the log-on of a client.
    pub(crate) fn for_client(self, client: u32) -> Self {
        Self {
            client: Some(client),
            ..self
        }
    }

    /// Returns the credentials for the log-on of a new session. With Kerberos, this
    /// occasionally asks a KDC.
    pub(crate) async fn credentials(&self) -> Result<Credentials, SessionError> {
        let target = &*self.target;
        Ok(match &target.login {
            Login::Ntlm => Credentials::Ntlm(self.account()),
            Login::Guest => Credentials::Guest(self.account()),
            Login::Anonymous => Credentials::Anonymous,
            Login::Kerberos(login) => {
                let ticket = self.tickets.get(target, login, &self.limits).await?;
                Credentials::Kerberos(ticket)
            }
        })
    }

    /// Returns the credentials to reauthenticate a session whose log-on with `used`
    /// has expired.
    pub(crate) async fn renewed(&self, used: &Credentials) -> Result<Credentials, SessionError> {
        let target = &*self.target;
        Ok(match (used, &target.login) {
            (Credentials::Kerberos(expired), Login::Kerberos(login)) => {
                let tickets = &self.tickets;
                let ticket = tickets.replace(expired, target, login, &self.limits);
                Credentials::Kerberos(ticket.await?)
            }
            _ => used.clone(),
        })
    }

    /// Returns the account of the client that logs on, if clients have accounts of their own.
    pub(super) fn client_account(&self) -> Option<&ClientAccount> {
        self.client
            .and_then(|client| self.target.account_of(client))
    }

    fn account(&self) -> Account {
        if let Some(account) = self.client_account() {
            return Account {
                domain: account.domain.clone(),
                user: account.user.clone(),
                password: account.password.expose().to_owned(),
            };
        }
        Account {
            domain: self.target.domain.clone(),
            user: self.target.user.clone(),
            password: self.target.password.expose().to_owned(),
        }
    }
}
