// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import (
	"crypto/aes"
	"crypto/cipher"
	"io"
)

const (
	sealFormat = 1
	saltSize   = 24 // random; a repetition is out of reach
	tagSize    = 16

	// RecordOverhead is what SealRecord adds, in bytes.
	RecordOverhead = 1 + saltSize + tagSize
)

// SealRecord encrypts a record so that holders of the cluster key can read it,
// under this epoch's id only. The result is
//
//	1 byte    format, 1
//	24 bytes  salt
//	…         AES-256-GCM ciphertext and tag
//
// The AES key is derived from the cluster key and the salt and used once, with
// a nonce of zeros; the associated data are format, salt and id. rand must not
// fail. The caller owns the result.
func (e Epoch) SealRecord(rand io.Reader, plain []byte) []byte {
	sealed := make([]byte, 1+saltSize, RecordOverhead+len(plain))
	sealed[0] = sealFormat
	mustRead(rand, sealed[1:])
	var nonce [12]byte
	return e.recordAEAD(sealed[1:]).Seal(sealed, nonce[:], plain, e.recordData(sealed))
}

// OpenRecord decrypts what SealRecord made under the same epoch, or the first part of
// what SealRecordParts did. It returns ErrUnauthorized. The caller owns the result.
func (e Epoch) OpenRecord(sealed []byte) ([]byte, error) {
	head, ciphertext, ok := recordPart(sealed)
	if !ok || e.FindsOnly() {
		return nil, ErrUnauthorized
	}
	var nonce [12]byte
	plain, err := e.recordAEAD(head[1:]).Open(nil, nonce[:], ciphertext, e.recordData(head))
	if err != nil {
		return nil, ErrUnauthorized
	}
	return plain, nil
}

func (e Epoch) recordAEAD(salt []byte) cipher.AEAD {
	if e.FindsOnly() {
		panic("BUG: record with a finding key")
	}
	key := e.s.get().of.get().key // what records are sealed with
	return newAEAD(derive(32, key[:], salt, labelRecord, e.s.get().id[:]))
}

func (e Epoch) recordData(head []byte) []byte { return message(labelRecord, head, e.s.get().id[:]) }

func newAEAD(key []byte) cipher.AEAD {
	block, err := aes.NewCipher(key)
	if err != nil {
		panic("BUG: aes: " + err.Error())
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic("BUG: gcm: " + err.Error())
	}
	return aead
}
