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
	return e.sealWhole(sealFormat, labelRecord, rand, plain)
}

// OpenRecord decrypts what SealRecord made under the same epoch, or the first part of
// what SealRecordParts did. It returns ErrUnauthorized. The caller owns the result.
func (e Epoch) OpenRecord(sealed []byte) ([]byte, error) {
	head, ciphertext, ok := recordPart(sealed)
	if !ok || e.FindsOnly() {
		return nil, ErrUnauthorized
	}
	return e.open(labelRecord, head, ciphertext)
}

// sealWhole seals a record of one part.
func (e Epoch) sealWhole(format byte, label string, rand io.Reader, plain []byte) []byte {
	head := make([]byte, 1+saltSize, RecordOverhead+len(plain))
	head[0] = format
	mustRead(rand, head[1:])
	return e.seal(label, head, head, plain)
}

// seal appends a part of a record to dst, sealed; head is format and salt.
func (e Epoch) seal(label string, dst, head, plain []byte) []byte {
	var nonce [12]byte
	return e.aead(label, head[1:]).Seal(dst, nonce[:], plain, e.data(label, head))
}

// open opens what seal has made.
func (e Epoch) open(label string, head, ciphertext []byte) ([]byte, error) {
	var nonce [12]byte
	plain, err := e.aead(label, head[1:]).Open(nil, nonce[:], ciphertext, e.data(label, head))
	if err != nil {
		return nil, ErrUnauthorized
	}
	return plain, nil
}

// aead has the key that the label stands for: what members say of themselves takes the
// cluster key, the rest the route key, which whoever finds the cluster has.
func (e Epoch) aead(label string, salt []byte) cipher.AEAD {
	key := e.s.get().of.get().route
	if label == labelRecord {
		if e.FindsOnly() {
			panic("BUG: record with a finding key")
		}
		key = e.s.get().of.get().key
	}
	return newAEAD(derive(32, key[:], salt, label, e.s.get().id[:]))
}

func (e Epoch) data(label string, head []byte) []byte { return message(label, head, e.s.get().id[:]) }

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
