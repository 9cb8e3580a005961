// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/binary"
	"time"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
)

// A far request comes from another network, by a gateway that can't open it:
//
//   - The caller picks the member, seals for it, and sends the request to the gateway,
//     addressed to what that has registered for the member (cluster.Way).
//   - The gateway, whose member has finding keys only, hands it to its Forwarder as it
//     came; that sends it to the member by Ask.Origin, with the caller as its origin.
//   - The member opens it for the origin. All that it answers is sealed, outcome and
//     queue included: a whole Reply, with 0 as its id. The gateway sees its size; and of
//     the opening of a tunnel, whose frames it has to pass on, whether it was accepted.
//   - What comes to the caller without a seal is the gateway's own word, and believed as
//     far as it could be true: that the member was not reached, that a limit is full, or
//     that it is not known what became of the request.

// passesOn says whether a member's requests are passed on unopened.
func passesOn(s *Server) bool { return s.keys != nil && s.keys.FindsOnly() }

// unopened takes in a request that is passed on as it is. It crosses one border only.
func (in *arrival) unopened(s *Server) refusal {
	r := &in.request
	if !in.sealed || len(r.Tail) < sealedOverhead || r.Origin != nil && (in.foreign() || len(r.Origin.Networks) > 0) || !in.namesTunnel() {
		return refusal{wire.OutcomeUnauthorized, dropUnauthorized}
	}
	in.tail, in.size = r.Tail, max(len(r.Tail)-sealedOverhead-noHeaders, 0)
	in.binding.SenderIncarnation = binary.BigEndian.Uint64(r.Tail)
	return s.fits(in.size)
}

// origin is who a request is from, for who passes it on.
func (in *arrival) origin() wire.Origin {
	by, id := in.sealer()
	o := wire.Origin{Peer: string(by), Incarnation: in.binding.SenderIncarnation, Serial: id}
	if r := in.request.Origin; r != nil {
		o.Networks = r.Networks
	}
	return o
}

// foreign says whether a request is not from who has sent it here.
func (in *arrival) foreign() bool {
	o := in.request.Origin
	return o != nil && o.Peer != string(in.link.Peer())
}

// mayBeFar says whether a request that somebody passes on may be looked at: the seal
// shows who has sent it, which a key that all nodes of a network have does not. A tunnel
// has an id on the link that it comes on.
func (in *arrival) mayBeFar(s *Server) bool {
	return !in.foreign() || s.cfg.Leaf != nil ||
		in.request.Flags&wire.FlagSealed != 0 && s.keys != nil && !s.keys.Derived() && !s.keys.FindsOnly() && in.namesTunnel()
}

// namesTunnel says whether a request has the id of a tunnel if it opens one, and else none.
func (in *arrival) namesTunnel() bool {
	return (patterns.Pattern(in.request.Pattern) == patterns.PatternTunnel) == (in.request.Tunnel != 0)
}

// conceal seals all of a reply to a far request.
func conceal(s *Server, dst []byte, b security.Binding, r wire.Reply) (head, body []byte) {
	id := r.ID
	r.ID, r.From = 0, nil
	plain := r.AppendTo(make([]byte, 0, 32+len(r.Tail)))
	outer := wire.Reply{ID: id, Outcome: wire.OutcomeReply, Flags: wire.FlagSealed}
	if patterns.Pattern(b.Pattern) == patterns.PatternTunnel && r.Outcome != wire.OutcomeReply {
		outer.Outcome = wire.OutcomeRemoteError
	}
	return outer.AppendHead(dst), s.keys.Seal(s.random, b, make([]byte, 0, security.SealOverhead+len(plain)), plain)
}

// answerFar sends a reply to a far request for which no handler ran.
func answerFar(s *Server, l Link, b security.Binding, r wire.Reply, deadline time.Time) {
	r.Tail = emptyTail
	head, body := conceal(s, make([]byte, 0, 64), b, r)
	s.answer(l, overlay.LaneRPC, deadline, head, body)
}

// isFar says whether the attempt goes by a gateway that can't open it, and its reply has
// to be revealed.
func isFar(a *attempt) bool { return a.member.Via != nil && a.call.origin == nil }

// reveal puts the member's own reply in place of what came by a gateway. If nobody but
// the gateway has said it, it returns what is believed of that.
func reveal(a *attempt) (f failure) {
	c := a.call
	switch {
	case a.reply.Flags&wire.FlagSealed != 0 && (a.reply.Outcome == wire.OutcomeReply || a.reply.Outcome == wire.OutcomeRemoteError):
	case a.reply.Outcome == wire.OutcomeOverloaded:
		return failedFull
	case a.reply.Outcome == wire.OutcomeCancelled || a.reply.Outcome == wire.OutcomeReply || a.reply.Outcome == wire.OutcomeRemoteError:
		return failedReply
	case a.reply.Outcome == wire.OutcomeUnreachable:
		return failedCut
	default:
		return failedUnreached
	}
	b := a.binding()
	b.Reply = true
	plain, err := c.route.keys.OpenInPlace(b, a.reply.Tail)
	if err == nil {
		var r wire.Reply
		if r, err = wire.DecodeReply(plain); err == nil {
			r.ID = a.reply.ID
			a.reply, a.revealed = r, true
			return 0
		}
	}
	c.drops.Inc(dropReplyBad)
	return failedReply
}

// passedOn ends a request that is not this node's own: the reply is for its origin.
func passedOn(a *attempt) decision {
	a.call.answer.Reply = a.reply
	return a.final(wire.OutcomeReply, nil)
}

// targetOf is the registration that a request is addressed to.
func targetOf(a *attempt) (cluster.MemberID, uint64) {
	if a.call.origin != nil { // a gateway sends to the member itself
		return a.member.ID, a.member.Incarnation
	}
	return a.member.Target()
}
