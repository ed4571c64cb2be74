//! OpenSSL's own AEAD, called directly. Its crate is rustls-openssl's own, of which a build has one version.

use crate::names::Aead;
use memtest_driver::{seal_nonce, Suite, SEAL_AAD_BYTES, SEAL_TAG_BYTES};
use openssl::cipher::Cipher;
use openssl::cipher_ctx::CipherCtx;
use openssl::error::ErrorStack;

pub struct Sealer {
    context: CipherCtx,
    records: u64,
}

impl memtest_driver::Sealer for Sealer {
    fn new(suite: &Suite) -> Result<Self, String> {
        let cipher = match Aead::of(&suite.cipher) {
            Aead::Aes128Gcm => Cipher::aes_128_gcm(),
            Aead::Aes256Gcm => Cipher::aes_256_gcm(),
            Aead::Chacha20Poly1305 => Cipher::chacha20_poly1305(),
        };
        let key: Vec<u8> = (0..).take(cipher.key_length()).collect();
        let mut context = CipherCtx::new().map_err(refused)?;
        context.encrypt_init(Some(cipher), Some(&key), None).map_err(refused)?;
        Ok(Self { context, records: 0 })
    }

    fn seal(&mut self, bytes: &mut [u8], tag: &mut [u8; SEAL_TAG_BYTES]) -> Result<(), String> {
        let nonce = seal_nonce(self.records);
        self.records += 1;
        let length = bytes.len();
        self.context.encrypt_init(None, None, Some(&nonce)).map_err(refused)?;
        self.context.cipher_update(&[0; SEAL_AAD_BYTES], None).map_err(refused)?;
        self.context.cipher_update_inplace(bytes, length).map_err(refused)?;
        self.context.cipher_final(&mut []).map_err(refused)?;
        self.context.tag(tag).map_err(refused)
    }
}

fn refused(error: ErrorStack) -> String {
    format!("AEAD: {error}")
}
