package main

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"strings"

	"memtest/core"
)

const nonceBytes, additionalBytes = 12, 13

// Sealer calls AES-GCM of the standard library, as crypto/tls does. Its ChaCha20-Poly1305 is a package that nobody else
// may import.
func (driver) Sealer(suite *core.Suite) core.Seal {
	size := keySize(suite.Cipher)
	if size == 0 {
		return nil
	}
	key := make([]byte, size)
	for i := range key {
		key[i] = byte(i)
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		core.Die("AES: %v", err)
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		core.Die("GCM: %v", err)
	}
	return sealWith(aead)
}

// keySize is by the cipher's name; 0 for all but AES-GCM.
func keySize(cipher string) int {
	switch plain := strings.NewReplacer("-", "", "_", "").Replace(strings.ToUpper(cipher)); {
	case strings.Contains(plain, "AES128GCM"):
		return 16
	case strings.Contains(plain, "AES256GCM"):
		return 32
	}
	return 0
}

func sealWith(aead cipher.AEAD) core.Seal {
	var records uint64
	var nonce [nonceBytes]byte
	var additional [additionalBytes]byte
	return func(record []byte) {
		binary.BigEndian.PutUint64(nonce[nonceBytes-8:], records)
		records++
		aead.Seal(record[:0], nonce[:], record[:len(record)-core.SealTagBytes], additional[:])
	}
}
