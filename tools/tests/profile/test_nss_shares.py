"""Call chains of selfserv and tstclnt with NSS 3.87: with all names, and with those that a stripped library has."""

import pytest

from tests.profile.test_tls_shares import profile, share
from tlsmem.profile.heap_profile import PEAK, LiveHeap
from tlsmem.profile.tls_shares import CONTEXTS, CRYPTO, EITHER, OTHER, PROCESS, SESSIONS, TlsShares

SERVER = "?@selfserv ?@libnspr4.so start_thread@libc.so.6"
READ = (
    "ssl3_HandleHandshakeMessage@libssl3.so ssl3_HandleRecord@libssl3.so ssl_Do1stHandshake@libssl3.so "
    f"ssl_SecureRecv@libssl3.so ssl_Read@libssl3.so {SERVER}"
)
ACCEPT = "ssl_NewSocket@libssl3.so ssl_DupSocket@libssl3.so ssl_Accept@libssl3.so do_accepts@selfserv main@selfserv"
OBJECT = "PORT_ZAlloc_Util@libnssutil3.so ?@libsoftokn3.so"
CERTIFICATE = "ssl_ConfigCert@libssl3.so SSL_ConfigServerCert@libssl3.so ?@selfserv main@selfserv"
LOADED = "SECMOD_LoadModule@libnss3.so nss_Init@libnss3.so NSS_Initialize@libnss3.so ?@selfserv main@selfserv"
CACHE = "SSL_ConfigServerSessionIDCacheInstance@libssl3.so configure@selfserv main@selfserv"

# What 21 sessions of TLS 1.3 and their process held, and the share with and without names of functions that are not
# exported, or that an exported one jumps to.
STACKS = [
    (f"PORT_Alloc_Util@libnssutil3.so sslBuffer_Grow@libssl3.so {ACCEPT}", LiveHeap(387072, 21), SESSIONS, SESSIONS),
    (f"PORT_ZAlloc_Util@libnssutil3.so {ACCEPT}", LiveHeap(87696, 21), SESSIONS, SESSIONS),
    (
        f"PORT_ArenaAlloc_Util@libnssutil3.so CERT_DupCertList@libnss3.so ssl_CopyServerCert@libssl3.so {ACCEPT}",
        LiveHeap(43008, 21),
        SESSIONS,
        SESSIONS,
    ),
    (
        f"{OBJECT} PK11_DeriveWithFlags@libnss3.so tls13_HkdfExpandLabel@libssl3.so {READ}",
        LiveHeap(103360, 19),
        SESSIONS,
        SESSIONS,
    ),
    (f"PORT_Realloc_Util@libnssutil3.so ssl3_SendRecord@libssl3.so {READ}", LiveHeap(40551, 21), SESSIONS, SESSIONS),
    (
        "PORT_Alloc_Util@libnssutil3.so ssl_NewSocket@libssl3.so ssl_ImportFD@libssl3.so connect@tstclnt main@tstclnt",
        LiveHeap(18432, 1),
        SESSIONS,
        SESSIONS,
    ),
    (
        f"{OBJECT} PK11_CopyKey@libnss3.so ssl_SetSelfEncryptKeyPair@libssl3.so {CERTIFICATE}",
        LiveHeap(5440, 1),
        CONTEXTS,
        CONTEXTS,
    ),
    (f"PORT_Alloc_Util@libnssutil3.so InitCache@libssl3.so {CACHE}", LiveHeap(1893104, 1), CONTEXTS, EITHER),
    (
        f"PR_ErrorInstallTable@libnspr4.so ssl_InitializePRErrorTable@libssl3.so {CACHE}",
        LiveHeap(24, 1),
        PROCESS,
        EITHER,
    ),
    (
        f"{OBJECT} PK11_ImportPublicKey@libnss3.so ssl_GenerateSelfEncryptKeys@libssl3.so {READ}",
        LiveHeap(5440, 1),
        PROCESS,
        SESSIONS,  # of the same call as the keys of a session
    ),
    (f"PR_NewLock@libnspr4.so ?@libsoftokn3.so {LOADED}", LiveHeap(172032, 1024), CRYPTO, CRYPTO),
    (f"sqlite3Malloc@libsqlite3.so.0 ?@libsoftokn3.so {LOADED}", LiveHeap(87208, 1), CRYPTO, CRYPTO),
]
EXPORTED = ("SSL_ConfigServerCert@",)  # of libssl3, where they do not jump


def without_names(stack: str) -> str:
    frames = stack.split()
    return " ".join(
        "?@libssl3.so" if one.endswith("@libssl3.so") and not one.startswith(EXPORTED) else one for one in frames
    )


@pytest.mark.parametrize("names", [True, False])
def test_call_chains_of_nss_are_told_apart(names):
    made, numbers = profile(*((stack if names else without_names(stack), held) for stack, held, *_ in STACKS))
    shares = TlsShares(made)
    found = [shares.share(number, made.moments[PEAK].live[number]) for number in numbers]
    assert [one.share for one in found] == [with_names if names else without for *_, with_names, without in STACKS]
    assert {one.library and one.library.key for one in found} == {"nss"}


@pytest.mark.parametrize("call", ["PK11_DeriveWithFlags", "PK11_CreateDigestContext", "CERT_DupCertList"])
def test_what_libssl3_calls_for_sessions_tells_only_where_no_name_does(call):
    inner = f"PORT_Alloc_Util@libnssutil3.so {call}@libnss3.so"
    assert share(f"{inner} ?@libssl3.so ?@selfserv") == (SESSIONS, "nss")
    assert share(f"{inner} SSL_ConfigServerCert@libssl3.so ?@selfserv") == (CONTEXTS, "nss")
    assert share(f"{inner} ?@libsmime3.so ?@selfserv") == (CRYPTO, "nss")
    assert share(f"{inner} ?@libssl.so.3 ?@program") == (EITHER, "openssl")


def test_nss_in_a_program_is_told_from_openssl_by_its_capitals():
    assert share("PR_Malloc ssl3_HandleHandshake ssl_Do1stHandshake main") == (SESSIONS, "nss")
    assert share("CRYPTO_malloc ssl3_read_bytes main") == (SESSIONS, "openssl_family")


def test_functions_of_nss_are_known_without_the_names_of_its_files():
    """massif leaves a module out where it knows a source file."""
    assert share("sftk_NewObject NSC_CreateObject PK11_CreateNewObject main") == (CRYPTO, "nss")
    assert share("PORT_ZAlloc_Util nss_Init NSS_Initialize main") == (CRYPTO, "nss")
    assert share("sftk_NewObject NSC_DeriveKey PK11_Derive tls13_HkdfExtract ssl_Read main") == (SESSIONS, "nss")
    assert share("_nss_files_parse_pwent main")[0] == OTHER
