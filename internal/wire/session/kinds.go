// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// kinds has, for every kind that this version knows, its name as used in logs
// and errors, and its frame. Nothing changes it.
var kinds = [1 << 8]struct {
	name  string
	frame func() Frame // the zero value of its type
}{
	KindHello:   {"hello", func() Frame { return &Hello{} }},
	KindWelcome: {"welcome", func() Frame { return &Welcome{} }},
	KindRefused: {"refused", func() Frame { return &Refused{} }},
	KindPing:    {"ping", func() Frame { return &Ping{} }},
	KindPong:    {"pong", func() Frame { return &Pong{} }},
	KindDrain:   {"drain", func() Frame { return &Drain{} }},
	KindGoodbye: {"goodbye", func() Frame { return &Goodbye{} }},
	KindError:   {"error", func() Frame { return &Error{} }},

	KindRegister:       {"register", func() Frame { return &Register{} }},
	KindRegistered:     {"registered", func() Frame { return &Registered{} }},
	KindRegisterFailed: {"register_failed", func() Frame { return &RegisterFailed{} }},
	KindUnregister:     {"unregister", func() Frame { return &Unregister{} }},
	KindUnregistered:   {"unregistered", func() Frame { return &Unregistered{} }},

	KindRequest:       {"request", func() Frame { return &Request{} }},
	KindReply:         {"reply", func() Frame { return &Reply{} }},
	KindCancel:        {"cancel", func() Frame { return &Cancel{} }},
	KindDeliver:       {"deliver", func() Frame { return &Deliver{} }},
	KindAnswer:        {"answer", func() Frame { return &Answer{} }},
	KindDeliverCancel: {"deliver_cancel", func() Frame { return &DeliverCancel{} }},

	KindMembers:      {"members", func() Frame { return &Members{} }},
	KindMembersReply: {"members_reply", func() Frame { return &MembersReply{} }},
	KindStatus:       {"status", func() Frame { return &Status{} }},
	KindStatusReply:  {"status_reply", func() Frame { return &StatusReply{} }},

	KindSurvey:         {"survey", func() Frame { return &Survey{} }},
	KindSurveyReply:    {"survey_reply", func() Frame { return &SurveyReply{} }},
	KindSurveyEnd:      {"survey_end", func() Frame { return &SurveyEnd{} }},
	KindPush:           {"push", func() Frame { return &Push{} }},
	KindBroadcast:      {"broadcast", func() Frame { return &Broadcast{} }},
	KindBroadcastReply: {"broadcast_reply", func() Frame { return &BroadcastReply{} }},

	KindPublish:       {"publish", func() Frame { return &Publish{} }},
	KindPublished:     {"published", func() Frame { return &Published{} }},
	KindPublishFailed: {"publish_failed", func() Frame { return &PublishFailed{} }},

	KindSubscribe:       {"subscribe", func() Frame { return &Subscribe{} }},
	KindSubscribed:      {"subscribed", func() Frame { return &Subscribed{} }},
	KindSubscribeFailed: {"subscribe_failed", func() Frame { return &SubscribeFailed{} }},
	KindUnsubscribe:     {"unsubscribe", func() Frame { return &Unsubscribe{} }},
	KindUnsubscribed:    {"unsubscribed", func() Frame { return &Unsubscribed{} }},
	KindPublication:     {"publication", func() Frame { return &Publication{} }},
	KindGap:             {"gap", func() Frame { return &Gap{} }},
	KindTaken:           {"taken", func() Frame { return &Taken{} }},

	KindOpenTunnel:    {"open_tunnel", func() Frame { return &OpenTunnel{} }},
	KindTunnelReply:   {"tunnel_reply", func() Frame { return &TunnelReply{} }},
	KindDeliverTunnel: {"deliver_tunnel", func() Frame { return &DeliverTunnel{} }},
	KindTunnelData:    {"tunnel_data", func() Frame { return &TunnelData{} }},
	KindTunnelCredit:  {"tunnel_credit", func() Frame { return &TunnelCredit{} }},
	KindTunnelEnd:     {"tunnel_end", func() Frame { return &TunnelEnd{} }},
	KindTunnelReset:   {"tunnel_reset", func() Frame { return &TunnelReset{} }},
}
