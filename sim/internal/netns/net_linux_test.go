// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package netns

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/play"
	"github.com/arke-mesh/arke/sim/scenario"
	"github.com/arke-mesh/arke/tests/harness"
)

// patience is how long a test waits for what must come; generous, because the
// machine is small and shared.
const patience = 30 * time.Second

// story is a Net and what its nodes have in common.
type story struct {
	*testing.T
	*Net
	network security.NetworkFile
}

func newStory(t *testing.T, link scenario.Link) *story {
	t.Helper()
	needs(t)
	n, err := New(Config{Seed: 1, Binary: harness.Binary(t), Logger: zaptest.NewLogger(t, zaptest.Level(zap.WarnLevel))})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, n.Close()) })
	n.SetLinks(func(string, string) scenario.Link { return link })
	network, err := security.GenerateNetworkFile("test", rand.Reader)
	require.NoError(t, err)
	return &story{T: t, Net: n, network: network}
}

// start starts a node, with the node "a" as its seed.
func (s *story) start(name string) play.Participant {
	s.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p, err := s.Net.Start(ctx, play.NodeSpec{Name: name, Zone: "z", Network: s.network, Seeds: []string{"a"}})
	require.NoError(s, err)
	return p
}

// twoNodes is a story of two nodes on a slow link, of which b answers.
func twoNodes(t *testing.T) (s *story, a, b play.Participant) {
	t.Helper()
	s = newStory(t, slowLink())
	a, b = s.start("a"), s.start("b")
	s.serve(b, "b")
	s.answers(a, "b")
	return s, a, b
}

// serve has a node answer with its name.
func (s *story) serve(p play.Participant, name string) {
	s.Helper()
	s.serveWith(p, func() string { return name })
}

func (s *story) serveWith(p play.Participant, answer func() string) {
	s.Helper()
	ctx, cancel := p.Within(patience)
	defer cancel()
	_, err := p.Serve(ctx, "echo", patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
		return patterns.Message{Body: []byte(answer())}, nil
	}), patterns.Limits{})
	require.NoError(s, err)
}

// ask makes one request.
func (s *story) ask(p play.Participant, deadline time.Duration) (string, error) {
	ctx, cancel := p.Within(deadline)
	defer cancel()
	m, err := p.Request(ctx, "echo", patterns.Message{})
	return string(m.Body), err
}

// answers waits until a request is answered by the node.
func (s *story) answers(p play.Participant, by string) {
	s.Helper()
	harness.Eventually(s.T, patience, "an answer of "+by, func() error {
		got, err := s.ask(p, 2*time.Second)
		if err == nil && got != by {
			err = fmt.Errorf("it is of %q", got)
		}
		return err
	})
}

// swiftly tries until it took less than the bound. A busy machine can make
// every try slower, and none faster: one that is fast enough proves that the
// rest is the machine's.
func swiftly(t *testing.T, bound time.Duration, what string, try func() time.Duration) {
	t.Helper()
	begun := time.Now()
	best := try()
	for best >= bound && time.Since(begun) < patience {
		best = min(best, try())
	}
	require.Less(t, best, bound, what)
	t.Logf("%s takes %v at best", what, best)
}

func (s *story) apply(do string, nodes ...string) {
	s.Helper()
	require.NoError(s, s.Net.Apply(scenario.Action{Do: do, Nodes: nodes}))
}

func (s *story) between(do string, from, to []string) {
	s.Helper()
	require.NoError(s, s.Net.Apply(scenario.Action{Do: do, Between: [][]string{from, to}}))
}

// slowLink is a link with a latency that shows.
func slowLink() scenario.Link {
	return scenario.Link{Latency: scenario.Duration(10 * time.Millisecond)}
}

// TestRequestsCrossTheNetwork checks that relays find each other through a
// seed, that a request takes the time of the link, and what Status tells.
func TestRequestsCrossTheNetwork(t *testing.T) {
	s := newStory(t, slowLink())
	begun := time.Now()
	a, b := s.start("a"), s.start("b")
	t.Logf("two nodes started in %v", time.Since(begun))
	s.serve(b, "b")
	s.answers(a, "b")
	swiftly(t, 35*time.Millisecond, "a request", func() time.Duration {
		best := time.Hour
		for range 20 {
			begun := time.Now()
			_, err := s.ask(a, patience)
			require.NoError(t, err)
			best = min(best, time.Since(begun))
		}
		require.GreaterOrEqual(t, best, 20*time.Millisecond)
		return best
	})
	status, err := a.Status(t.Context())
	require.NoError(t, err)
	require.Equal(t, a.Peer(), status.Peer)
	require.Equal(t, "z", status.Zone)
	require.NotZero(t, status.SentBytes)
	require.NotZero(t, s.router.counts[passed].Load())
}

// TestACrashIsSeenAndARestartIsTheSamePeer checks a kill: the others notice at
// once, and the next life has the peer id of the last one.
func TestACrashIsSeenAndARestartIsTheSamePeer(t *testing.T) {
	s, a, b := twoNodes(t)
	peer := b.Peer()
	swiftly(t, time.Second, "to miss b", func() time.Duration { // silence would take longer
		s.apply("crash", "b")
		begun := time.Now()
		harness.Eventually(t, patience, "that b is missed", func() error {
			if _, err := s.ask(a, 2*time.Second); err == nil {
				return fmt.Errorf("b answered")
			}
			return nil
		})
		took := time.Since(begun)
		require.NoError(t, b.Close())
		b = s.start("b")
		require.Equal(t, peer, b.Peer())
		s.serve(b, "b again")
		s.answers(a, "b again")
		return took
	})
}

// TestSilenceIsNotSeen checks a loss of power: a request on its way hears
// nothing, until its deadline; and that the node works after a restart.
func TestSilenceIsNotSeen(t *testing.T) {
	s, a, b := twoNodes(t)
	// From three beats after the last byte on a knows. A machine that is too
	// slow to ask before that proves nothing: it is tried again.
	const knows = 1200 * time.Millisecond
	for begun, told := time.Now(), false; !told; {
		require.Less(t, time.Since(begun), patience)
		heard := time.Now()
		_, err := s.ask(a, patience)
		require.NoError(t, err)
		// The relay knows when the client's time is over as well as their clocks were
		// compared: to within half of a round trip between them, which is part of this one.
		roundTrip := time.Since(heard)
		s.apply("silence", "b")
		asked := time.Now()
		_, err = s.ask(a, 700*time.Millisecond)
		took := time.Since(asked)
		require.Error(t, err)
		if told = time.Since(heard) < knows; told {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.GreaterOrEqual(t, took, 700*time.Millisecond-roundTrip/2)
		}
		require.NoError(t, b.Close())
		b = s.start("b")
		s.serve(b, "b again")
		s.answers(a, "b again")
	}
}

// TestACutSeparatesUntilItHeals checks a partition of three nodes: who is on
// the other side is not reached, who is on this side is, and after the heal all
// are one again.
func TestACutSeparatesUntilItHeals(t *testing.T) {
	s := newStory(t, slowLink())
	a, b, c := s.start("a"), s.start("b"), s.start("c")
	s.serve(b, "b")
	s.answers(a, "b")
	s.answers(c, "b")
	s.between("cut", []string{"a"}, []string{"b", "c"})
	s.between("cut", []string{"b", "c"}, []string{"a"})
	_, err := s.ask(a, time.Second)
	require.Error(t, err)
	s.answers(c, "b")
	s.apply("heal")
	s.answers(a, "b")
}

// TestAPausedNodeGoesOn checks that a node that is paused answers nothing and
// goes on when it is calm.
func TestAPausedNodeGoesOn(t *testing.T) {
	s, a, _ := twoNodes(t)
	s.apply("pause", "b")
	_, err := s.ask(a, 500*time.Millisecond)
	require.Error(t, err)
	require.NoError(t, s.Calm())
	s.answers(a, "b")
}

// TestStopDrains checks that a request which a member has begun is answered
// although its node is stopped meanwhile.
func TestStopDrains(t *testing.T) {
	s := newStory(t, slowLink())
	a, b := s.start("a"), s.start("b")
	begun, finish := make(chan struct{}, 1), make(chan struct{})
	s.serveWith(b, func() string {
		begun <- struct{}{}
		<-finish
		return "late"
	})
	answer := make(chan string)
	go func() {
		got, err := s.ask(a, patience)
		answer <- fmt.Sprint(got, err)
	}()
	<-begun
	stopped := make(chan error)
	go func() { stopped <- s.Apply(scenario.Action{Do: "stop", Nodes: []string{"b"}}) }()
	time.Sleep(100 * time.Millisecond)
	close(finish)
	require.Equal(t, "late<nil>", <-answer)
	require.NoError(t, <-stopped)
	harness.Eventually(t, patience, "that nobody is left", func() error {
		if _, err := s.ask(a, 2*time.Second); !errors.Is(err, patterns.ErrNoMembers) {
			return fmt.Errorf("%v", err)
		}
		return nil
	})
}

// TestACorruptByteEndsNoSession checks that the nodes connect again when TLS has
// noticed, and that their session goes on.
func TestACorruptByteEndsNoSession(t *testing.T) {
	s, a, b := twoNodes(t)
	session := func() uint64 {
		status, err := a.Status(t.Context())
		require.NoError(t, err)
		for _, l := range status.Links {
			if l.Peer == b.Peer() {
				return l.Session
			}
		}
		return 0
	}
	before := session()
	s.between("corrupt", []string{"a"}, []string{"b"})
	_, _ = s.ask(a, time.Second)
	s.answers(a, "b")
	require.NotZero(t, before)
	require.Equal(t, before, session())
}

// TestWhatIsImpossibleIsSaid checks that the faults which this level does not
// have are named, and those that make no sense.
func TestWhatIsImpossibleIsSaid(t *testing.T) {
	s := newStory(t, scenario.Link{})
	for _, do := range []string{"skew", "router", "flood"} {
		require.ErrorIs(t, s.Net.Apply(scenario.Action{Do: do, Nodes: []string{"a"}}), play.ErrUnsupported, do)
	}
	_, err := s.Net.Start(t.Context(), play.NodeSpec{Name: "a", ClusterKeys: map[string][]security.KeyVersion{"x": nil}})
	require.ErrorIs(t, err, play.ErrUnsupported)
	require.ErrorContains(t, s.Net.Apply(scenario.Action{Do: "crash", Nodes: []string{"nobody"}}), "nobody")
	require.Error(t, s.Net.Apply(scenario.Action{Do: "cut"}))
	require.Error(t, s.Net.Apply(scenario.Action{Do: "degrade", Between: [][]string{{"a"}, {"b"}}}))
}

// TestCloseLeavesNothing checks that processes, namespaces and files are gone.
func TestCloseLeavesNothing(t *testing.T) {
	s := newStory(t, scenario.Link{})
	s.start("a")
	s.apply("pause", "a") // even a process that can't listen
	life := s.places["a"].life
	require.NoError(t, s.Net.Close())
	require.False(t, life.process.alive())
	require.NoDirExists(t, s.temp)
	require.ErrorIs(t, s.Net.Apply(scenario.Action{Do: "heal"}), ErrClosed)
	_, err := s.Net.Start(t.Context(), play.NodeSpec{Name: "b", Network: s.network})
	require.ErrorIs(t, err, ErrClosed)
	require.NoError(t, s.Net.Close())
}

// TestLeftoversOfOthersAreSwept checks that the folder of a run that is gone
// goes too, and that of one that runs stays.
func TestLeftoversOfOthersAreSwept(t *testing.T) {
	dir := t.TempDir()
	gone := fmt.Sprintf("%s/%s%d-1", dir, folderPrefix, 1<<30)
	ours := fmt.Sprintf("%s/%s%d-1", dir, folderPrefix, os.Getpid())
	require.NoError(t, os.Mkdir(gone, 0o700))
	require.NoError(t, os.Mkdir(ours, 0o700))
	sweep(dir)
	require.NoDirExists(t, gone)
	require.DirExists(t, ours)
}

// small is a scenario as users write them.
const small = `
name: small
duration: 4s
settle: 3s
nodes:
  - {name: m, count: 2}
  - {name: c}
clusters:
  - {name: geo, members: m, handler: {kind: echo}}
workload:
  - {name: idem, from: c, to: geo, rate: 50, idempotent: true}
timeline:
  - {at: 1s, do: crash, nodes: m1, for: 1s}
`

// TestAScenarioPlays checks a whole run: a member is killed under load and
// comes back, and the checkers that judge every level find nothing.
func TestAScenarioPlays(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays in real time")
	}
	needs(t)
	s, err := scenario.Parse("small.yaml", []byte(small))
	require.NoError(t, err)
	s, err = s.Expand()
	require.NoError(t, err)
	n, err := New(Config{Seed: s.Seed, Binary: harness.Binary(t)})
	require.NoError(t, err)
	h, err := play.Play(t.Context(), n, s, play.Options{})
	require.NoError(t, err)
	verdict := check.Judge(h, check.LevelRules("net"))
	require.Empty(t, verdict.Violations)
	require.Greater(t, len(h.Requests), 150)
	require.Len(t, h.Nodes, 4, "three nodes, one of them twice")
}

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		harness.RemoveBinary()
		os.Exit(code)
	}))
}

// needs skips the test where this level can't run.
func needs(t *testing.T) {
	t.Helper()
	if err := Supported(); err != nil {
		t.Skip(err)
	}
}
