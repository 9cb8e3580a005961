// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package request

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/script"
	"github.com/arke-mesh/arke/patterns"
)

// TestPlanScripts plays the stories in testdata/plan against the core that decides
// about one request. Members have numbers, and so have attempts, from 1 in the order
// of their beginning. Each step prints what the plan decides.
//
//	request [idempotent] [wait]   a new request; wait = for a first member
//	try MEMBER [unsent]           an attempt begins; unsent = its link is not there yet
//	fails ATTEMPT HOW             the attempt ends: full, leaving, gone, late, unreached, link, reply
//	silent ATTEMPT                its member does not answer heartbeats any more
//	heard ATTEMPT                 it does again
//	nobody [empty] [at=TIME]      no member is left to choose; empty = the cluster has none
//	denied                        the retry budget allows no other attempt
//	excluded                      prints whom the next choice must leave out
//	stop                          prints the outcome if the deadline came now, and if this node closed
func TestPlanScripts(t *testing.T) {
	script.Run(t, "testdata/plan", func() func(script.Step) []string {
		p := &plan{}
		return func(s script.Step) []string { return []string{p.obey(s)} }
	})
}

var scriptFailures = map[string]failure{
	"full": failedFull, "leaving": failedLeaving, "gone": failedGone, "late": failedLate,
	"unreached": failedUnreached, "cut": failedCut, "link": failedLink, "reply": failedReply,
}

func (p *plan) obey(s script.Step) string {
	switch s.Cmd {
	case "request":
		*p = plan{}
		p.init(s.HasArg("idempotent"), s.HasArg("wait"))
		return trying().tell()
	case "try":
		m := cluster.MemberID(s.Number(0))
		if !p.permits(m) {
			return "not permitted"
		}
		i := p.begin(m, peer.ID(m.String()))
		if !s.HasArg("unsent") {
			p.sent(i)
		}
		return fmt.Sprintf("attempt %d", i+1)
	case "fails":
		f, ok := scriptFailures[s.Word(1)]
		if !ok {
			s.Fail("no such failure")
		}
		return p.ended(s.Number(0)-1, f).tell()
	case "silent":
		return p.doubted(s.Number(0) - 1).tell()
	case "heard":
		p.trusted(s.Number(0) - 1)
		return waiting().tell()
	case "nobody":
		return p.nobody(int64(s.TimeOf("at", 0)), s.HasArg("empty")).tell()
	case "denied":
		return p.denied().tell()
	case "excluded":
		var out []string
		for _, m := range p.exclude(nil) {
			out = append(out, strconv.Itoa(int(m)))
		}
		return "[" + strings.Join(out, " ") + "]"
	case "stop":
		return fmt.Sprintf("deadline: %s\nclosing: %s", scriptError(p.over(context.DeadlineExceeded)), scriptError(p.closing()))
	}
	s.Unknown()
	return ""
}

func (d decision) tell() string {
	switch d.do {
	case doTry:
		return "choose a member"
	case doPause:
		return fmt.Sprintf("look again in %v", d.pause)
	case doEnd:
		return "end: " + scriptError(d.err)
	}
	return "wait"
}

// scriptError names an outcome as Go programs do.
func scriptError(err error) string {
	var late *patterns.DeadlineError
	if errors.As(err, &late) {
		ran := map[bool]string{true: "a handler may have run", false: "no handler ran"}[late.MaybeRan]
		return fmt.Sprintf("DeadlineError (%v), %s", late.Cause, ran)
	}
	for _, known := range []struct {
		err  error
		name string
	}{
		{patterns.ErrOverloaded, "ErrOverloaded"},
		{patterns.ErrInterrupted, "ErrInterrupted"},
		{patterns.ErrUnreachable, "ErrUnreachable"},
		{patterns.ErrNoMembers, "ErrNoMembers"},
		{patterns.ErrClosed, "ErrClosed"},
	} {
		if errors.Is(err, known.err) {
			return known.name
		}
	}
	return fmt.Sprint("unknown: ", err)
}
