//! NTLMv2 inside SPNEGO, implemented by `sspi`.

use sspi::{
    AuthIdentity, BufferType, ClientRequestFlags, CredentialUse, CredentialsBuffers,
    DataRepresentation, Negotiate, NegotiateConfig, SecurityBuffer, SecurityStatus, Sspi, SspiImpl,
    Username, ntlm::NtlmConfig,
};

use super::{Account, AuthError};

#[expect(clippy::needless_pass_by_value, reason = "the shape `map_err` wants")]
fn token_error(error: sspi::Error) -> AuthError {
    // The description is a fixed text. The error's context could quote buffers,
    // so it is left out.
    AuthError::Token(format!("{:?}: {}", error.error_type, error.description))
}

/// The client's side of one exchange.
pub(super) struct Ntlm {
    package: Negotiate,
    credentials: Option<CredentialsBuffers>,
    pub(super) is_complete: bool,
}

impl Ntlm {
    pub(super) fn new(account: &Account) -> Result<Self, AuthError> {
        let domain = Some(account.domain.as_str()).filter(|domain| !domain.is_empty());
        let identity = AuthIdentity {
            username: Username::new(&account.user, domain).map_err(|_| AuthError::UserName)?,
            password: account.password.clone().into(),
        };
        let mut package = Negotiate::new_client(NegotiateConfig::new(
            Box::new(NtlmConfig::default()),
            Some("ntlm,!kerberos,!pku2u".to_owned()),
            "smbench".to_owned(),
        ))
        .map_err(token_error)?;
        let acquired = package
            .acquire_credentials_handle()
            .with_credential_use(CredentialUse::Outbound)
            .with_auth_data(&sspi::Credentials::AuthIdentity(identity))
            .execute(&mut package)
            .map_err(token_error)?;
        Ok(Self {
            package,
            credentials: acquired.credentials_handle,
            is_complete: false,
        })
    }

    /// Returns the token to send after receiving `token`, which is empty at first.
    pub(super) fn step(&mut self, token: &[u8]) -> Result<Vec<u8>, AuthError> {
        let mut output = [SecurityBuffer::new(Vec::new(), BufferType::Token)];
        let mut input = [SecurityBuffer::new(token.to_vec(), BufferType::Token)];
        let mut builder = self
            .package
            .initialize_security_context()
            .with_credentials_handle(&mut self.credentials)
            .with_context_requirements(
                ClientRequestFlags::INTEGRITY | ClientRequestFlags::USE_SESSION_KEY,
            )
            .with_target_data_representation(DataRepresentation::Native)
            .with_input(&mut input)
            .with_output(&mut output);
        let result = self
            .package
            .initialize_security_context_impl(&mut builder)
            .map_err(token_error)?
            .resolve_to_result()
            .map_err(token_error)?;
        self.is_complete = result.status == SecurityStatus::Ok;
        let [token] = output;
        Ok(token.buffer)
    }

    /// Returns the whole exchanged key, which has at least 16 bytes (MS-SMB2
    /// 3.2.5.3).
    pub(super) fn session_key(&self) -> Result<Vec<u8>, AuthError> {
        let keys = self
            .package
            .query_context_session_key()
            .map_err(token_error)?;
        let key = keys.session_key.as_ref();
        if key.len() < 16 {
            return Err(AuthError::Token(
                "session key shorter than 16 bytes".to_owned(),
            ));
        }
        Ok(key.to_vec())
    }
}
