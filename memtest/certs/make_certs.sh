#!/bin/bash
# Makes the test certificates: for each kind of key a root, an intermediate (or as many as the kind's depth says), and a
# leaf for localhost; and the same for clients, from an issuer of their own.
# usage: make_certs.sh [DIRECTORY [KIND [server|client]]]   (default: beside this script, and all)
# OPENSSL=PROGRAM in the environment: the openssl program, by default that of the PATH. ML-DSA needs 3.5 or later, the
# others 3.0: README.md says how to make one of the project's own source.
#
# The dates are fixed and far apart, so a run of today is a run of tomorrow; the keys of root and intermediate are
# thrown away, so nobody can issue anything else that a store with these roots would trust.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
out=$(realpath -m "${1:-$here}")
openssl=${OPENSSL:-openssl}
only=${2:-}
whose=${3:-}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
from=20200101000000Z
to=20991231235959Z
digest=sha256
export PATHLEN=0 # of the last intermediate: no other below it
refusable="A stack that does not take these certificates is unsupported, with its own words; it has not failed."
alone="Only the campaigns that name these suites measure them; tools/tls-memtest measure --verify leaves them out."
subject="/O=tls-memtest test key, not secret/CN=tls-memtest test key, not secret: "

# key FILE ALGORITHM...
key() {
    "$openssl" genpkey -out "$1" -algorithm "${@:2}"
}

# issue NAME ISSUER EXTENSIONS: signs NAME.key's request with ISSUER.key (NAME itself for the root)
issue() {
    local issuer=(-cert "$2.pem")
    [ "$1" != "$2" ] || issuer=(-selfsign)
    "$openssl" req -new -config "${config:-$here/openssl.cnf}" -key "$1.key" -sha256 \
        -subj "${named:-$subject$1}" -out "$1.csr"
    "$openssl" ca -batch -notext -config "${config:-$here/openssl.cnf}" -name issuer -extensions "$3" -md "$digest" \
        -startdate "$from" -enddate "$to" -keyfile "$2.key" "${issuer[@]}" -in "$1.csr" -out "$1.pem"
}

# check_leaf PREFIX NAME INTERMEDIATES: as a peer would, with just these files
check_leaf() {
    local untrusted=()
    [ -z "$3" ] || untrusted=(-untrusted "$3")
    "$openssl" verify -CAfile "$1root.pem" "${untrusted[@]}" -verify_hostname "${1:+client.}localhost" \
        -purpose "$([ -z "$1" ] && echo sslserver || echo sslclient)" "$2.pem"
}

# pki DIRECTORY PREFIX SENT ROOT INTERMEDIATE LEAF: each key is made by the words of its argument; SENT is what is sent
pki() {
    local kind=$1 prefix=$2 name
    # shellcheck disable=SC2086 # words
    { key "${prefix}root.key" $4 && key "${prefix}intermediate.key" $5 && key "${prefix}leaf.key" $6; }
    issue "${prefix}root" "${prefix}root" "${prefix}root"
    issue "${prefix}intermediate" "${prefix}root" "${prefix}intermediate"
    issue "${prefix}leaf" "${prefix}intermediate" "${prefix}leaf"
    check_leaf "$prefix" "${prefix}leaf" "${prefix}intermediate.pem"
    for name in $3; do
        cat "$prefix$name"
    done >"$out/$kind/${prefix}chain.pem"
    cp "${prefix}root.pem" "${prefix}intermediate.pem" "$out/$kind/"
    cp "${prefix}leaf.key" "$out/$kind/${prefix}key.pem"
    chmod 644 "$out/$kind/${prefix}key.pem"
}

# pki_of_depth DIRECTORY PREFIX DEPTH KEY: the leaf is below so many intermediates, of keys of one kind
pki_of_depth() {
    local kind=$1 prefix=$2 depth=$3 issuer=${2}root sent=()
    # shellcheck disable=SC2086 # words
    { key "$issuer.key" $4 && key "${prefix}leaf.key" $4; }
    issue "$issuer" "$issuer" "${prefix}root"
    for ((below = depth - 1; below >= 0; below--)); do
        # shellcheck disable=SC2086
        key "${prefix}intermediate-$below.key" $4
        PATHLEN=$below issue "${prefix}intermediate-$below" "$issuer" "${prefix}intermediate"
        issuer=${prefix}intermediate-$below
        sent=("$issuer.pem" "${sent[@]}")
    done
    issue "${prefix}leaf" "$issuer" "${prefix}leaf"
    cat /dev/null "${sent[@]}" >"${prefix}intermediates.pem"
    check_leaf "$prefix" "${prefix}leaf" "$([ "$depth" = 0 ] || echo "${prefix}intermediates.pem")"
    cat "${prefix}leaf.pem" "${prefix}intermediates.pem" >"$out/$kind/${prefix}chain.pem"
    cp "${prefix}root.pem" "$out/$kind/"
    cp "${prefix}leaf.key" "$out/$kind/${prefix}key.pem"
    chmod 644 "$out/$kind/${prefix}key.pem"
}

rsa() {
    echo "RSA -pkeyopt rsa_keygen_bits:$1"
}

# make_by MAKER KIND ARGUMENT...: if it was asked for
make_by() {
    [ -z "$only" ] || [ "$only" = "$2" ] || return 0
    mkdir -p "$scratch/$2" "$out/$2" && cd "$scratch/$2" && touch index
    [ "$whose" = client ] || "$1" "$2" "" "${@:3}"
    [ "$whose" = server ] || "$1" "$2" client- "${@:3}"
}

# make KIND SENT ROOT INTERMEDIATE LEAF
make() {
    make_by pki "$@"
}

# make_of_depth KIND DEPTH KEY
make_of_depth() {
    make_by pki_of_depth "$@"
    [ ! -d "$out/$1" ] || echo "$refusable" >"$out/$1/may-be-refused"
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
    echo "$refusable" >"$out/rsa-2048-large-client/may-be-refused"
    config=large.cnf pki rsa-2048-large-client client- "leaf.pem intermediate.pem" "$(rsa 2048)" "$(rsa 2048)" "$(rsa 2048)"
}
make_large_client

# Whose clients have two intermediates, each with a permitted name 1,000 times: what a peer does with one for each other.
make_constraints() {
    local kind=rsa-2048-constraints
    [ -z "$only" ] || [ "$only" = $kind ] || return 0
    mkdir -p "$scratch/constraints" "$out/$kind" && cd "$scratch/constraints" && touch index
    cp "$out/rsa-2048/"{chain,intermediate,key,root}.pem "$out/$kind/"
    {
        cat "$here/openssl.cnf"
        printf '[client-intermediate]\nnameConstraints = critical, @constraints\n[constraints]\n'
        printf 'permitted;DNS.%d = localhost\n' {1..1000}
    } >constraints.cnf
    echo "$refusable" >"$out/$kind/may-be-refused"
    echo "$alone" >"$out/$kind/only-in-campaigns"
    config=constraints.cnf pki_of_depth $kind client- 2 "$(rsa 2048)"
}
make_constraints

# The certificates of rsa-2048, and what a server staples: an OCSP response with no answer in it, and a signature of zeros.
make_empty_staple() {
    local kind=rsa-2048-empty-staple
    [ -z "$only" ] || [ "$only" = $kind ] || return 0
    mkdir -p "$scratch/staple" "$out/$kind" && cd "$scratch/staple"
    cp "$out/rsa-2048/"*.pem "$out/$kind/"
    {
        printf 'asn1=SEQUENCE:response\n[response]\nstatus=ENUM:0\nbytes=EXP:0,SEQUENCE:bytes\n'
        printf '[bytes]\ntype=OID:1.3.6.1.5.5.7.48.1.1\nbasic=OCTWRAP,SEQUENCE:basic\n'
        printf '[basic]\nsigned=SEQUENCE:signed\nalgorithm=SEQUENCE:algorithm\nsignature=FORMAT:HEX,BITSTRING:'
        printf '00%.0s' {1..60000}
        printf '\n[signed]\nresponder=EXP:2,FORMAT:HEX,OCT:%040d\nat=GENTIME:20200101000000Z\nresponses=SEQUENCE:none\n' 0
        printf '[none]\n[algorithm]\nname=OID:sha256WithRSAEncryption\nparameters=NULL\n'
    } >staple.cnf
    "$openssl" asn1parse -genconf staple.cnf -noout -out "$out/$kind/staple.der"
}
make_empty_staple

# For stores with many roots and servers with many names, of which make_many.py makes what it needs. The name in the
# template is its serial number, its CN and its DNS name; the intermediate's key is kept, for all others are signed by it.
# The other roots are as a public bundle has them: 45 % RSA-4096, 30 % RSA-2048, 25 % elliptic curves.
make_many() {
    local kind=rsa-2048-many kinds=() number
    [ -z "$only" ] || [ "$only" = $kind ] || return 0
    whose=server make $kind "leaf.pem intermediate.pem" "$(rsa 2048)" "$(rsa 2048)" "$(rsa 2048)"
    cp intermediate.key "$out/$kind/intermediate-key.pem" && chmod 644 "$out/$kind/intermediate-key.pem"
    cp leaf.key name.key && printf 'name-00000' | xxd -p >serial
    sed 's/^rand_serial = yes/serial = serial/' "$here/openssl.cnf" >names.cnf
    config=names.cnf named="/O=tls-memtest test key, not secret/CN=name-00000.example" issue name intermediate name
    cp name.pem "$out/$kind/name.pem"
    local p384="EC -pkeyopt ec_paramgen_curve:P-384" large small
    large=$(rsa 4096) small=$(rsa 2048)
    kinds=("$large" "$small" "$p384" "$large" "$small" "$large" "$small" "$p384" "$large")
    for number in {1..7}; do
        kinds+=("$large" "$small" "$large" "$p384" "$large" "$small" "$large" "$small" "$p384" "$large"
            "$large" "$small" "$p384" "$large" "$small" "$large" "$p256" "$large" "$small" "$p384")
    done
    : >"$out/$kind/other-roots.pem"
    for number in "${!kinds[@]}"; do
        # shellcheck disable=SC2086 # words
        key root.key ${kinds[number]}
        named="${subject}other root $number" issue root root root
        cat root.pem >>"$out/$kind/other-roots.pem"
    done
}
make_many

# Chains that become longer when a run needs them: make_padded.py reads `padding`. Clients are those of rsa-2048, servers
# those of rsa-2048-many, whose intermediate's key is kept.
make_padded() {
    local kind name bytes
    while read -r kind name bytes; do
        [ -z "$only" ] || [ "$only" = "$kind" ] || continue
        mkdir -p "$out/$kind"
        if [ "$name" = chain.pem ]; then # its leaf is signed again
            cp "$out/rsa-2048-many/"{chain,intermediate,intermediate-key,key,root}.pem "$out/$kind/"
        else
            cp "$out/rsa-2048/"*.pem "$out/$kind/"
        fi
        echo "$name $bytes" >"$out/$kind/padding"
        echo "$refusable" >"$out/$kind/may-be-refused"
        echo "$alone" >"$out/$kind/only-in-campaigns"
    done <<'KINDS'
rsa-2048-padded-client-90k client-chain.pem 90000
rsa-2048-padded-client-15m client-chain.pem 15000000
rsa-2048-padded-server-90k chain.pem 90000
rsa-2048-padded-server-15m chain.pem 15000000
KINDS
}
make_padded

# ca-names.der: the names of the roots in rsa-2048-many, as a certificate request has them: each behind its length, in two
# bytes. A root has its own name twice; the first is the second SEQUENCE at that depth.
make_ca_names() {
    local kind=$out/rsa-2048-many at
    [ -z "$only" ] || [ "$only" = ca-names ] || return 0
    mkdir -p "$scratch/names" && cd "$scratch/names"
    csplit -sz -f root- -n 3 <(cat "$kind/root.pem" "$kind/other-roots.pem") '/BEGIN/' '{*}'
    for root in root-*; do
        at=$("$openssl" asn1parse -in "$root" | awk -F: '/d=2 .*SEQUENCE/ && ++found == 2 { print $1 + 0 }')
        "$openssl" asn1parse -in "$root" -strparse "$at" -noout -out name.der
        printf '%04x' "$(wc -c <name.der)" | xxd -r -p && cat name.der
    done >"$out/ca-names.der"
}
make_ca_names

# As large as those of the figures published in 2023, whose servers sent the root too.
subject="/O=test key, not secret/CN="
make rsa-4096-3072-2048 "leaf.pem intermediate.pem root.pem" "$(rsa 4096)" "$(rsa 3072)" "$(rsa 2048)"

# Chains of other depths than one, and other kinds of keys.
subject="/O=tls-memtest test key, not secret/CN=tls-memtest test key, not secret: "
for depth in 0 2 4; do
    make_of_depth "rsa-2048-depth$depth" "$depth" "$(rsa 2048)"
done
make_of_depth rsa-4096 1 "$(rsa 4096)"
digest=sha384 make_of_depth ecdsa-p384 1 "EC -pkeyopt ec_paramgen_curve:P-384"
digest=default make_of_depth ed25519 1 ED25519 # it has a digest of its own
for level in 44 65 87; do # so has ML-DSA; of a key the seed alone is written, which is all that BoringSSL reads
    digest=default make_of_depth "mldsa-$level" 1 "ML-DSA-$level -provparam ml-dsa.output_formats=seed-only"
done

# The servers of ecdsa-p256, and CLIENTS clients with a certificate each, all equally long, of one intermediate.
make_clients() {
    local kind=ecdsa-p256-clients wanted number name place
    [ -z "$only" ] || [ "$only" = $kind ] || return 0
    mkdir -p "$scratch/clients" "$out/$kind/clients" && cd "$scratch/clients" && touch index
    cp "$out/ecdsa-p256/"{chain,intermediate,key,root}.pem "$out/$kind/"
    pki $kind client- "leaf.pem intermediate.pem" "$p256" "$p256" "$p256"
    for ((number = 0; number < ${CLIENTS:-100}; number++)); do
        name=client-leaf-$(printf %03d "$number")
        place=$out/$kind/clients/$(printf %03d "$number")
        # shellcheck disable=SC2086
        key "$name.key" $p256
        until issue "$name" client-intermediate client-leaf &&
            [ "$(der_bytes "$name.pem")" = "${wanted:=$(der_bytes "$name.pem")}" ]; do :; done # signatures vary
        check_leaf client- "$name" client-intermediate.pem
        mkdir -p "$place"
        cat "$name.pem" client-intermediate.pem >"$place/client-chain.pem"
        cp "$name.key" "$place/client-key.pem"
        chmod 644 "$place/client-key.pem"
        ln -sf ../../root.pem "$place/root.pem"
    done
    cp "$out/$kind/clients/000/client-"{chain,key}.pem "$out/$kind/" # that all have with client_certs=same
}

der_bytes() {
    openssl x509 -in "$1" -outform DER | wc -c
}
make_clients
