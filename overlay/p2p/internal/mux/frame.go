// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package mux

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrProtocol is in the error of a connection whose peer has sent what can't be.
var ErrProtocol = errors.New("mux: malformed")

// errHungUp is what a connection ends with whose peer has closed it without a word.
var errHungUp = errors.New("mux: the peer hung up")

type kind uint8

const (
	kindOpen kind = iota + 1
	kindData
	kindCredit
	kindEnd
	kindReset
	kindPing
	kindPong
	kindGoAway
	kindCount
)

const headSize = 9

// head is a frame but for the bytes that follow data.
type head struct {
	kind   kind
	stream uint32
	n      uint32
}

func (h head) append(dst []byte) []byte {
	dst = append(dst, byte(h.kind))
	dst = binary.BigEndian.AppendUint32(dst, h.stream)
	return binary.BigEndian.AppendUint32(dst, h.n)
}

// parseHead decodes headSize bytes.
func parseHead(b []byte) (head, error) {
	h := head{kind(b[0]), binary.BigEndian.Uint32(b[1:]), binary.BigEndian.Uint32(b[5:])}
	whole := h.kind == kindPing || h.kind == kindPong || h.kind == kindGoAway // about the connection
	switch {
	case h.kind == 0 || h.kind >= kindCount:
		return head{}, fmt.Errorf("%w: kind %d", ErrProtocol, h.kind)
	case whole != (h.stream == 0):
		return head{}, fmt.Errorf("%w: kind %d of stream %d", ErrProtocol, h.kind, h.stream)
	case h.n == 0 && (h.kind == kindData || h.kind == kindCredit), h.n > 1 && h.kind == kindOpen, h.n != 0 && h.kind == kindEnd:
		return head{}, fmt.Errorf("%w: kind %d with %d", ErrProtocol, h.kind, h.n)
	}
	return h, nil
}
