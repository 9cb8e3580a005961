// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package proof

import (
	"crypto/hmac"
	"crypto/sha256"
	"net"
	"net/netip"

	"github.com/arke-mesh/arke/internal/wire"
)

// Proof is what one side shows the other.
type Proof = [wire.LeafProofSize]byte

// Exchange is what the proofs of one connection are about.
type Exchange struct {
	Client, Relay [wire.NonceSize]byte
	Address       string // see Address
}

// The roles, so that neither side can send back what the other one says.
const (
	relayRole  = "arke relay 1"
	clientRole = "arke client 1"
)

// OfRelay is the relay's proof that it holds the token.
func (e *Exchange) OfRelay(token string) Proof { return e.proof(token, relayRole) }

// OfClient is the client's.
func (e *Exchange) OfClient(token string) Proof { return e.proof(token, clientRole) }

func (e *Exchange) proof(token, role string) (p Proof) {
	mac := hmac.New(sha256.New, []byte(token))
	mac.Write([]byte(role)) // none of the writes fails
	mac.Write(e.Client[:])
	mac.Write(e.Relay[:])
	mac.Write([]byte(e.Address))
	mac.Sum(p[:0])
	return p
}

// Equal says whether two proofs are the same, in a time that does not depend on
// them.
func Equal(a, b []byte) bool { return hmac.Equal(a, b) }

// Address is how both sides name the relay's end of a connection: "127.0.0.1:4078"
// or "[::1]:4078"; "" if it is not TCP.
func Address(a net.Addr) string {
	tcp, ok := a.(*net.TCPAddr)
	if !ok {
		return ""
	}
	at := tcp.AddrPort()
	return netip.AddrPortFrom(at.Addr().Unmap().WithZone(""), at.Port()).String()
}
