// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

import "encoding/binary"

// What a direction seals beside its chunks has the same key. The first byte of
// the nonce tells them apart: it is 0 for chunks.
const (
	asideCredit byte = 1
	asideReset  byte = 2
	asideReturn byte = 3
)

// asideNonce is the class, three zeros and a number.
func asideNonce(class byte, number uint64) []byte {
	nonce := make([]byte, 12)
	nonce[0] = class
	binary.BigEndian.PutUint64(nonce[4:], number)
	return nonce
}

// SealCredit appends the proof that this end has given total bytes of credit
// since the tunnel began: the tag over an empty text, with the total as its
// number. Totals may come in any order and repeatedly: a repeated one is the same
// bytes, and says nothing new. May be called concurrently with everything.
//
// data is the same in all calls for one tunnel: two tags under one nonce over different
// data would betray the key that authenticates. Other data panics.
func (s *Stream) SealCredit(dst []byte, total uint64, data byte) []byte {
	return s.sealAside(dst, asideCredit, total, data)
}

// OpenCredit returns ErrUnauthorized unless the other end has sealed that total.
// May be called concurrently with everything.
func (s *Stream) OpenCredit(sealed []byte, total uint64, data byte) error {
	return s.openAside(sealed, asideCredit, total, data)
}

// SealReturn is SealCredit of credit that this end gives back; data is the same as there.
func (s *Stream) SealReturn(dst []byte, total uint64, data byte) []byte {
	return s.sealAside(dst, asideReturn, total, data)
}

// OpenReturn is OpenCredit of credit that the other end gives back.
func (s *Stream) OpenReturn(sealed []byte, total uint64, data byte) error {
	return s.openAside(sealed, asideReturn, total, data)
}

func (s *Stream) sealAside(dst []byte, class byte, total uint64, data byte) []byte {
	const sealed = 1 << 8
	if !s.sealer.with.CompareAndSwap(0, sealed|int32(data)) && s.sealer.with.Load() != sealed|int32(data) {
		panic("BUG: credit of one tunnel is sealed with different data")
	}
	return (*s.sealer.aead.get()).Seal(dst, asideNonce(class, total), nil, []byte{data})
}

func (s *Stream) openAside(sealed []byte, class byte, total uint64, data byte) error {
	if _, err := (*s.opener.aead.get()).Open(nil, asideNonce(class, total), sealed, []byte{data}); err != nil {
		return ErrUnauthorized
	}
	return nil
}

// SealReset appends why this end resets the tunnel, sealed. A tunnel is reset
// once: a second call would use a nonce again, and panics. May be called
// concurrently with everything.
func (s *Stream) SealReset(dst, plain []byte, data byte) []byte {
	if s.sealer.reset.Swap(true) {
		panic("BUG: a tunnel is reset twice")
	}
	return (*s.sealer.aead.get()).Seal(dst, asideNonce(asideReset, 0), plain, []byte{data})
}

// OpenReset decrypts the other end's reset in place: the result has the memory of
// sealed. It returns ErrUnauthorized for what is none, or came before. May be
// called concurrently with everything.
func (s *Stream) OpenReset(sealed []byte, data byte) ([]byte, error) {
	plain, err := (*s.opener.aead.get()).Open(sealed[:0], asideNonce(asideReset, 0), sealed, []byte{data})
	if err != nil || s.opener.reset.Swap(true) {
		return nil, ErrUnauthorized
	}
	return plain, nil
}
