package main

import (
	"encoding/hex"
	"testing"

	"memtest/core"
)

// The tags that OpenSSL makes of a record of 16,384 bytes 0, 1, 2, ..., 255, 0, ..., the first of its key.
var tags = map[string]string{
	"ECDHE-RSA-AES128-GCM-SHA256":   "42e2385269986a085397bac01d4a4387",
	"ECDHE-RSA-AES256-GCM-SHA384":   "2b276ff85c91c63a559c04582e4ea5ab",
	"ECDHE-ECDSA-AES256-GCM-SHA384": "2b276ff85c91c63a559c04582e4ea5ab",
	"TLS_AES_128_GCM_SHA256":        "42e2385269986a085397bac01d4a4387",
	"tls_aes_256_gcm_sha384":        "2b276ff85c91c63a559c04582e4ea5ab",
}

func record() []byte {
	made := make([]byte, 16384+core.SealTagBytes)
	for i := range made {
		made[i] = byte(i)
	}
	return made
}

func TestTheTagIsThatOfOtherLibraries(t *testing.T) {
	for cipher, tag := range tags {
		sealed := record()
		driver{}.Sealer(&core.Suite{Cipher: cipher})(sealed)
		if found := hex.EncodeToString(sealed[16384:]); found != tag {
			t.Errorf("%s: %s, %s is right", cipher, found, tag)
		}
	}
}

func TestNoTwoRecordsHaveOneNonce(t *testing.T) {
	one, other := record(), record()
	seal := driver{}.Sealer(&core.Suite{Cipher: "TLS_AES_128_GCM_SHA256"})
	seal(one)
	seal(other)
	if string(one) == string(other) {
		t.Error("the second record is sealed as the first")
	}
}

func TestChaCha20IsTheLibrarysAlone(t *testing.T) {
	if (driver{}).Sealer(&core.Suite{Cipher: "TLS_CHACHA20_POLY1305_SHA256"}) != nil {
		t.Error("there is a sealer of another cipher")
	}
}
