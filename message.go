// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke

import (
	"context"
	"time"

	"github.com/arke-mesh/arke/patterns"
)

// MaxHeaderBytes bounds the encoded headers of one message, in bytes.
const MaxHeaderBytes = patterns.MaxHeaderBytes

// Header is one key and value that travel beside a body. Keys are compared
// exactly and may repeat. A key has at most 255 bytes, a value at most 64 KiB-1.
// W3C trace context travels as "traceparent" and "tracestate".
type Header struct {
	Key   string
	Value string
}

// Headers is an ordered list of headers. It may be nil.
type Headers []Header

// Get returns the value of the first header with that key, or "".
func (h Headers) Get(key string) string {
	for i := range h {
		if h[i].Key == key {
			return h[i].Value
		}
	}
	return ""
}

// Message is a body with headers. Both may be empty.
type Message struct {
	Headers Headers
	Body    []byte
}

// Pattern is one of the ways to send something to a cluster.
type Pattern uint8

// The patterns.
const (
	PatternRequest   = Pattern(patterns.PatternRequest)
	PatternSurvey    = Pattern(patterns.PatternSurvey)
	PatternPush      = Pattern(patterns.PatternPush)
	PatternBroadcast = Pattern(patterns.PatternBroadcast)
	PatternTunnel    = Pattern(patterns.PatternTunnel)
)

// String returns the name of the pattern in lower case.
func (p Pattern) String() string { return patterns.Pattern(p).String() }

// Request is what a member's handler gets.
type Request struct {
	// Cluster is the name under which the member was registered.
	Cluster string
	// From is the id of the caller's node. If the caller is attached, it is
	// the id of its relay.
	From string
	// Pattern says how it was sent: PatternRequest, PatternSurvey, PatternPush
	// or PatternBroadcast.
	Pattern Pattern
	// Deadline is when the caller gives up, on the local clock. Zero = never.
	Deadline time.Time
	// Headers and Body belong to the handler.
	Headers Headers
	Body    []byte
}

// Handler answers requests. Arke calls ServeRequest concurrently. The option
// Concurrency bounds how many calls run at once. ctx ends at the caller's deadline,
// when the caller cancels, or when the caller is lost. The returned message belongs
// to Arke.
//
// The caller gets an error or a panic as a *RemoteError. Return a *RemoteError to
// choose the code.
type Handler interface {
	ServeRequest(ctx context.Context, r *Request) (Message, error)
}

// HandlerFunc is a function that answers requests. It is a Handler.
type HandlerFunc func(ctx context.Context, r *Request) (Message, error)

// ServeRequest calls f.
func (f HandlerFunc) ServeRequest(ctx context.Context, r *Request) (Message, error) {
	return f(ctx, r)
}

// Service is a Handler for several patterns, with a function for each. If a
// function is nil, the member does not take that pattern: its caller gets a
// *RemoteError with CodeNoMethod.
//
// Arke calls the functions concurrently. The option Concurrency bounds how many run
// at once, of all patterns but tunnels. The option Tunnels bounds the open tunnels.
type Service struct {
	// Request answers requests and surveys.
	Request func(ctx context.Context, r *Request) (Message, error)
	// Push handles a message that has no reply. The sender knows already that
	// this member accepted it. ctx has no deadline. It ends with the Conn.
	Push func(ctx context.Context, r *Request)
	// Broadcast handles a message that went to every member. ctx has no
	// deadline. It ends with the Conn.
	Broadcast func(ctx context.Context, r *Request)
	// Tunnel uses a tunnel and returns when it needs it no longer. If it returns
	// nil, the tunnel ends in good order. If it returns an error, Arke resets the
	// tunnel with the error's text, and with the code of a *RemoteError. What was not
	// received when it returns is dropped, and the caller learns that. ctx ends
	// with the tunnel: once both sides have ended and the handler has received all, or
	// at once if the tunnel is reset or interrupted.
	Tunnel func(ctx context.Context, t *Tunnel) error
}

// ServeRequest implements Handler.
func (s Service) ServeRequest(ctx context.Context, r *Request) (Message, error) {
	if s.Request == nil {
		return Message{}, &RemoteError{Cluster: r.Cluster, Code: CodeNoMethod, Message: "this member answers no requests"}
	}
	return s.Request(ctx, r)
}

// Member describes one live member of a cluster as its callers see it.
type Member struct {
	ID          string `json:"id"`             // 16 hexadecimal digits
	Peer        string `json:"peer"`           // id of its node
	Name        string `json:"name,omitempty"` // what people call its node, if it has a certificate, or the caller's node has had a link to it: any text, to be escaped
	Incarnation uint64 `json:"incarnation"`
	Zone        string `json:"zone,omitempty"`
	Network     string `json:"network,omitempty"` // that it is from, if the caller's node knows the name of its own
	Capacity    int    `json:"capacity"`
	State       string `json:"state"` // live, suspect, ejected, or unreachable
}

// SurveyReply is what one member answered to a survey.
type SurveyReply struct {
	Member  string // id of the member
	Peer    string // id of its node
	Message Message
	// Err is nil, or the *RemoteError with which the handler refused. That is
	// an answer, too.
	Err error
}

// SurveyResult says how a survey ended.
type SurveyResult struct {
	// Replies are the answers in the order in which they came. With the option
	// Each it is nil.
	Replies []SurveyReply
	// Count is how many members answered.
	Count int
	// Missing are the members that did not answer, by id.
	Missing []Missing
	// Complete reports whether all those answered that were members when the
	// survey began.
	Complete bool
}

// BroadcastResult says how far a broadcast came.
type BroadcastResult struct {
	// Members is how many members accepted the message. Nodes is on how many nodes
	// they run.
	Members, Nodes int
	// Missing are the members that did not accept it, or did not say so in time,
	// by id. Those with ErrInterrupted or a *DeadlineError may have it.
	Missing []Missing
	// Complete reports whether all those accepted it that were members when it
	// was sent.
	Complete bool
}

// Missing is a member that was not reached, or did not answer in time.
type Missing struct {
	Member string // id of the member
	Peer   string // id of its node
	// Err is one of the outcomes of a request. ErrTooLarge may also mean that
	// the reply did not fit the survey's limits.
	Err error
}
