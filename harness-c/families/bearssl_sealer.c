/* BearSSL's AEAD called directly, of the implementations that its records would use. */
#include "sealer.h"
#include "sealing.h"

#include <bearssl.h>
#include <stdlib.h>

struct sealer {
    br_aes_gen_ctr_keys aes;
    br_gcm_context gcm;
    br_chacha20_run chacha;
    br_poly1305_run poly; /* NULL with AES */
    unsigned char key[SEALING_KEY_BYTES], nonce[SEAL_NONCE_BYTES];
};

/* An engine tells them: they are by what the CPU has. */
void *sealer_new(const struct suite *suite)
{
    br_ssl_engine_context *engine = calloc(1, sizeof *engine);
    struct sealer *sealer = calloc(1, sizeof *sealer);
    if (!engine || !sealer)
        die("out of memory");
    sealing_key(sealer->key);
    br_ssl_engine_set_default_aes_gcm(engine);
    br_ssl_engine_set_default_chapol(engine);
    sealer->chacha = engine->ichacha;
    if (seals_chacha20(suite))
        sealer->poly = engine->ipoly;
    else {
        engine->iaes_ctr->init(&sealer->aes.vtable, sealer->key, seals_aes128(suite) ? 16 : 32);
        br_gcm_init(&sealer->gcm, &sealer->aes.vtable, engine->ighash);
    }
    free(engine);
    return sealer;
}

void seal(void *opaque, unsigned char *bytes, size_t size)
{
    struct sealer *sealer = opaque;
    if (sealer->poly)
        sealer->poly(sealer->key, sealer->nonce, bytes, size, sealing_aad, SEAL_AAD_BYTES, bytes + size, sealer->chacha,
                     1);
    else {
        br_gcm_reset(&sealer->gcm, sealer->nonce, sizeof sealer->nonce);
        br_gcm_aad_inject(&sealer->gcm, sealing_aad, SEAL_AAD_BYTES);
        br_gcm_flip(&sealer->gcm);
        br_gcm_run(&sealer->gcm, 1, bytes, size);
        br_gcm_get_tag(&sealer->gcm, bytes + size);
    }
    sealing_count(sealer->nonce);
}

void sealer_free(void *sealer)
{
    free(sealer);
}
