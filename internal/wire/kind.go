// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

// Kind says what the body of a frame is: 1 to 63. Numbers are never reused or
// reordered; an unknown kind is skipped and counted, so that a newer release
// can add one.
type Kind uint8

// Counted says whether frames of kind k belong to the session, are numbered in
// their lane and go again when a connection broke. The others belong to one
// connection.
func (k Kind) Counted() bool {
	switch k {
	case KindHello, KindBeat, KindGoodbye, KindNotice, KindAck:
		return false
	}
	return true
}

// Kinds of the session itself.
const (
	KindHello    Kind = 1 // Hello
	KindBeat     Kind = 2 // Beat
	KindGoodbye  Kind = 3 // Goodbye
	KindNotice   Kind = 4 // Notice
	KindFragment Kind = 5 // part of a message that is larger than one frame
	KindAck      Kind = 6 // Ack
	KindVoid     Kind = 7 // was withdrawn before it was sent
)

// KindStatement is what all nodes are told, always on lane ctl.
const KindStatement Kind = 12

// KindCertificate is what a node shows in place of the certificate in its Hello: the
// body is another one, as it is encoded. Always on lane ctl.
const KindCertificate Kind = 13

// KindSpare says whether the sender can do without the link: the body is one byte, 0 if it
// needs it again, otherwise the bit length of the number of links that it has. Always on
// lane ctl.
const KindSpare Kind = 14

// Kinds of the cluster layer, always on lane ctl.
const (
	KindRegister   Kind = 16
	KindRegistered Kind = 17
	KindUnregister Kind = 18
	KindWatch      Kind = 19
	KindUnwatch    Kind = 20
	KindSnapshot   Kind = 21
	KindDelta      Kind = 22
	KindHint       Kind = 23
	KindClaims     Kind = 24
	KindSeen       Kind = 25
)

// Kinds of the request pattern, on lane rpc, or in fragments on lane bulk.
const (
	KindRequest Kind = 32 // Request
	KindReply   Kind = 33 // Reply
	KindCancel  Kind = 34 // Cancel
)

// Kinds of tunnels.
const (
	KindTunnelData   Kind = 40 // TunnelData, on lane bulk
	KindTunnelCredit Kind = 41 // TunnelCredit, on lane ctl
	KindTunnelEnd    Kind = 42 // TunnelEnd, on lane bulk
	KindTunnelReset  Kind = 43 // TunnelReset, on lane ctl
)

// Kinds of topics.
const (
	KindPublish     Kind = 48 // Publish, on lane pub
	KindPublishMark Kind = 49 // PublishMark, on lane pub
	KindPath        Kind = 50 // Path, on lane pub
	KindPathLost    Kind = 51 // PathLost, on lane pub
	KindPublishAsk  Kind = 52 // PublishAsk, on lane pub
	KindPublishTook Kind = 53 // PublishAsk, on lane pub
)

// String returns the kind's name, as errors say it.
func (k Kind) String() string {
	names := [...]string{
		KindHello:        "hello",
		KindBeat:         "beat",
		KindGoodbye:      "goodbye",
		KindNotice:       "notice",
		KindFragment:     "fragment",
		KindAck:          "ack",
		KindVoid:         "void",
		KindStatement:    "statement",
		KindCertificate:  "certificate",
		KindSpare:        "spare",
		KindRegister:     "register",
		KindRegistered:   "registered",
		KindUnregister:   "unregister",
		KindWatch:        "watch",
		KindUnwatch:      "unwatch",
		KindSnapshot:     "snapshot",
		KindDelta:        "delta",
		KindHint:         "hint",
		KindClaims:       "claims",
		KindSeen:         "seen",
		KindRequest:      "request",
		KindReply:        "reply",
		KindCancel:       "cancel",
		KindTunnelData:   "tunnel_data",
		KindTunnelCredit: "tunnel_credit",
		KindTunnelEnd:    "tunnel_end",
		KindTunnelReset:  "tunnel_reset",
		KindPublish:      "publish",
		KindPublishMark:  "publish_mark",
		KindPath:         "path",
		KindPathLost:     "path_lost",
		KindPublishAsk:   "publish_ask",
		KindPublishTook:  "publish_took",
		KindServe:        "serve",
		KindSubscribe:    "subscribe",
		KindLeave:        "leave",
		KindDone:         "done",
		KindGap:          "gap",
	}
	if int(k) >= len(names) || names[k] == "" {
		return "unknown"
	}
	return names[k]
}
