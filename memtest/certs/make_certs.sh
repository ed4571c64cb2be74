#!/bin/bash
# Makes the test certificates: for each kind of key a root, an intermediate, and a leaf for localhost; and such three
# for clients, from an issuer of their own.
# usage: make_certs.sh [DIRECTORY [KIND [server|client]]]   (default: beside this script, and all; needs OpenSSL 3)
#
# The dates are fixed and far apart, so a run of today is a run of tomorrow; the keys of root and intermediate are
# thrown away, so nobody can issue anything else that a store with these roots would trust.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:-$here}")
only=${2:-}
whose=${3:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
from=20200101000000Z
to=20991231235959Z
subject="/O=tls-memtest test key, not secret/CN=tls-memtest test key, not secret: "

# key FILE ALGORITHM...
key() {
    openssl genpkey -out "$1" -algorithm "${@:2}"
}

# issue NAME ISSUER: signs NAME.key's request with ISSUER.key (NAME itself for the root); extensions from [NAME]
issue() {
    local issuer=(-cert "$2.pem")
    [ "$1" != "$2" ] || issuer=(-selfsign)
    openssl req -new -config "${config:-$here/openssl.cnf}" -key "$1.key" -sha256 \
        -subj "$subject$1" -out "$1.csr"
    openssl ca -batch -notext -config "${config:-$here/openssl.cnf}" -name issuer -extensions "$1" -md sha256 \
        -startdate "$from" -enddate "$to" -keyfile "$2.key" "${issuer[@]}" -in "$1.csr" -out "$1.pem"
}

# pki DIRECTORY PREFIX SENT ROOT INTERMEDIATE LEAF: each key is made by the words of its argument; SENT is what is sent
pki() {
    local kind=$1 prefix=$2 name
    # shellcheck disable=SC2086 # words
    { key "${prefix}root.key" $4 && key "${prefix}intermediate.key" $5 && key "${prefix}leaf.key" $6; }
    issue "${prefix}root" "${prefix}root"
    issue "${prefix}intermediate" "${prefix}root"
    issue "${prefix}leaf" "${prefix}intermediate"
    openssl verify -CAfile "${prefix}root.pem" -untrusted "${prefix}intermediate.pem" \
        -verify_hostname "${prefix:+client.}localhost" -purpose "$([ -z "$prefix" ] && echo sslserver || echo sslclient)" "${prefix}leaf.pem"
    for name in $3; do
        cat "$prefix$name"
    done >"$out/$kind/${prefix}chain.pem"
    cp "${prefix}root.pem" "${prefix}intermediate.pem" "$out/$kind/"
    cp "${prefix}leaf.key" "$out/$kind/${prefix}key.pem"
    chmod 644 "$out/$kind/${prefix}key.pem"
}

rsa() {
    echo "RSA -pkeyopt rsa_keygen_bits:$1"
}

# make KIND SENT ROOT INTERMEDIATE LEAF: if it was asked for
make() {
    [ -z "$only" ] || [ "$only" = "$1" ] || return 0
    mkdir -p "$scratch/$1" "$out/$1" && cd "$scratch/$1" && touch index
    [ "$whose" = client ] || pki "$1" "" "${@:2}"
    [ "$whose" = server ] || pki "$1" client- "${@:2}"
}

p256="EC -pkeyopt ec_paramgen_curve:P-256"
make rsa-2048 "leaf.pem intermediate.pem" "$(rsa 2048)" "$(rsa 2048)" "$(rsa 2048)"
make ecdsa-p256 "leaf.pem intermediate.pem" "$p256" "$p256" "$p256"

# Whose clients send a chain of some 90,000 bytes: a comment in the leaf, which no library looks at, makes it so.
make_large_client() {
    [ -z "$only" ] || [ "$only" = rsa-2048-large-client ] || return 0
    mkdir -p "$scratch/large" "$out/rsa-2048-large-client" && cd "$scratch/large" && touch index
    cp "$out/rsa-2048/"{chain,intermediate,key,root}.pem "$out/rsa-2048-large-client/"
    { cat "$here/openssl.cnf" && printf '[client-leaf]\nnsComment = %s\n' "$(printf 'x%.0s' {1..88000})"; } >large.cnf
    config=large.cnf pki rsa-2048-large-client client- "leaf.pem intermediate.pem" "$(rsa 2048)" "$(rsa 2048)" "$(rsa 2048)"
}
make_large_client

# As large as those of the figures published in 2023, whose servers sent the root too.
subject="/O=test key, not secret/CN="
make rsa-4096-3072-2048 "leaf.pem intermediate.pem root.pem" "$(rsa 4096)" "$(rsa 3072)" "$(rsa 2048)"
