// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session_test

import "github.com/arke-mesh/arke/internal/wire/session"

// manyVectors are those of surveys, pushes, broadcasts, and topics.
func manyVectors() []vector {
	const member, peer = "00000000000000ff", "12D3KooWpeer"
	header := []session.Header{{Key: "k", Value: "v"}}
	missing := []session.Missing{{
		Member: "00000000000000fe", Peer: peer,
		Failure: session.Failure{Outcome: session.OutcomeInterrupted, MaybeRan: true, Text: "link lost"},
	}}
	return []vector{
		{
			"survey: id 13, within 1 s, up to 10 replies and 1 MiB, cluster \"geo\", one header, body \"hi\"",
			&session.Survey{
				ID: 13, Timeout: 1_000_000, MaxReplies: 10, MaxBytes: 1 << 20, Cluster: "geo",
				Headers: header, Body: []byte("hi"),
			},
		},
		{
			"survey reply: to 13, of a member, one header, body \"ho\"",
			&session.SurveyReply{ID: 13, Member: member, Peer: peer, Headers: header, Body: []byte("ho")},
		},
		{
			"survey reply: to 13, a member's handler refused with code 404",
			&session.SurveyReply{ID: 13, Member: member, Peer: peer, Failure: session.Failure{
				Outcome: session.OutcomeRemoteError, MaybeRan: true, Code: 404, Text: "no such place",
			}},
		},
		{"survey end: 13, two replies, complete", &session.SurveyEnd{ID: 13, Replies: 2, Complete: true}},
		{
			"survey end: 13, one reply, one member is missing: interrupted, a handler may have run",
			&session.SurveyEnd{ID: 13, Replies: 1, Missing: missing},
		},
		{
			"survey end: 13, nobody serves the cluster",
			&session.SurveyEnd{ID: 13, Failure: session.Failure{Outcome: session.OutcomeNoMembers}},
		},
		{
			"push: id 14, within 1 s, wait for a member, cluster \"geo\", body \"hi\"",
			&session.Push{Request: session.Request{
				ID: 14, Timeout: 1_000_000, WaitForMember: true, Cluster: "geo", Body: []byte("hi"),
			}},
		},
		{
			"broadcast: id 15, within 1 s, cluster \"geo\", one header, body \"hi\"",
			&session.Broadcast{ID: 15, Timeout: 1_000_000, Cluster: "geo", Headers: header, Body: []byte("hi")},
		},
		{
			"broadcast reply: id 15, three members on two nodes have it, one is missing",
			&session.BroadcastReply{ID: 15, Members: 3, Nodes: 2, Missing: missing},
		},
		{"broadcast reply: id 15, all of four members on two nodes have it", &session.BroadcastReply{ID: 15, Members: 4, Nodes: 2, Complete: true}},
		{
			"publish: the first, within 1 s, topic \"a.b\", one header, body \"hi\"",
			&session.Publish{ID: 1, Timeout: 1_000_000, Topic: "a.b", Headers: header, Body: []byte("hi")},
		},
		{"published: 3 from the first on", &session.Published{First: 1, Count: 3}},
		{
			"publish failed: the fourth, not a topic",
			&session.PublishFailed{ID: 4, Failure: session.Failure{Outcome: session.OutcomeTopic, Text: "empty word"}},
		},
		{
			"subscribe: id 2, within 1 s, no echo, drop the newest, 100 messages and 1 MiB may wait, 50 messages and 64 KiB be on the way, queue \"workers\", pattern \"a.*\"",
			&session.Subscribe{
				ID: 2, Timeout: 1_000_000, NoEcho: true, Overflow: 1, QueueLength: 100, QueueBytes: 1 << 20,
				WindowLength: 50, WindowBytes: 64 << 10, Queue: "workers", Pattern: "a.*",
			},
		},
		{
			"subscribe: id 3, all by default, known to the session before, seen up to number 7, pattern \"a.>\"",
			&session.Subscribe{ID: 3, Resumed: true, Number: 7, Pattern: "a.>"},
		},
		{"subscribed: id 2", &session.Subscribed{ID: 2}},
		{"subscribed: id 3, continued behind number 7", &session.Subscribed{ID: 3, Continued: true, Number: 7}},
		{
			"subscribe failed: id 2, beyond the limit of subscriptions",
			&session.SubscribeFailed{ID: 2, Failure: session.Failure{
				Outcome: session.OutcomeLimit, Code: uint32(session.LimitSubscriptions), Text: "4096 subscriptions",
			}},
		},
		{"unsubscribe: id 2, delivering may take 5 s", &session.Unsubscribe{ID: 2, Timeout: 5_000_000}},
		{"unsubscribed: id 2, all was delivered", &session.Unsubscribed{ID: 2}},
		{
			"unsubscribed: id 2, some was not delivered in time",
			&session.Unsubscribed{ID: 2, Failure: session.Failure{Outcome: session.OutcomeDeadline, MaybeRan: true}},
		},
		{
			"publication: of subscription 3, number 10, from a peer, topic \"a.b\", one header, body \"hi\"",
			&session.Publication{Subscription: 3, Number: 10, From: peer, Topic: "a.b", Headers: header, Body: []byte("hi")},
		},
		{
			"gap: of subscription 3, two messages up to number 9 are missing, exactly, the session was lost",
			&session.Gap{Subscription: 3, Number: 9, Missed: 2, Exact: true, Reason: session.GapRelay},
		},
		{
			"gap: of subscription 3, at most 5 messages of one publisher up to number 15 are missing, the queue was full",
			&session.Gap{Subscription: 3, Number: 15, Missed: 5, Reason: session.GapSlow, From: peer},
		},
		{"taken: all of subscription 3 up to number 15", &session.Taken{Subscription: 3, Number: 15}},
	}
}
