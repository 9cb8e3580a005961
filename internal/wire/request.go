// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "encoding/binary"

// Bits of Request.Flags and Reply.Flags. A bit that this version does not know
// is malformed: bits are added with a new link version only.
const (
	FlagIdempotent uint8 = 1 << 0 // Request: running it twice does no harm
	FlagSealed     uint8 = 1 << 1 // both: the tail is sealed under the cluster key
	FlagOrigin     uint8 = 1 << 2 // Request: there is an origin block
	FlagRoute      uint8 = 1 << 3 // Request, of a client to its relay: there is a route
	FlagTunnel     uint8 = 1 << 4 // Request, sealed, of pattern tunnel: there is the id of the tunnel

	requestFlags = FlagIdempotent | FlagSealed | FlagOrigin | FlagRoute | FlagTunnel
)

const requestSize = 8 + 8 + 8 + 8 + 1 + 1 + 1

// patternCount is how many patterns there are, the last of which is that of tunnels; package
// patterns numbers them.
const (
	patternTunnel = 4
	patternCount  = 5
)

// Request asks one member, or has a message for it. Sent by the caller's node,
// answered by one Reply. A client sends one to its relay, which picks the member
// by the route, and gets one for each of its registrations' requests.
type Request struct {
	// ID is unique among the requests of the sender's session. Whoever passes
	// the request on has one of its own.
	ID uint64
	// Member and Incarnation name the member that was picked; a member that
	// is gone, or has restarted, answers OutcomeNoSuchMember. Both are 0 where
	// there is a route.
	Member      uint64
	Incarnation uint64
	// Deadline is in nanoseconds of the sender's link clock; 0 = none. Whoever
	// passes the request on states it on its own.
	Deadline uint64
	Flags    uint8 // FlagIdempotent, FlagSealed; the others follow from Origin, Route and Tunnel
	Attempt  uint8 // 0 for the first member tried
	Pattern  uint8 // 0 request, 1 survey, 2 push, 3 broadcast, 4 tunnel
	// Origin is who asks if that is not the link's peer, else nil.
	Origin *Origin
	// Route is whom to ask, from a client to its relay, else nil.
	Route *Route
	// Tunnel is the id that the frames of the tunnel have on this link, where the opening
	// is sealed and whoever passes it on can't look into it; else 0. Whoever passes it on
	// has one of its own.
	Tunnel uint64
	// Tail is the encoded headers and the body behind them, or what was sealed.
	// It can be passed on without being looked at; SplitTail takes it apart.
	Tail []byte
}

// Origin says who sent a message that others pass on. Nobody changes it on the
// way: seals are bound to it.
type Origin struct {
	Peer        string // peer id of its node, at most MaxPeerID bytes
	Incarnation uint64 // of its node
	Serial      uint64 // unique among its messages
	// Networks are the ids of those that it has come through, at most
	// MaxNetworks of at most MaxNetworkID bytes.
	Networks []string
}

// Limits of an Origin and a Route.
const (
	MaxNetworks  = 8
	MaxNetworkID = 64  // bytes, in an Origin
	MaxCluster   = 255 // bytes of a name
)

// Bits of Route.Options.
const (
	RouteWait   uint8 = 1 << 0 // wait for a first member
	RouteLimits uint8 = 1 << 1 // MaxReplies and MaxBytes are stated
)

// Route says which cluster a client asks, and how its relay picks.
type Route struct {
	Options    uint8 // RouteWait, RouteLimits
	Policy     uint8 // as package patterns numbers it
	StickyKey  string
	Cluster    string
	MaxReplies uint32 // of a survey, with RouteLimits
	MaxBytes   uint64 // of all its replies, with RouteLimits
}

// AppendHead appends everything but Tail, for senders that put it behind as
// parts of its own.
func (m *Request) AppendHead(dst []byte) []byte {
	flags := m.Flags &^ (FlagOrigin | FlagRoute | FlagTunnel)
	if m.Origin != nil {
		flags |= FlagOrigin
	}
	if m.Route != nil {
		flags |= FlagRoute
	}
	if m.Tunnel != 0 {
		flags |= FlagTunnel
	}
	dst = binary.BigEndian.AppendUint64(dst, m.ID)
	dst = binary.BigEndian.AppendUint64(dst, m.Member)
	dst = binary.BigEndian.AppendUint64(dst, m.Incarnation)
	dst = binary.BigEndian.AppendUint64(dst, m.Deadline)
	dst = append(dst, flags, m.Attempt, m.Pattern)
	if m.Origin != nil {
		dst = m.Origin.appendTo(dst)
	}
	if m.Route != nil {
		dst = m.Route.appendTo(dst)
	}
	if m.Tunnel != 0 {
		dst = binary.BigEndian.AppendUint64(dst, m.Tunnel)
	}
	return dst
}

// AppendTo appends the encoded request.
func (m *Request) AppendTo(dst []byte) []byte { return append(m.AppendHead(dst), m.Tail...) }

// DecodeRequest decodes the body of a KindRequest frame. Tail aliases b, and is
// not looked into.
func DecodeRequest(b []byte) (Request, error) {
	if len(b) < requestSize {
		return Request{}, malformed("request: short")
	}
	m := Request{
		ID:          binary.BigEndian.Uint64(b),
		Member:      binary.BigEndian.Uint64(b[8:]),
		Incarnation: binary.BigEndian.Uint64(b[16:]),
		Deadline:    binary.BigEndian.Uint64(b[24:]),
		Flags:       b[32],
		Attempt:     b[33],
		Pattern:     b[34],
		Tail:        b[requestSize:],
	}
	switch {
	case m.Flags&^requestFlags != 0:
		return Request{}, malformed("request: unknown flag")
	case m.Pattern >= patternCount:
		return Request{}, malformed("request: unknown pattern")
	case m.Flags&FlagTunnel != 0 && (m.Pattern != patternTunnel || m.Flags&FlagSealed == 0):
		return Request{}, malformed("request: a tunnel's id")
	case m.Flags&(FlagOrigin|FlagRoute|FlagTunnel) == 0:
		return m, nil
	}
	return m.decodeBlocks()
}

// decodeBlocks decodes what stands between the head and the tail.
func (m Request) decodeBlocks() (Request, error) {
	r := reader{b: m.Tail}
	if m.Flags&FlagOrigin != 0 {
		m.Origin = readOrigin(&r)
	}
	if m.Flags&FlagRoute != 0 {
		m.Route = readRoute(&r)
		r.bad = r.bad || m.Member != 0 || m.Incarnation != 0
	}
	if m.Flags&FlagTunnel != 0 {
		m.Tunnel = r.uint64()
		r.bad = r.bad || m.Tunnel == 0
	}
	if r.bad {
		return Request{}, malformed("request: origin, route or tunnel")
	}
	m.Flags &^= FlagOrigin | FlagRoute | FlagTunnel
	m.Tail = r.b
	return m, nil
}

func (o *Origin) appendTo(dst []byte) []byte {
	dst = appendShort(dst, o.Peer)
	dst = binary.BigEndian.AppendUint64(dst, o.Incarnation)
	dst = binary.BigEndian.AppendUint64(dst, o.Serial)
	dst = append(dst, byte(len(o.Networks)))
	for _, n := range o.Networks {
		dst = appendShort(dst, n)
	}
	return dst
}

// readOrigin reads what Origin.appendTo wrote.
func readOrigin(r *reader) *Origin {
	o := &Origin{Peer: r.name(MaxPeerID), Incarnation: r.uint64(), Serial: r.uint64()}
	n := int(r.uint8())
	r.bad = r.bad || n > MaxNetworks
	for i := 0; i < n && !r.bad; i++ {
		o.Networks = append(o.Networks, r.name(MaxNetworkID))
	}
	return o
}

func (m *Route) appendTo(dst []byte) []byte {
	dst = append(dst, m.Options, m.Policy)
	dst = appendShort(dst, m.StickyKey)
	dst = appendShort(dst, m.Cluster)
	if m.Options&RouteLimits != 0 {
		dst = binary.BigEndian.AppendUint32(dst, m.MaxReplies)
		dst = binary.BigEndian.AppendUint64(dst, m.MaxBytes)
	}
	return dst
}

// readRoute reads what Route.appendTo wrote.
func readRoute(r *reader) *Route {
	m := &Route{Options: r.uint8(), Policy: r.uint8(), StickyKey: r.short(), Cluster: r.name(MaxCluster)}
	if m.Options&RouteLimits != 0 {
		m.MaxReplies, m.MaxBytes = r.uint32(), r.uint64()
	}
	r.bad = r.bad || m.Options&^(RouteWait|RouteLimits) != 0
	return m
}
