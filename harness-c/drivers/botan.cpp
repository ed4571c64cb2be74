/* Botan 3 behind the driver interface. Its TLS has a C++ interface only. */
#include <algorithm>
#include <botan/aead.h>
#include <botan/auto_rng.h>
#include <botan/certstor.h>
#include <botan/credentials_manager.h>
#include <botan/data_src.h>
#include <botan/pkcs8.h>
#include <botan/tls.h>
#include <botan/version.h>
#include <botan/x509cert.h>
#include <cerrno>
#include <fstream>
#include <numeric>
#include <strings.h>

/* The interface is C's. */
#define _Noreturn [[noreturn]]
#define new new_
extern "C" {
#include "group_names.h"
extern const struct driver driver;
}
#undef new

namespace TLS = Botan::TLS;

namespace
{

using Bytes = std::vector<uint8_t>;

bool same(const std::string &one, const char *other)
{
    return !strcasecmp(one.c_str(), other);
}

/* What `run` returns; what it throws ends the run. */
template <typename F> auto guarded(const char *what, F run)
{
    try {
        return run();
    } catch (const std::exception &error) {
        die("%s: %s", what, error.what());
    }
}

struct Cipher {
    const char *name; /* OpenSSL's */
    uint16_t number;  /* IANA's */
    const char *own, *signature;
};

const Cipher ciphers[] = {
    {"TLS_AES_128_GCM_SHA256", 0x1301, "AES-128/GCM", nullptr},
    {"TLS_AES_256_GCM_SHA384", 0x1302, "AES-256/GCM", nullptr},
    {"TLS_CHACHA20_POLY1305_SHA256", 0x1303, "ChaCha20Poly1305", nullptr},
    {"ECDHE-RSA-AES128-GCM-SHA256", 0xC02F, "AES-128/GCM", "RSA"},
    {"ECDHE-RSA-AES256-GCM-SHA384", 0xC030, "AES-256/GCM", "RSA"},
    {"ECDHE-RSA-CHACHA20-POLY1305", 0xCCA8, "ChaCha20Poly1305", "RSA"},
    {"ECDHE-ECDSA-AES256-GCM-SHA384", 0xC02C, "AES-256/GCM", "ECDSA"},
};

const Cipher *cipher_named(const char *name)
{
    for (const Cipher &one : ciphers)
        if (!strcmp(one.name, name))
            return &one;
    return nullptr;
}

const struct {
    const char *name;
    TLS::Group_Params_Code code;
} groups[] = {
    {"X25519", TLS::Group_Params_Code::X25519},
    {"P-256", TLS::Group_Params_Code::SECP256R1},
    {"P-384", TLS::Group_Params_Code::SECP384R1},
    {"X25519MLKEM768", TLS::Group_Params_Code::HYBRID_X25519_ML_KEM_768},
};

/* The role's groups; none where the library is to choose. False: one of them is unknown. */
bool groups_read(std::vector<TLS::Group_Params> &found, enum role role, const struct suite *suite)
{
    char name[GROUP_NAME_BYTES];
    for (const char *list = role_groups(role, suite); list;) {
        const size_t before = found.size();
        list = group_next(list, name);
        for (const auto &one : groups)
            if (!strcasecmp(one.name, name))
                found.emplace_back(one.code);
        if (found.size() == before)
            return false;
    }
    return true;
}

bool is_tls13(const struct suite *suite)
{
    return !strcmp(suite->protocol, "TLSv1.3");
}

/* Just what the suite asks. But TLS 1.2 has one list for key exchange and for the curves of certificates, so P-256 is
 * the last of it where chains are of that curve. */
class Policy final : public TLS::Policy
{
  public:
    Policy(enum role role, const struct suite *suite)
        : cipher(cipher_named(suite->cipher)), tls13(is_tls13(suite)), mutual(!strcmp(suite->auth, "mutual"))
    {
        const TLS::Group_Params p256 = TLS::Group_Params_Code::SECP256R1;
        groups_read(chosen, role, suite);
        if (!tls13 && strstr(suite->cipher, "ECDSA") && std::find(chosen.begin(), chosen.end(), p256) == chosen.end())
            chosen.push_back(p256);
    }
    bool allow_tls12() const override
    {
        return !tls13;
    }
    bool allow_tls13() const override
    {
        return tls13;
    }
    std::vector<std::string> allowed_ciphers() const override
    {
        return {cipher->own};
    }
    std::vector<std::string> allowed_macs() const override
    {
        return {"AEAD"};
    }
    std::vector<std::string> allowed_key_exchange_methods() const override
    {
        return {"ECDH"};
    }
    std::vector<std::string> allowed_signature_methods() const override
    {
        return cipher->signature && !mutual ? std::vector<std::string>{cipher->signature}
                                            : std::vector<std::string>{"ECDSA", "RSA"};
    }
    bool acceptable_ciphersuite(const TLS::Ciphersuite &suite) const override
    {
        return suite.ciphersuite_code() == cipher->number;
    }
    std::vector<TLS::Group_Params> key_exchange_groups() const override
    {
        return chosen.empty() ? TLS::Policy::key_exchange_groups() : chosen;
    }
    std::vector<TLS::Group_Params> key_exchange_groups_to_offer() const override
    {
        return chosen.empty() ? TLS::Policy::key_exchange_groups_to_offer() : std::vector{chosen.front()};
    }
    bool require_cert_revocation_info() const override
    {
        return false;
    }
    bool require_client_certificate_authentication() const override
    {
        return mutual;
    }

  private:
    const Cipher *cipher;
    bool tls13, mutual;
    std::vector<TLS::Group_Params> chosen;
};

std::vector<Botan::X509_Certificate> chain_load(const char *path)
{
    std::ifstream file(path);
    if (!file)
        throw std::runtime_error(std::string(path) + ": " + strerror(errno));
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    std::vector<Botan::X509_Certificate> chain;
    for (size_t at = 0; (at = text.find("-----BEGIN CERTIFICATE", at)) != std::string::npos; at++) {
        Botan::DataSource_Memory one(text.substr(at));
        chain.emplace_back(one);
    }
    return chain;
}

/* A role's chain, key and trusted root. */
class Credentials final : public Botan::Credentials_Manager
{
  public:
    Credentials(enum role role, const struct suite *suite)
    {
        char path[PATH_BYTES];
        const bool mutual = !strcmp(suite->auth, "mutual"), client = role == ROLE_CLIENT;
        if (client || mutual)
            trusted = std::make_unique<Botan::Certificate_Store_In_Memory>(
                Botan::X509_Certificate(suite_path(path, suite, client ? "root.pem" : "client-root.pem")));
        if (client && !mutual)
            return;
        chain = chain_load(suite_path(path, suite, client ? "client-chain.pem" : "chain.pem"));
        Botan::DataSource_Stream file(suite_path(path, suite, client ? "client-key.pem" : "key.pem"));
        key = Botan::PKCS8::load_key(file);
        if (key->public_key_bits() != chain.front().subject_public_key_bitstring())
            throw std::runtime_error("the key is not that of the chain");
    }
    std::vector<Botan::Certificate_Store *> trusted_certificate_authorities(const std::string &,
                                                                            const std::string &) override
    {
        return trusted ? std::vector<Botan::Certificate_Store *>{trusted.get()}
                       : std::vector<Botan::Certificate_Store *>{};
    }
    std::vector<Botan::X509_Certificate> find_cert_chain(const std::vector<std::string> &types,
                                                         const std::vector<Botan::AlgorithmIdentifier> &,
                                                         const std::vector<Botan::X509_DN> &, const std::string &,
                                                         const std::string &) override
    {
        const bool fits = key && std::find(types.begin(), types.end(), key->algo_name()) != types.end();
        return fits ? chain : std::vector<Botan::X509_Certificate>{};
    }
    std::shared_ptr<Botan::Private_Key> private_key_for(const Botan::X509_Certificate &, const std::string &,
                                                        const std::string &) override
    {
        return key;
    }

  private:
    std::unique_ptr<Botan::Certificate_Store> trusted;
    std::vector<Botan::X509_Certificate> chain;
    std::shared_ptr<Botan::Private_Key> key;
};

struct Context {
    enum role role;
    std::shared_ptr<Policy> policy;
    std::shared_ptr<Credentials> credentials;
    std::shared_ptr<TLS::Session_Manager> sessions;
    std::shared_ptr<Botan::RandomNumberGenerator> random;
    TLS::Protocol_Version version;
};

enum { MOST = 1 << 14 }; /* bytes at a time: what is encrypted must be kept until the wire has room */

/* What a caller has beside the library: where bytes go, and what did not fit or was not yet asked for. */
class Caller final : public TLS::Callbacks
{
  public:
    explicit Caller(struct wire *wire) : wire(wire)
    {
    }
    void tls_emit_data(std::span<const uint8_t> bytes) override
    {
        const size_t sent = started && unsent.empty() ? send(bytes) : 0;
        unsent.insert(unsent.end(), bytes.begin() + (ptrdiff_t)sent, bytes.end());
    }
    void tls_record_received(uint64_t, std::span<const uint8_t> bytes) override
    {
        received.insert(received.end(), bytes.begin(), bytes.end());
    }
    void tls_alert(TLS::Alert alert) override
    {
        if (alert.is_fatal())
            die("alert of the peer: %s", alert.type_string().c_str());
    }
    void tls_session_established(const TLS::Session_Summary &summary) override
    {
        cipher = summary.ciphersuite_code();
        tls13 = summary.version() == TLS::Protocol_Version::TLS_V13;
        resumed = summary.was_resumption();
        const std::string own = summary.kex_parameters().value_or("");
        for (const auto &one : groups)
            if (same(TLS::Group_Params(one.code).to_string().value_or("?"), own.c_str()))
                group = one.name;
    }
    /* True once nothing waits to be sent. */
    bool flush()
    {
        started = true;
        unsent.erase(unsent.begin(), unsent.begin() + (ptrdiff_t)send(unsent));
        if (unsent.empty())
            Bytes().swap(unsent);
        return unsent.empty();
    }
    size_t take(void *bytes, size_t size)
    {
        const size_t given = std::min(size, received.size());
        memcpy(bytes, received.data(), given);
        received.erase(received.begin(), received.begin() + (ptrdiff_t)given);
        if (received.empty())
            Bytes().swap(received);
        return given;
    }
    /* How many the wire takes: it wants them by the piece. */
    size_t send(std::span<const uint8_t> bytes)
    {
        size_t sent = 0;
        while (sent < bytes.size()) {
            const size_t piece = std::min<size_t>(MOST, bytes.size() - sent);
            if (!wire_write(wire, bytes.data() + sent, piece))
                break;
            sent += piece;
        }
        return sent;
    }
    struct wire *wire;
    Bytes unsent, received;
    const char *group = nullptr;
    uint16_t cipher = 0;
    bool tls13 = false, resumed = false, started = false;
};

struct Session {
    std::shared_ptr<Caller> caller;
    std::unique_ptr<TLS::Channel> channel;
};

const char *version(void)
{
    static const std::string text = "Botan " + Botan::short_version_string();
    return text.c_str();
}

const char *supports(const struct suite *suite)
{
    if (!is_tls13(suite) && strcmp(suite->protocol, "TLSv1.2") != 0)
        return "does TLSv1.2 and TLSv1.3 only";
    if (!cipher_named(suite->cipher))
        return "does not have this cipher";
    for (enum role role : {ROLE_CLIENT, ROLE_SERVER}) {
        std::vector<TLS::Group_Params> unused;
        if (!groups_read(unused, role, suite))
            return "does not have this group";
    }
    if (suite->store || suite->resume || suite->tickets > 0)
        return "has a store and tickets, but this driver has not";
    if (strcmp(suite->options, "default") != 0)
        return "has no such option";
    return nullptr;
}

void *context_new(enum role role, const struct suite *suite)
{
    return guarded("context", [&]() -> void * {
        auto random = std::make_shared<Botan::AutoSeeded_RNG>();
        std::shared_ptr<TLS::Session_Manager> sessions;
        if (suite->tickets == TICKETS_LIBRARY && role == ROLE_SERVER) /* a client would offer what it kept */
            sessions = std::make_shared<TLS::Session_Manager_In_Memory>(random);
        else
            sessions = std::make_shared<TLS::Session_Manager_Noop>();
        return new Context{role,
                           std::make_shared<Policy>(role, suite),
                           std::make_shared<Credentials>(role, suite),
                           sessions,
                           random,
                           is_tls13(suite) ? TLS::Protocol_Version::TLS_V13 : TLS::Protocol_Version::TLS_V12};
    });
}

/* A client writes its hello when it is made; the caller keeps that until the first step. */
void *session_new(void *opaque, struct wire *wire)
{
    return guarded("session", [&]() -> void * {
        const Context &of = *static_cast<Context *>(opaque);
        auto caller = std::make_shared<Caller>(wire);
        if (of.role == ROLE_SERVER)
            return new Session{
                caller, std::make_unique<TLS::Server>(caller, of.sessions, of.credentials, of.policy, of.random)};
        const TLS::Server_Information server(wire_server_name(wire));
        return new Session{caller, std::make_unique<TLS::Client>(caller, of.sessions, of.credentials, of.policy,
                                                                 of.random, server, of.version)};
    });
}

void receive(Session *session)
{
    uint8_t bytes[1 << 14];
    while (const size_t size = wire_read(session->caller->wire, bytes, sizeof bytes))
        session->channel->received_data(bytes, size);
}

bool handshake(void *opaque)
{
    return guarded("handshake", [&] {
        auto session = static_cast<Session *>(opaque);
        if (!session->channel->is_active() || session->caller->started)
            session->caller->flush();
        receive(session);
        return session->caller->flush() && session->channel->is_active();
    });
}

size_t write(void *opaque, const void *bytes, size_t size)
{
    return guarded("write", [&]() -> size_t {
        auto session = static_cast<Session *>(opaque);
        if (!session->caller->flush())
            return 0;
        const size_t taken = std::min<size_t>(size, MOST);
        session->channel->send(static_cast<const uint8_t *>(bytes), taken);
        return taken;
    });
}

size_t read(void *opaque, void *bytes, size_t size)
{
    return guarded("read", [&] {
        auto session = static_cast<Session *>(opaque);
        session->caller->flush();
        if (session->caller->received.empty())
            receive(session);
        return session->caller->take(bytes, size);
    });
}

void negotiated_tell(void *opaque, struct negotiated *result)
{
    static thread_local Bytes peer;
    guarded("negotiated", [&] {
        auto session = static_cast<Session *>(opaque);
        const Caller &caller = *session->caller;
        result->protocol = caller.tls13 ? "TLSv1.3" : "TLSv1.2";
        for (const Cipher &one : ciphers)
            if (one.number == caller.cipher)
                result->cipher = one.name;
        result->group = caller.group;
        result->resumed = caller.resumed;
        const auto chain = session->channel->peer_cert_chain();
        result->peer_verified = !chain.empty(); /* a chain that does not verify ends the handshake */
        Bytes().swap(peer);
        if (chain.empty())
            return;
        peer = chain.front().BER_encode();
        result->peer.bytes = peer.data();
        result->peer.size = peer.size();
    });
}

void session_free(void *opaque)
{
    delete static_cast<Session *>(opaque);
}

void context_free(void *opaque)
{
    delete static_cast<Context *>(opaque);
}

struct Sealer {
    std::unique_ptr<Botan::AEAD_Mode> mode;
    unsigned char nonce[SEAL_NONCE_BYTES];
    Botan::secure_vector<uint8_t> record;
};

void *sealer_new(const struct suite *suite)
{
    return guarded("sealer", [&]() -> void * {
        const char *own = cipher_named(suite->cipher)->own;
        auto made = new Sealer{Botan::AEAD_Mode::create_or_throw(own, Botan::Cipher_Dir::Encryption), {}, {}};
        Bytes key(strcmp(own, "AES-128/GCM") ? 32 : 16);
        std::iota(key.begin(), key.end(), 0);
        made->mode->set_key(key);
        return made;
    });
}

void seal(void *opaque, unsigned char *bytes, size_t size)
{
    guarded("seal", [&] {
        auto sealer = static_cast<Sealer *>(opaque);
        sealer->mode->set_associated_data(Bytes(SEAL_AAD_BYTES));
        sealer->mode->start(sealer->nonce, sizeof sealer->nonce);
        sealer->record.assign(bytes, bytes + size);
        sealer->mode->finish(sealer->record);
        memcpy(bytes, sealer->record.data(), sealer->record.size());
        for (int i = SEAL_NONCE_BYTES - 1; i >= 0 && ++sealer->nonce[i] == 0; i--)
            continue;
    });
}

void sealer_free(void *opaque)
{
    delete static_cast<Sealer *>(opaque);
}

} // namespace

const struct driver driver = {
    .name = "botan",
    .version = version,
    .supports = supports,
    .context_new = context_new,
    .session_new = session_new,
    .name_add = nullptr,
    .resume = nullptr,
    .tickets = nullptr,
    .handshake = handshake,
    .write = write,
    .read = read,
    .negotiated = negotiated_tell,
    .release = nullptr,
    .session_free = session_free,
    .context_free = context_free,
    .sealer_new = sealer_new,
    .seal = seal,
    .sealer_free = sealer_free,
    .mallctl = nullptr,
};
