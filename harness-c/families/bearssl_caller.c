/* What BearSSL leaves to its caller: memory, files, and words for its errors. */
#include "bearssl_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

br_x509_minimal_context *validator_new(void)
{
    return found(malloc(sizeof(br_x509_minimal_context)));
}

/* What a server asks a client for, it has. */
static void client_key_set(br_ssl_client_context *client, const struct credentials *own)
{
    if (br_skey_decoder_key_type(&own->key) == BR_KEYTYPE_RSA)
        br_ssl_client_set_single_rsa(client, own->chain, own->chain_length, br_skey_decoder_get_rsa(&own->key),
                                     br_rsa_pkcs1_sign_get_default());
    else
        br_ssl_client_set_single_ec(client, own->chain, own->chain_length, br_skey_decoder_get_ec(&own->key),
                                    BR_KEYTYPE_SIGN, BR_KEYTYPE_EC, br_ec_get_default(),
                                    br_ecdsa_sign_asn1_get_default());
}

br_ssl_engine_context *client_engine_new(const struct credentials *own, br_x509_minimal_context *validator)
{
    br_ssl_client_context *client = found(malloc(sizeof *client));
    br_ssl_client_init_full(client, validator, &own->root, 1);
    if (own->chain_length > 0)
        client_key_set(client, own);
    return &client->eng;
}

/* As a client's is by br_ssl_client_init_full. */
static void server_verify(br_ssl_server_context *server, const struct credentials *own,
                          br_x509_minimal_context *validator)
{
    br_x509_minimal_init(validator, &br_sha256_vtable, &own->root, 1);
    br_ssl_engine_set_default_rsavrfy(&server->eng);
    br_ssl_engine_set_default_ecdsa(&server->eng);
    br_x509_minimal_set_rsa(validator, br_ssl_engine_get_rsavrfy(&server->eng));
    br_x509_minimal_set_ecdsa(validator, br_ssl_engine_get_ec(&server->eng), br_ssl_engine_get_ecdsa(&server->eng));
    for (int id = br_md5_ID; id <= br_sha512_ID; id++)
        br_x509_minimal_set_hash(validator, id, br_ssl_engine_get_hash(&server->eng, id));
    br_ssl_engine_set_x509(&server->eng, &validator->vtable);
    br_ssl_server_set_trust_anchor_names_alt(server, &own->root, 1);
}

br_ssl_engine_context *server_engine_new(const struct credentials *own, br_x509_minimal_context *validator)
{
    br_ssl_server_context *server = found(malloc(sizeof *server));
    if (br_skey_decoder_key_type(&own->key) == BR_KEYTYPE_RSA)
        br_ssl_server_init_full_rsa(server, own->chain, own->chain_length, br_skey_decoder_get_rsa(&own->key));
    else /* who issued the chain matters to key exchanges that no suite has */
        br_ssl_server_init_full_ec(server, own->chain, own->chain_length, BR_KEYTYPE_EC,
                                   br_skey_decoder_get_ec(&own->key));
    if (validator)
        server_verify(server, own, validator);
    return &server->eng;
}

/* By any curve. A client has one list for key exchange and signatures, and sends P-256 before X25519: with both in it
 * servers take P-256. With X25519 alone those that look for their certificate's curve in it, as OpenSSL's, refuse. */
static uint32_t signature_verify(const br_ec_impl *offered, const void *hash, size_t hash_size,
                                 const br_ec_public_key *key, const void *signature, size_t size)
{
    (void)offered;
    return br_ecdsa_vrfy_asn1_get_default()(br_ec_get_default(), hash, hash_size, key, signature, size);
}

void engine_configure(br_ssl_engine_context *engine, const uint16_t *cipher, const br_ec_impl *curves)
{
    br_ssl_engine_set_versions(engine, BR_TLS12, BR_TLS12);
    br_ssl_engine_set_suites(engine, cipher, 1);
    br_ssl_engine_set_ec(engine, curves);
    br_ssl_engine_set_ecdsa(engine, signature_verify);
}

void client_begin(br_ssl_engine_context *engine, const br_ssl_session_parameters *resumed)
{
    if (resumed)
        br_ssl_engine_set_session_parameters(engine, resumed);
    if (!br_ssl_client_reset((br_ssl_client_context *)engine, SERVER_NAME, resumed != NULL))
        die("session: %s", error_text(br_ssl_engine_last_error(engine)));
}

void server_begin(br_ssl_engine_context *engine)
{
    if (!br_ssl_server_reset((br_ssl_server_context *)engine))
        die("session: %s", error_text(br_ssl_engine_last_error(engine)));
}

unsigned char *record_buffer_new(size_t size)
{
    return found(malloc(size));
}

void credentials_load(struct credentials *credentials, enum role role, const struct suite *suite)
{
    bool client = role == ROLE_CLIENT, mutual = !strcmp(suite->auth, "mutual");
    char path[PATH_BYTES];
    if (client || mutual)
        root_load(credentials, suite_path(path, suite, client ? "root.pem" : "client-root.pem"));
    if (!client || mutual)
        own_load(credentials, suite, client ? "client-chain.pem" : "chain.pem", client ? "client-key.pem" : "key.pem");
}

void credentials_free(struct credentials *credentials)
{
    free(credentials->root.dn.data);
    for (size_t i = 0; i < credentials->chain_length; i++)
        free(credentials->chain[i].data);
}

const char *error_text(int code)
{
    static char text[96];
    switch (code) {
    case BR_ERR_OK:
        return "the peer has closed";
    case BR_ERR_BAD_SIGNATURE:
        return "the peer's signature is not by the key of its certificate (BR_ERR_BAD_SIGNATURE)";
    case BR_ERR_X509_BAD_SERVER_NAME:
        return "the peer's certificate is not for this host (BR_ERR_X509_BAD_SERVER_NAME)";
    case BR_ERR_X509_EXPIRED:
        return "the peer's chain is not valid at this time (BR_ERR_X509_EXPIRED)";
    case BR_ERR_X509_NOT_TRUSTED:
        return "the peer's chain does not lead to the root (BR_ERR_X509_NOT_TRUSTED)";
    }
    snprintf(text, sizeof text,
             "error %d (BR_ERR_ in bearssl_ssl.h, bearssl_x509.h; from %d on an alert, sent from %d on)", code,
             BR_ERR_RECV_FATAL_ALERT, BR_ERR_SEND_FATAL_ALERT);
    return text;
}
