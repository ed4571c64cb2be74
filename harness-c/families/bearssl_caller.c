/* What BearSSL leaves to its caller: memory, files, and words for its errors. */
#include "bearssl_caller.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bytes {
    unsigned char *data;
    size_t size;
};

static void *found(void *memory)
{
    if (!memory)
        die("out of memory");
    return memory;
}

br_x509_minimal_context *validator_new(void)
{
    return found(malloc(sizeof(br_x509_minimal_context)));
}

br_ssl_engine_context *client_engine_new(const struct credentials *own, br_x509_minimal_context *validator)
{
    br_ssl_client_context *client = found(malloc(sizeof *client));
    br_ssl_client_init_full(client, validator, &own->root, 1);
    return &client->eng;
}

br_ssl_engine_context *server_engine_new(const struct credentials *own)
{
    br_ssl_server_context *server = found(malloc(sizeof *server));
    if (br_skey_decoder_key_type(&own->key) == BR_KEYTYPE_RSA)
        br_ssl_server_init_full_rsa(server, own->chain, own->chain_length, br_skey_decoder_get_rsa(&own->key));
    else /* who issued the chain matters to key exchanges that no suite has */
        br_ssl_server_init_full_ec(server, own->chain, own->chain_length, BR_KEYTYPE_EC,
                                   br_skey_decoder_get_ec(&own->key));
    return &server->eng;
}

unsigned char *record_buffer_new(size_t size)
{
    return found(malloc(size));
}

/* What BearSSL decodes, it gives piece by piece. */
static void append(void *opaque, const void *piece, size_t size)
{
    struct bytes *bytes = opaque;
    bytes->data = found(realloc(bytes->data, bytes->size + size));
    memcpy(bytes->data + bytes->size, piece, size);
    bytes->size += size;
}

static struct bytes file_read(const char *path)
{
    struct bytes text = {NULL, 0};
    char piece[4096];
    size_t size;
    FILE *file = fopen(path, "r");
    if (!file)
        die("%s: %s", path, strerror(errno));
    while ((size = fread(piece, 1, sizeof piece, file)) > 0)
        append(&text, piece, size);
    if (ferror(file))
        die("%s: cannot be read", path);
    fclose(file);
    append(&text, "\n", 1); /* the decoder goes by lines, and the last may have no end */
    return text;
}

/* Decodes the objects of a PEM file, of which it has one at least: how many. */
static size_t pem_read(const char *path, struct bytes *objects, size_t room)
{
    struct bytes text = file_read(path);
    size_t count = 0, at = 0;
    br_pem_decoder_context decoder;
    br_pem_decoder_init(&decoder);
    while (at < text.size) {
        at += br_pem_decoder_push(&decoder, text.data + at, text.size - at);
        int event = br_pem_decoder_event(&decoder);
        if (event == BR_PEM_ERROR || (event == BR_PEM_BEGIN_OBJ && count == room))
            die("%s: is not PEM, or has more than %zu objects", path, room);
        if (event == BR_PEM_BEGIN_OBJ)
            br_pem_decoder_setdest(&decoder, append, &objects[count]);
        count += event == BR_PEM_END_OBJ;
    }
    free(text.data);
    if (count == 0)
        die("%s: has no PEM object", path);
    return count;
}

static void root_load(struct credentials *credentials, const char *path)
{
    struct bytes root = {NULL, 0}, name = {NULL, 0};
    br_x509_decoder_context *decoder = &credentials->root_decoder;
    pem_read(path, &root, 1);
    br_x509_decoder_init(decoder, append, &name);
    br_x509_decoder_push(decoder, root.data, root.size);
    free(root.data);
    if (br_x509_decoder_last_error(decoder))
        die("%s: %s", path, error_text(br_x509_decoder_last_error(decoder)));
    credentials->root = (br_x509_trust_anchor){
        {name.data, name.size}, br_x509_decoder_isCA(decoder) ? BR_X509_TA_CA : 0, *br_x509_decoder_get_pkey(decoder)};
}

static void key_load(br_skey_decoder_context *key, const char *path)
{
    struct bytes encoded = {NULL, 0};
    pem_read(path, &encoded, 1);
    br_skey_decoder_init(key);
    br_skey_decoder_push(key, encoded.data, encoded.size);
    free(encoded.data);
    if (br_skey_decoder_last_error(key))
        die("%s: %s", path, error_text(br_skey_decoder_last_error(key)));
}

void credentials_load(struct credentials *credentials, enum role role, const struct suite *suite)
{
    struct bytes chain[CHAIN_ROOM] = {0};
    char path[PATH_BYTES];
    suite_path(path, suite, role == ROLE_CLIENT ? "root.pem" : "chain.pem");
    if (role == ROLE_CLIENT) {
        root_load(credentials, path);
        return;
    }
    credentials->chain_length = pem_read(path, chain, CHAIN_ROOM);
    for (size_t i = 0; i < credentials->chain_length; i++)
        credentials->chain[i] = (br_x509_certificate){chain[i].data, chain[i].size};
    key_load(&credentials->key, suite_path(path, suite, "key.pem"));
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
