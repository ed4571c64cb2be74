#!/bin/bash
# Makes the test certificates: for each kind of key a root, an intermediate, and a leaf for localhost.
# usage: make_certs.sh [DIRECTORY]   (default: beside this script; needs OpenSSL 3)
#
# The dates are fixed and far apart, so a run of today is a run of tomorrow; the keys of root and intermediate are
# thrown away, so nobody can issue anything else that a store with these roots would trust.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:-$here}")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
from=20200101000000Z
to=20991231235959Z

# key FILE ALGORITHM...
key() {
    openssl genpkey -out "$1" -algorithm "${@:2}"
}

# issue NAME ISSUER: signs NAME.key's request with ISSUER.key (NAME itself for the root); extensions from [NAME]
issue() {
    local issuer=(-cert "$2.pem")
    [ "$1" != "$2" ] || issuer=(-selfsign)
    openssl req -new -config "$here/openssl.cnf" -key "$1.key" -sha256 \
        -subj "/O=tls-memtest test key, not secret/CN=tls-memtest test key, not secret: $1" -out "$1.csr"
    openssl ca -batch -notext -config "$here/openssl.cnf" -name issuer -extensions "$1" -md sha256 \
        -startdate "$from" -enddate "$to" -keyfile "$2.key" "${issuer[@]}" -in "$1.csr" -out "$1.pem"
}

# pki KIND ALGORITHM...
pki() {
    mkdir "$scratch/$1" && cd "$scratch/$1" && touch index
    local name
    for name in root intermediate leaf; do
        key "$name.key" "${@:2}"
    done
    issue root root
    issue intermediate root
    issue leaf intermediate
    openssl verify -CAfile root.pem -untrusted intermediate.pem -verify_hostname localhost -purpose sslserver leaf.pem
    mkdir -p "$out/$1"
    cat leaf.pem intermediate.pem >"$out/$1/chain.pem"
    cp root.pem intermediate.pem "$out/$1/"
    cp leaf.key "$out/$1/key.pem"
    chmod 644 "$out/$1/key.pem"
}

pki rsa-2048 RSA -pkeyopt rsa_keygen_bits:2048
pki ecdsa-p256 EC -pkeyopt ec_paramgen_curve:P-256
