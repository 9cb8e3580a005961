// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "github.com/arke-mesh/arke/internal/wire/header"

// The link versions this release speaks. A link runs at the newest version
// both sides speak; see Negotiate.
const (
	LinkVersionMin = 1
	LinkVersionMax = 1
)

// Limits of what travels on a link. A receiver checks them before it
// allocates; a sender that exceeds one is broken or hostile.
const (
	// MaxPayload is the largest message, in bytes, that goes out in one
	// frame; larger ones are cut into fragments of at most this payload.
	MaxPayload = 64 << 10

	// MaxFrame bounds kind and body of one frame, in bytes. The difference
	// to MaxPayload is room for what a layer puts around a payload.
	MaxFrame = MaxPayload + 4<<10

	// MaxHeaderBytes bounds the encoded headers of one message, their count
	// included.
	MaxHeaderBytes = header.MaxBytes

	// MaxControl bounds one encoded control message. Control messages are
	// never cut into fragments: a Snapshot comes in parts, the others are
	// small.
	MaxControl = MaxPayload

	// MaxControlFields bounds the fields at the top level of one control
	// message, repetitions counted, so that a few bytes on the wire can't
	// become a large structure in memory.
	MaxControlFields = 1024
)

// Limits inside control messages. Senders trim what they say to these.
const (
	ClusterIDSize   = 32 // bytes of a blinded cluster id
	NetworkIDSize   = 16 // bytes of the id of a network, in a Record
	KeySize         = 32 // bytes of an Ed25519 public key
	ProofSize       = 64 // bytes of an Ed25519 signature
	InstanceSize    = 16 // bytes of Hello.instance
	MaxPeerID       = 64 // bytes of a peer id
	MaxAddrs        = 32 // addresses in one message
	MaxAddr         = 256
	MaxText         = 256      // bytes of an agent, a reason, a detail
	MaxName         = 64       // bytes of a node's name
	MaxCertificate  = 1 << 10  // bytes of a certificate, in a Hello and in a record
	MaxStatement    = 32 << 10 // bytes of a statement's body
	MaxVouch        = 128      // bytes of its proof
	MaxZone         = 64       // bytes of a zone's name
	MaxNetwork      = 63       // bytes of a network's name
	MaxRecord       = 16 << 10 // bytes of a sealed record
	MaxPassedRecord = 12 << 10 // bytes of one that is passed on in another record
	MaxLeasePayload = 8 << 10  // bytes of a record's payload
	MaxLeases       = 512      // leases in one Snapshot part, changes in one Delta
	MaxAnchors      = 16       // anchors named in one message
)

// Negotiate returns the version of a link to a peer that speaks peerMin to
// peerMax, and false if there is no version both sides speak.
func Negotiate(peerMin, peerMax uint32) (uint32, bool) {
	v := min(uint32(LinkVersionMax), peerMax)
	return v, v >= peerMin && v >= LinkVersionMin
}
