// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Kind says what a frame is. Numbers are never reused or reordered. A receiver
// that does not know a kind skips it if it is Skippable, and ends the session
// if it is not.
type Kind uint8

// The kinds. The comment says who sends it.
const (
	KindHello   Kind = 1 // client
	KindWelcome Kind = 2 // relay
	KindRefused Kind = 3 // relay
	KindPing    Kind = 4 // both
	KindPong    Kind = 5 // both
	KindDrain   Kind = 6 // relay
	KindGoodbye Kind = 7 // relay
	KindError   Kind = 8 // both

	KindRegister       Kind = 16 // client
	KindRegistered     Kind = 17 // relay
	KindRegisterFailed Kind = 18 // relay
	KindUnregister     Kind = 19 // client
	KindUnregistered   Kind = 20 // relay

	KindRequest       Kind = 32 // client
	KindReply         Kind = 33 // relay
	KindCancel        Kind = 34 // client
	KindDeliver       Kind = 35 // relay
	KindAnswer        Kind = 36 // client
	KindDeliverCancel Kind = 37 // relay

	KindMembers      Kind = 48 // client
	KindMembersReply Kind = 49 // relay
	KindStatus       Kind = 50 // client
	KindStatusReply  Kind = 51 // relay

	KindSurvey         Kind = 56 // client
	KindSurveyReply    Kind = 57 // relay
	KindSurveyEnd      Kind = 58 // relay
	KindPush           Kind = 59 // client
	KindBroadcast      Kind = 60 // client
	KindBroadcastReply Kind = 61 // relay

	KindPublish       Kind = 64 // client
	KindPublished     Kind = 65 // relay
	KindPublishFailed Kind = 66 // relay

	KindSubscribe       Kind = 68 // client
	KindSubscribed      Kind = 69 // relay
	KindSubscribeFailed Kind = 70 // relay
	KindUnsubscribe     Kind = 71 // client
	KindUnsubscribed    Kind = 72 // relay
	KindPublication     Kind = 73 // relay
	KindGap             Kind = 74 // relay
	KindTaken           Kind = 75 // client

	KindOpenTunnel    Kind = 80 // client
	KindTunnelReply   Kind = 81 // relay
	KindDeliverTunnel Kind = 82 // relay
	KindTunnelData    Kind = 83 // both
	KindTunnelCredit  Kind = 84 // both
	KindTunnelEnd     Kind = 85 // both
	KindTunnelReset   Kind = 86 // both

	// FirstSkippable and all kinds above are hints: losing one changes
	// nothing that was promised.
	FirstSkippable Kind = 128
)

// Skippable says whether a receiver that does not know k ignores the frame.
func (k Kind) Skippable() bool { return k >= FirstSkippable }

// lenient says whether k may carry more bytes than this version knows.
func (k Kind) lenient() bool {
	return k == KindHello || k == KindWelcome || k == KindRefused
}

// String returns the kind's name as used in logs and errors.
func (k Kind) String() string {
	if name := kinds[k].name; name != "" {
		return name
	}
	return "unknown"
}
