// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke

import (
	"log/slog"
	"time"

	"github.com/arke-mesh/arke/internal/zapslog"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
)

// AttachOption changes how Attach finds the relay and what it tells it.
type AttachOption interface{ set(*attachOptions) }

type attachOptions struct {
	client client.Config
	err    error // of the first option that failed
}

func (o *attachOptions) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

type attachOption func(*attachOptions)

func (f attachOption) set(o *attachOptions) { f(o) }

// Socket names the relay's unix socket. By default the environment variable
// ARKE_SOCKET names it. If that is not set, it is the user's, arke/relay.sock in
// $XDG_RUNTIME_DIR. If that does not exist, it is the machine's, /run/arke/relay.sock.
func Socket(path string) AttachOption {
	return attachOption(func(o *attachOptions) { o.client.Socket, o.client.Named = path, path != "" })
}

// TrustUser lists users, by their ids, whose relays the program attaches to. Its own
// user's and root's are trusted in any case. By default the environment variable
// ARKE_TRUST_USER lists them: names or ids, with commas between them. Attach refuses
// any other relay with an error that matches ErrUnauthorized, because a relay can read
// everything that its programs send. If Socket or ARKE_SOCKET names the socket, root
// accepts a relay of any user.
func TrustUser(uid ...int) AttachOption {
	return attachOption(func(o *attachOptions) { o.client.TrustUsers = append(o.client.TrustUsers, uid...) })
}

// Address names a relay that listens on loopback TCP, as "host:port", and a token
// that it was started with. The token is never sent: both sides prove that they have
// it, so that another listener at that address never learns it.
func Address(hostPort, token string) AttachOption {
	return attachOption(func(o *attachOptions) { o.client.Address, o.client.Token = hostPort, token })
}

// Name is what the program is called in the relay's logs and status, in at most
// 255 bytes. Default: the name of the executable.
func Name(name string) AttachOption {
	return attachOption(func(o *attachOptions) { o.client.Name = name })
}

// ClusterKeyFile names a file with keys of one cluster. The command `arke keygen
// --cluster NAME` makes one. What the program serves and calls by that name is then
// visible only to holders of these keys, even among programs of one relay. The relay keeps the keys in memory for as long as the program is attached. The
// option may be repeated, with a file for each cluster, about 25 of them. By default
// the environment variable ARKE_CLUSTER_KEY_FILE lists files, with commas between them.
// The keys of topics are for the relay itself.
func ClusterKeyFile(path string) AttachOption {
	return attachOption(func(o *attachOptions) {
		keys, err := client.ReadKeys(path)
		o.client.Keys = append(o.client.Keys, keys)
		o.fail(err)
	})
}

// ClusterKeyText is the content of a file for ClusterKeyFile, for programs that keep
// it elsewhere.
func ClusterKeyText(content []byte) AttachOption {
	return attachOption(func(o *attachOptions) {
		keys, err := client.ParseKeys(content)
		o.client.Keys = append(o.client.Keys, keys)
		o.fail(err)
	})
}

// RelayWait is how long a call waits for a relay that is away before it fails
// with ErrUnreachable. The call's own deadline may end it sooner. Default 2 s.
func RelayWait(d time.Duration) AttachOption {
	return attachOption(func(o *attachOptions) { o.client.RelayWait = d })
}

// OnLost sets a function that is called for each message that Publish or TryPublish
// accepted and that may not have been published. With the relay's reason it was not. With
// ErrInterrupted the session with the relay was lost, and the relay may have published it
// before: the number of such calls is an upper bound of what was lost. They come when the
// relay's process has ended, at the next attach, or at Close, whichever is first. Messages
// that the same relay process did not receive are sent again, except one of more than
// 64 KiB of which it received a part: that one is lost. f must not block.
func OnLost(f func(error)) AttachOption {
	return attachOption(func(o *attachOptions) { o.client.Refused = func(err error) { f(outward(err)) } })
}

// LogTo sets the logger. Default: nothing is logged.
func LogTo(l *slog.Logger) AttachOption {
	return attachOption(func(o *attachOptions) { o.client.Logger = zapslog.New(l) })
}

// ServeOption sets a limit of one member. A member refuses at once what exceeds a
// limit, and counts it. The caller gets ErrOverloaded or ErrTooLarge. With any limits, a
// member refuses a request that it could not finish before the deadline, by the recent
// durations of its handlers.
type ServeOption func(*serveOptions)

type serveOptions struct{ limits patterns.Limits }

// Concurrency bounds the handlers that run at once. Default 64. Serve refuses more than
// 32,768, and an attached program more together with QueueLength than the 16,384 requests
// that its relay allows it (--max-deliveries).
func Concurrency(n int) ServeOption {
	return func(o *serveOptions) { o.limits.Concurrency = n }
}

// QueueLength bounds the requests that wait for a handler. Default 1,024. A
// negative number means that none may wait. See Concurrency for the largest.
func QueueLength(n int) ServeOption {
	return func(o *serveOptions) { o.limits.QueueLength = n }
}

// QueueBytes bounds the requests that wait for a handler, in bytes. Default
// 16 MiB.
func QueueBytes(n int) ServeOption {
	return func(o *serveOptions) { o.limits.QueueBytes = n }
}

// MaxMessage bounds one message with its headers, in bytes. Default 1 MiB, at
// most 16 MiB.
func MaxMessage(n int) ServeOption {
	return func(o *serveOptions) { o.limits.MessageBytes = n }
}

// Tunnels bounds the open tunnels. Default 16,384, which is the most of an attached
// program; a node may have 24,576. A negative number means none.
func Tunnels(n int) ServeOption {
	return func(o *serveOptions) { o.limits.Tunnels = n }
}

// Capacity is the member's weight in balancing. A member of capacity 2 gets
// twice the work of one with the default, 1. At most 65,536.
func Capacity(n int) ServeOption {
	return func(o *serveOptions) { o.limits.Capacity = n }
}

// RequestOption changes one request, push, tunnel or connection.
type RequestOption func(*requestOptions)

type requestOptions struct{ inner []patterns.RequestOption }

func (o *requestOptions) add(one patterns.RequestOption) { o.inner = append(o.inner, one) }

// Idempotent marks a request that may be handled twice. Arke then also asks another
// member when it loses the first one after sending.
func Idempotent() RequestOption {
	return func(o *requestOptions) { o.add(patterns.Idempotent()) }
}

// WaitForMember makes a call wait for a first member until its deadline. Without it
// the call ends with ErrNoMembers.
func WaitForMember() RequestOption {
	return func(o *requestOptions) { o.add(patterns.WaitForMember()) }
}

// Policy is a way to choose a member.
type Policy uint8

// The policies.
const (
	// PolicyLoad takes the better of two random members, by load and latency.
	// Members in the caller's zone come first. It is the default.
	PolicyLoad = Policy(patterns.PolicyLoad)
	// PolicyRoundRobin asks the members in turn.
	PolicyRoundRobin = Policy(patterns.PolicyRoundRobin)
	// PolicyRandom takes a random member.
	PolicyRandom = Policy(patterns.PolicyRandom)
	// PolicyWeighted takes a random member, in proportion to capacity.
	PolicyWeighted = Policy(patterns.PolicyWeighted)
)

// Choose sets the policy that chooses the member.
func Choose(p Policy) RequestOption {
	return func(o *requestOptions) { o.add(patterns.WithPolicy(patterns.Policy(p))) }
}

// Sticky sends everything with the same key to the same member while it lives.
// The key has at most 255 bytes.
func Sticky(key string) RequestOption {
	return func(o *requestOptions) { o.add(patterns.Sticky(key)) }
}

// ToMember asks the member of that id and no other. See Conn.Members. If the
// member is gone, the call ends with ErrNoMembers or ErrUnreachable.
func ToMember(id string) RequestOption {
	return func(o *requestOptions) { o.add(patterns.ToMember(id)) }
}

// Report says how a call went.
type Report struct {
	Member   string // id of the member that gave the outcome; "" if none did
	Attempts int    // members tried; beside a relay that could not say how many, 1
}

// ReportTo fills r when the call ends.
func ReportTo(r *Report) RequestOption {
	return func(o *requestOptions) { o.add(patterns.Report((*patterns.RequestReport)(r))) }
}

// SurveyOption changes one survey.
type SurveyOption func(*surveyOptions)

type surveyOptions struct {
	each   func(SurveyReply) error
	limits patterns.SurveyOptions
}

// Each calls f with every reply when it arrives, one at a time. The result then has
// no replies. If f returns an error, the survey ends with that error.
func Each(f func(SurveyReply) error) SurveyOption {
	return func(o *surveyOptions) { o.each = f }
}

// MaxReplies bounds how many members are asked. Default 4,096. The result lists the
// others as missing, with ErrTooLarge.
func MaxReplies(n int) SurveyOption {
	return func(o *surveyOptions) { o.limits.MaxReplies = n }
}

// MaxReplyBytes bounds all replies together, in bytes. Default 64 MiB. The result
// lists members whose reply does not fit as missing, with ErrTooLarge.
func MaxReplyBytes(n int) SurveyOption {
	return func(o *surveyOptions) { o.limits.MaxBytes = n }
}

// PublishOption changes one publication.
type PublishOption func(*publishOptions)

type publishOptions struct{ inner []patterns.PublishOption }

// Confirm sets nodes to the number of nodes that acknowledged the message. Publish waits for
// each subscribing node, and sends to each directly. If Publish returns ErrInterrupted or a
// DeadlineError, further nodes may have the message. A gateway counts as one node for all
// behind it, and acknowledges that it has the message. A node other than the publisher's own,
// or its relay's, whose matching patterns all begin with a wildcard gets the message, but is
// not counted: with such subscriptions 0 does not mean that there are none. TryPublish does
// not confirm.
func Confirm(nodes *int) PublishOption {
	return func(o *publishOptions) { o.inner = append(o.inner, patterns.Confirm(nodes)) }
}

// SubscribeOption changes one subscription.
type SubscribeOption func(*subscribeOptions)

type subscribeOptions struct {
	inner patterns.SubscribeOptions
	gap   func(Gap)
}

// QueueGroup makes the subscription one of a group with that name: each message
// goes to one subscription of the group, on any node. A group is one of its name and its
// pattern: where subscriptions of one name have several patterns that match a message, one
// subscription of each pattern gets it, as in NATS.
func QueueGroup(name string) SubscribeOption {
	return func(o *subscribeOptions) { o.inner.Queue = name }
}

// NoEcho leaves out the messages that the same Conn publishes.
func NoEcho() SubscribeOption {
	return func(o *subscribeOptions) { o.inner.NoEcho = true }
}

// Signed refuses messages without a valid signature of their publisher's node. Each of
// them is a gap, with GapUnsigned. For attached programs the relay verifies signatures.
//
// Publishers sign only while a subscription demands it. Messages that they publish before
// they know of the subscription, for about a second, are missing, too. A signature costs
// a publisher about 25 µs a message, and each verifying node about 60 µs.
func Signed() SubscribeOption {
	return func(o *subscribeOptions) { o.inner.Signed = true }
}

// Buffer bounds the messages that wait for the subscriber, in messages and in
// bytes. Default 4,096 and 16 MiB. 0 means the default. An empty buffer has room for
// a message of any size.
//
// The buffer of an attached program is in the program. Before it the relay holds 16 MiB
// for all of the program's subscriptions (--publication-bytes), and what finds no room
// there is a gap. Subscribe refuses a buffer with more bytes than that.
func Buffer(messages, bytes int) SubscribeOption {
	return func(o *subscribeOptions) { o.inner.QueueLength, o.inner.QueueBytes = messages, bytes }
}

// Overflow says what happens to a message when the buffer is full.
type Overflow uint8

// The policies of a full buffer.
const (
	// DropOldest drops the message that has waited longest. It is the default.
	DropOldest = Overflow(patterns.OverflowOldest)
	// DropNewest drops the arriving message.
	DropNewest = Overflow(patterns.OverflowNewest)
	// BlockPublishers makes publishers on the same node wait until there is
	// room. Messages from other nodes are dropped.
	BlockPublishers = Overflow(patterns.OverflowBlock)
)

// WhenFull says what happens to a message when the buffer is full.
func WhenFull(o Overflow) SubscribeOption {
	return func(s *subscribeOptions) { s.inner.Overflow = patterns.Overflow(o) }
}

// OnGap calls f where messages are missing, between the last message before the gap
// and the first one after it. The subscriber's function or loop does not run at the
// same time.
func OnGap(f func(Gap)) SubscribeOption {
	return func(o *subscribeOptions) { o.gap = f }
}

// collect applies options.
func collect[T any, O ~func(*T)](opts []O) T {
	var all T
	for _, o := range opts {
		o(&all)
	}
	return all
}
