//! What a server's sessions share before rustls 0.24: a configuration, and the certificates of further names.

use crate::files::{certificates, failed, key};
use crate::{configs, cryptography};
use memtest_driver::Suite;
use rustls::server::ResolvesServerCertUsingSni;
use rustls::{sign::CertifiedKey, ServerConfig};
use std::sync::Arc;

pub struct Served {
    config: Arc<ServerConfig>,
    names: Option<Arc<ResolvesServerCertUsingSni>>, // the configuration's resolver; none: it has one certificate
}

impl Served {
    pub fn new(suite: &Suite) -> Result<Self, String> {
        Ok(Self { config: Arc::new(configs::server(suite)?), names: None })
    }

    pub fn config(&self) -> Arc<ServerConfig> {
        self.config.clone()
    }

    /// The first takes the place of the one certificate. While one is added, the configuration has another resolver.
    pub fn name_add(&mut self, name: &str, suite: &Suite) -> Result<(), String> {
        let config = Arc::get_mut(&mut self.config).expect("no session yet");
        let names = self.names.get_or_insert_with(|| Arc::new(ResolvesServerCertUsingSni::new()));
        config.cert_resolver = Arc::new(ResolvesServerCertUsingSni::new());
        let key = cryptography().key_provider.load_private_key(key(suite, "key.pem")?).map_err(failed("key.pem"))?;
        let certified = CertifiedKey::new(certificates(suite, "chain.pem")?, key);
        Arc::get_mut(names).expect("the configuration's was taken out").add(name, certified).map_err(failed(name))?;
        config.cert_resolver = names.clone();
        Ok(())
    }
}
