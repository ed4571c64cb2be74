//! How a full handshake is told from a resumed one where rustls does not say: in a full one, and in no other, a client
//! verifies the server's chain, and a server chooses how to sign.

use crate::provider;
use rustls::client::{danger, WantsClientCert, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, KeyProvider};
use rustls::sign::{Signer, SigningKey};
use rustls::{ClientConfig, ConfigBuilder, DigitallySignedStruct, Error, RootCertStore, WantsVerifier};
use rustls::{SignatureAlgorithm, SignatureScheme};
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use std::{cell::Cell, sync::Arc};

thread_local! {
    /// Since it was last asked, by the connection that this thread was processing.
    pub static SEEN: Cell<bool> = const { Cell::new(false) };
}

pub fn cryptography() -> CryptoProvider {
    CryptoProvider { key_provider: &Keys, ..provider::default_provider() }
}

/// As `with_root_certificates`, and noticed.
pub fn trusting(
    builder: ConfigBuilder<ClientConfig, WantsVerifier>,
    roots: RootCertStore,
    provider: Arc<CryptoProvider>,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, String> {
    let verifier = WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build();
    let verifier = verifier.map_err(|error| error.to_string())?;
    Ok(builder.dangerous().with_custom_certificate_verifier(Arc::new(Noticed(verifier))))
}

#[derive(Debug)]
struct Noticed<T>(T);

impl danger::ServerCertVerifier for Noticed<Arc<WebPkiServerVerifier>> {
    fn verify_server_cert(
        &self,
        leaf: &CertificateDer<'_>,
        others: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<danger::ServerCertVerified, Error> {
        SEEN.set(true);
        self.0.verify_server_cert(leaf, others, name, ocsp, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<danger::HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, leaf, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        leaf: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<danger::HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, leaf, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}

#[derive(Debug)]
struct Keys;

impl KeyProvider for Keys {
    fn load_private_key(&self, key: PrivateKeyDer<'static>) -> Result<Arc<dyn SigningKey>, Error> {
        Ok(Arc::new(Noticed(provider::default_provider().key_provider.load_private_key(key)?)))
    }
}

impl SigningKey for Noticed<Arc<dyn SigningKey>> {
    fn choose_scheme(&self, offered: &[SignatureScheme]) -> Option<Box<dyn Signer>> {
        SEEN.set(true);
        self.0.choose_scheme(offered)
    }

    fn algorithm(&self) -> SignatureAlgorithm {
        self.0.algorithm()
    }
}

#[cfg(test)]
mod tests;
