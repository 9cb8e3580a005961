// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package overlay

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"github.com/arke-mesh/arke/internal/nodename"
	story "github.com/arke-mesh/arke/internal/script"
	"github.com/arke-mesh/arke/overlay/session"
)

// TestJournalScripts plays the stories in testdata/journal against the core that
// decides what the log says of seeds and peers. A step prints the lines.
//
//	seeds ADDR…                         the node starts, with these seeds
//	reseed ADDR…                        the seeds are replaced
//	after TIME                          time passes; at 5s the core looks at the seeds
//	dial ADDR PEER|HOW|me+HOW [from=seed] [others]  a dial ended: at a peer, or how it failed: refused,
//	                                    slow, unknown (the name), shut (the door); others = more are under way
//	up PEER [dialling]                  the first connection with a peer; down PEER = the last one is gone
//	link PEER [name=TEXT]               a link with a peer
//	lost PEER HOW                       it ended: goodbye, silent, gone
//	suspect PEER                        it is not heard; heard PEER ADDR = it is again, in the same session
//	crowd COUNT                         links with so many new peers
//	status                              prints how the seeds are
func TestJournalScripts(t *testing.T) {
	story.Run(t, "testdata/journal", func() func(story.Step) []string {
		r := &journalRun{}
		return r.obey
	})
}

type journalRun struct {
	core *journal
	at   time.Duration
}

func (r *journalRun) now() time.Time { return time.Unix(1000, 0).Add(r.at) }

var scriptDials = map[string]error{
	"refused": fmt.Errorf("p2p: dial A: %w", &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}),
	"slow":    fmt.Errorf("p2p: dial A: %w", context.DeadlineExceeded),
	"unknown": fmt.Errorf("p2p: %w", &net.DNSError{Err: "no such host", Name: "relay-1.example"}),
	"shut":    errors.New("p2p: dial /ip4/10.0.0.1/tcp/7400: p2p: not admitted: closed without a word: another network key, or not Arke"),
}

var scriptEnds = map[string]error{
	"goodbye": &session.GoodbyeError{Reason: "shutting down"},
	"silent":  fmt.Errorf("%w: 10s", ErrSilent),
	"gone":    fmt.Errorf("%w: EOF", ErrLost),
}

func (r *journalRun) obey(s story.Step) []string {
	switch s.Cmd {
	case "seeds":
		*r = journalRun{core: newJournal("me")}
		r.core.reseed(r.now(), s.Words())
		return nil
	case "reseed":
		r.core.reseed(r.now(), s.Words())
		return nil
	case "after":
		before := r.at
		r.at += s.Time(0)
		if before < seedPatience && r.at >= seedPatience {
			return printed(r.core.look(r.now()))
		}
		return nil
	case "dial":
		c := Candidate{Addrs: []string{s.Word(0)}, Source: SourceSeed}
		if from := s.Values("from"); len(from) > 0 {
			c.Source = map[string]Source{"lan": SourceLAN, "remembered": SourceRemembered, "peer": SourcePeer}[from[0]]
		}
		self, how, both := strings.Cut(s.Word(1), "+")
		p, err := peer.ID(self), scriptDials[s.Word(1)]
		if both {
			err = scriptDials[how]
		} else if err != nil {
			p = ""
		}
		return printed(r.core.dialled(r.now(), c, p, err, s.HasArg("others")))
	case "up":
		return printed(r.core.up(peer.ID(s.Word(0)), s.HasArg("dialling")))
	case "down":
		return printed(r.core.down(r.now(), peer.ID(s.Word(0))))
	case "link":
		return printed(r.core.linkUp(r.now(), peer.ID(s.Word(0)), strings.Join(s.Values("name"), "")))
	case "lost":
		return printed(r.core.linkDown(r.now(), peer.ID(s.Word(0)), scriptEnds[s.Word(1)]))
	case "suspect":
		r.core.linkSuspect(r.now(), peer.ID(s.Word(0)))
		return nil
	case "heard":
		return printed(r.core.linkRecovered(r.now(), peer.ID(s.Word(0)), s.Word(1)))
	case "crowd":
		lines := 0
		for i := range s.Number(0) {
			lines += len(r.core.linkUp(r.now(), peer.ID(fmt.Sprint("crowd", i)), ""))
		}
		return []string{fmt.Sprintf("%d lines", lines)}
	case "status":
		var out []string
		for _, seed := range r.core.status() {
			out = append(out, strings.TrimSpace(fmt.Sprintf("%s: %s since %v %s", seed.Addr, seed.State, seed.Since.Sub(time.Unix(1000, 0)), seed.Error)))
		}
		return out
	}
	return s.Unknown()
}

// printed is how lines look in a story. Peer ids print as they are written there.
func printed(lines []logLine) (out []string) {
	for _, l := range lines {
		text := map[bool]string{true: "warn: ", false: "info: "}[l.warn] + l.text
		for i := 0; i+1 < len(l.fields); i += 2 {
			value := l.fields[i+1]
			switch of := value.(type) {
			case peer.ID:
				value = string(of)
			case namedPeer:
				value = nodename.Of(of.name, string(of.id))
			}
			text += fmt.Sprintf(" %v=%q", l.fields[i], fmt.Sprint(value))
		}
		out = append(out, text)
	}
	return out
}

func TestAFileThatCantBeWrittenIsSaidOnceAnHour(t *testing.T) {
	// This test checks the lines about remembered peers that can't be kept: one at
	// once, one an hour later, and one when they are kept again.
	begin, full := time.Unix(1000, 0), errors.New("no space left on device")
	var k keeping
	for _, step := range []struct {
		after time.Duration
		err   error
		says  string
	}{
		{0, nil, "[]"},
		{time.Second, full, "[warn: the data directory can't be written: after a start this node will not know the peers that it knows now error=\"no space left on device\" next_try=\"10s\"]"},
		{time.Minute, full, "[]"},
		{2 * time.Hour, full, "[warn: the data directory can't be written: after a start this node will not know the peers that it knows now error=\"no space left on device\" next_try=\"10s\"]"},
		{2*time.Hour + time.Second, nil, "[info: the data directory is written again]"},
		{3 * time.Hour, nil, "[]"},
	} {
		if got := fmt.Sprint(printed(k.wrote(begin.Add(step.after), step.err))); got != step.says {
			t.Errorf("after %v: %s, want %s", step.after, got, step.says)
		}
	}
}
