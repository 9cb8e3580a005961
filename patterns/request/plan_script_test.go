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
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/cluster"
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
	datadriven.Walk(t, "testdata/plan", func(t *testing.T, path string) {
		p := &plan{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return p.obey(t, d) })
	})
}

var scriptFailures = map[string]failure{
	"full": failedFull, "leaving": failedLeaving, "gone": failedGone, "late": failedLate,
	"unreached": failedUnreached, "link": failedLink, "reply": failedReply,
}

func (p *plan) obey(t *testing.T, d *datadriven.TestData) string {
	number := func() int {
		n, err := strconv.Atoi(d.CmdArgs[0].Key)
		if err != nil {
			d.Fatalf(t, "no number: %v", err)
		}
		return n
	}
	switch d.Cmd {
	case "request":
		*p = plan{}
		p.init(d.HasArg("idempotent"), d.HasArg("wait"))
		return trying().script()
	case "try":
		m := cluster.MemberID(number())
		if !p.permits(m) {
			return "not permitted"
		}
		i := p.begin(m, peer.ID(m.String()))
		if !d.HasArg("unsent") {
			p.sent(i)
		}
		return fmt.Sprintf("attempt %d", i+1)
	case "fails":
		f, ok := scriptFailures[d.CmdArgs[1].Key]
		if !ok {
			d.Fatalf(t, "no such failure")
		}
		return p.ended(number()-1, f).script()
	case "silent":
		return p.doubted(number() - 1).script()
	case "heard":
		p.trusted(number() - 1)
		return waiting().script()
	case "nobody":
		at := "0s"
		d.MaybeScanArgs(t, "at", &at)
		now, err := time.ParseDuration(at)
		if err != nil {
			d.Fatalf(t, "%v", err)
		}
		return p.nobody(int64(now), d.HasArg("empty")).script()
	case "denied":
		return p.denied().script()
	case "excluded":
		var out []string
		for _, m := range p.exclude(nil) {
			out = append(out, strconv.Itoa(int(m)))
		}
		return "[" + strings.Join(out, " ") + "]"
	case "stop":
		return fmt.Sprintf("deadline: %s\nclosing: %s", scriptError(p.over(context.DeadlineExceeded)), scriptError(p.closing()))
	}
	d.Fatalf(t, "no such step: %s", d.Cmd)
	return ""
}

func (d decision) script() string {
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
