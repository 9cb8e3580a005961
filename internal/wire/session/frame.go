// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Frame is one message of the protocol. Its implementations are the pointers
// to the types of this package that are named after the kinds.
type Frame interface {
	Kind() Kind
	encode(*encoder)
	decode(*decoder)
}

// newFrame returns a zero frame of kind k; nil if k is unknown.
func newFrame(k Kind) Frame {
	switch k {
	case KindHello:
		return &Hello{}
	case KindWelcome:
		return &Welcome{}
	case KindRefused:
		return &Refused{}
	case KindPing:
		return &Ping{}
	case KindPong:
		return &Pong{}
	case KindDrain:
		return &Drain{}
	case KindGoodbye:
		return &Goodbye{}
	case KindError:
		return &Error{}
	case KindRegister:
		return &Register{}
	case KindRegistered:
		return &Registered{}
	case KindRegisterFailed:
		return &RegisterFailed{}
	case KindUnregister:
		return &Unregister{}
	case KindUnregistered:
		return &Unregistered{}
	case KindRequest:
		return &Request{}
	case KindReply:
		return &Reply{}
	case KindCancel:
		return &Cancel{}
	case KindDeliver:
		return &Deliver{}
	case KindAnswer:
		return &Answer{}
	case KindDeliverCancel:
		return &DeliverCancel{}
	case KindMembers:
		return &Members{}
	case KindMembersReply:
		return &MembersReply{}
	case KindStatus:
		return &Status{}
	case KindStatusReply:
		return &StatusReply{}
	case KindSurvey:
		return &Survey{}
	case KindSurveyReply:
		return &SurveyReply{}
	case KindSurveyEnd:
		return &SurveyEnd{}
	case KindPush:
		return &Push{}
	case KindBroadcast:
		return &Broadcast{}
	case KindBroadcastReply:
		return &BroadcastReply{}
	case KindPublish:
		return &Publish{}
	case KindPublished:
		return &Published{}
	case KindPublishFailed:
		return &PublishFailed{}
	case KindSubscribe:
		return &Subscribe{}
	case KindSubscribed:
		return &Subscribed{}
	case KindSubscribeFailed:
		return &SubscribeFailed{}
	case KindUnsubscribe:
		return &Unsubscribe{}
	case KindUnsubscribed:
		return &Unsubscribed{}
	case KindPublication:
		return &Publication{}
	case KindGap:
		return &Gap{}
	case KindTaken:
		return &Taken{}
	case KindOpenTunnel:
		return &OpenTunnel{}
	case KindTunnelReply:
		return &TunnelReply{}
	case KindDeliverTunnel:
		return &DeliverTunnel{}
	case KindTunnelData:
		return &TunnelData{}
	case KindTunnelCredit:
		return &TunnelCredit{}
	case KindTunnelEnd:
		return &TunnelEnd{}
	case KindTunnelReset:
		return &TunnelReset{}
	}
	return nil
}
