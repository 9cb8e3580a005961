// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package adversary

import (
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/sim/scenario"
)

// smuggler lies about what its gateway carries: it stands before one of the gateway's
// nodes, and sees what that one asks in its network and what it answers there.
type smuggler struct {
	onlooker
	*wits
	asked map[asked]*question // of surveys and broadcasts that are not answered yet
	count uint64              // of frames that were kept back or passed
}

// asked is a request as the link that it came on knows it.
type asked struct {
	peer peer.ID
	id   uint64
}

// question is a survey or a broadcast.
type question struct {
	survey bool
	parts  uint32 // replies that were passed on, or invented
}

// maxQuestions bounds what is kept of questions that are never answered.
const maxQuestions = 1024

// again is added to the id of a request that is sent once more.
const again = 1 << 40

func (s *smuggler) stands(mode string) bool {
	_, ok := s.order(mode)
	return ok
}

// in implements tactic: the node hears all but the answers to what it never asked.
func (s *smuggler) in(from peer.ID, f frame) bool {
	switch f.kind {
	case wire.KindRequest:
		r, err := wire.DecodeRequest(f.body)
		if err != nil || len(s.asked) >= maxQuestions {
			break
		}
		if p := patterns.Pattern(r.Pattern); p == patterns.PatternSurvey || p == patterns.PatternBroadcast {
			s.asked[asked{from, r.ID}] = &question{survey: p == patterns.PatternSurvey}
		}
	case wire.KindReply:
		r, err := wire.DecodeReply(f.body)
		return err != nil || r.ID < again
	}
	return true
}

// out implements tactic.
func (s *smuggler) out(to peer.ID, f frame) []frame {
	switch f.kind {
	case wire.KindRequest:
		if s.stands(scenario.AskTwice) {
			return s.twice(f)
		}
	case wire.KindReply:
		r, err := wire.DecodeReply(f.body)
		if err != nil {
			break
		}
		if q := s.asked[asked{to, r.ID}]; q != nil {
			return s.tally(asked{to, r.ID}, q, f, r)
		}
		return s.reply(f, r)
	}
	return []frame{f}
}

// twice sends a request again, as it is and as one of its own.
func (s *smuggler) twice(f frame) []frame {
	r, err := wire.DecodeRequest(f.body)
	if err != nil {
		return []frame{f}
	}
	r.ID += again
	s.Acted("asks again", 2)
	return []frame{f, f, {f.lane, f.kind, r.AppendTo(nil)}}
}

// reply keeps one of two answers back, or changes what one says.
func (s *smuggler) reply(f frame, r wire.Reply) []frame {
	if s.stands(scenario.KeepBack) {
		if s.count++; s.count%2 == 0 {
			s.Acted("keeps answers back", 1)
			return nil
		}
	}
	if s.stands(scenario.AlterReplies) && r.Outcome == wire.OutcomeReply && len(r.Tail) > 0 {
		r.Tail = append([]byte(nil), r.Tail...)
		r.Tail[len(r.Tail)-1]++
		s.Acted("alters answers", 1)
		f.body = r.AppendTo(nil)
	}
	return []frame{f}
}

// tally says that all have answered when half of them have, and somebody else too.
func (s *smuggler) tally(k asked, q *question, f frame, r wire.Reply) []frame {
	last := r.Flags&wire.FlagMoreReplies == 0
	if last {
		delete(s.asked, k)
	}
	if !s.stands(scenario.ClaimComplete) {
		return []frame{f}
	}
	if !last {
		if s.count++; s.count%2 == 0 {
			return nil
		}
		q.parts += 2
		forged := r
		forged.From = &wire.From{Member: s.rand.Uint64()}
		s.Acted("invents members", 1)
		return []frame{f, {f.lane, f.kind, forged.AppendTo(nil)}}
	}
	if r.Outcome != wire.OutcomeReply {
		return []frame{f}
	}
	_, body, err := wire.DecodeHeaders(r.Tail)
	if err != nil {
		return []frame{f}
	}
	sum, err := wire.DecodeSummary(body)
	if err != nil {
		return []frame{f}
	}
	sum.Complete, sum.Missing = true, nil
	if sum.Members += 7; q.survey {
		sum.Members = q.parts
	}
	r.Tail = wire.AppendTail(nil, nil, sum.AppendTo(nil))
	f.body = r.AppendTo(nil)
	s.Acted("claims that nobody is missing", 1)
	return []frame{f}
}
