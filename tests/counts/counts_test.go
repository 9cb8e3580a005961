// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package counts

import (
	"bufio"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/security"
)

const (
	body  = 1 << 10 // bytes of a message
	tries = 3       // of which the cheapest counts: other processes only add
	most  = 12      // tries where the machine is busy: what the code costs is in each of them
)

// work is how often something is done by whom.
type work struct {
	front, back string // what the programs are called
	relays      bool
	ready       string // what the program at the back is ordered first
	order       string // what the one at the front does each time
	batch       int    // how many of them at once; what a queue has room for
	batches     int
	streams     bool // the back is to have got all of a batch before the next
}

var works = map[string]work{
	"topic, embedded":                {"publisher", "subscriber", false, "subscribe", "publish %d", 3000, 5, true},
	"topic, two relays":              {"publisher", "subscriber", true, "subscribe", "publish %d", 3000, 4, true},
	"tunnel, embedded":               {"sender", "receiver", false, "serve", "send %d", 3000, 5, true},
	"request, embedded":              {"caller", "member", false, "serve", "request %d 1", 2000, 1, false},
	"64 requests at once, embedded":  {"caller", "member", false, "serve", "request %d 64", 5000, 1, false},
	"request, two relays":            {"caller", "member", true, "serve", "request %d 1", 1000, 1, false},
	"8 requests at once, two relays": {"caller", "member", true, "serve", "request %d 8", 4000, 1, false},
}

func TestMessagesCostNoMoreThanTheirBounds(t *testing.T) {
	// This test checks that no process that a message passes allocates, calls,
	// wakes or sends more for it than the table of bounds allows.
	if testing.Short() {
		t.Skip("it starts processes")
	}
	program := build(t)
	for _, name := range slices.Sorted(maps.Keys(works)) {
		t.Run(name, func(t *testing.T) {
			w := works[name]
			processes := start(t, program, w)
			w.do(t, processes, w.batch) // connects, and fills pools
			best := map[string]cost{}
			for try := 0; try < tries || try < most && !within(best, bounds[name]); try++ {
				for role, c := range w.measure(t, processes) {
					best[role] = best[role].least(c)
				}
			}
			for _, role := range slices.Sorted(maps.Keys(best)) {
				best[role].hold(t, role, bounds[name][role])
			}
		})
	}
}

// least takes the smaller of each count; the zero cost is none yet.
func (c cost) least(d cost) cost {
	if c == (cost{}) {
		return d
	}
	return cost{
		allocations: min(c.allocations, d.allocations), calls: min(c.calls, d.calls),
		wakes: min(c.wakes, d.wakes), overhead: min(c.overhead, d.overhead),
	}
}

// within says whether no cost is beyond its bound.
func within(costs, bounds map[string]cost) bool {
	for role, c := range costs {
		if bound := bounds[role]; c.least(bound) != c {
			return false
		}
	}
	return true
}

// hold compares with the bound, and says both.
func (c cost) hold(t *testing.T, role string, bound cost) {
	t.Helper()
	t.Logf("%-10s allocations %6.2f ≤ %-5g  calls %7.3f ≤ %-5g  wakes %7.3f ≤ %-5g  overhead %6.1f ≤ %-5g", role,
		c.allocations, bound.allocations, c.calls, bound.calls, c.wakes, bound.wakes, c.overhead, bound.overhead)
	for _, pair := range []struct {
		what         string
		count, bound float64
	}{
		{"heap allocations", c.allocations, bound.allocations},
		{"system calls that read or write", c.calls, bound.calls},
		{"wake-ups", c.wakes, bound.wakes},
		{"bytes of frames beside the body", c.overhead, bound.overhead},
	} {
		if pair.count > pair.bound {
			t.Errorf("%s: %.3f %s a message, the bound is %g", role, pair.count, pair.what, pair.bound)
		}
	}
}

// do has the front do n of the work, in one batch.
func (w work) do(t *testing.T, processes map[string]*process, n int) {
	t.Helper()
	processes[w.front].order(t, fmt.Sprintf(w.order, n))
	if w.streams {
		back := processes[w.back]
		back.expected += n
		back.order(t, fmt.Sprintf("await %d", back.expected))
	}
}

// measure returns what a message costs each process.
func (w work) measure(t *testing.T, processes map[string]*process) map[string]cost {
	t.Helper()
	before := map[string]counters{}
	for role, p := range processes {
		before[role] = p.count(t)
	}
	for range w.batches {
		w.do(t, processes, w.batch)
	}
	costs := map[string]cost{}
	n := float64(w.batch * w.batches)
	for role, p := range processes {
		now, was := p.count(t), before[role]
		c := cost{
			allocations: float64(now.Allocations-was.Allocations) / n,
			calls:       float64(now.Calls-was.Calls) / n,
			wakes:       float64(now.Wakes-was.Wakes) / n,
			overhead:    float64(now.Bytes-was.Bytes) / n,
		}
		if c.overhead > body { // it sends the bodies, and does not only acknowledge
			c.overhead -= body
		}
		costs[role] = c
	}
	return costs
}

// counters is what a probe says.
type counters struct{ Allocations, Calls, Wakes, Bytes uint64 }

// build builds the probe without the race detector.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "probe")
	out, err := exec.Command("go", "build", "-o", program, "./probe").CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// start starts the processes of a work, by their roles.
func start(t *testing.T, program string, w work) map[string]*process {
	t.Helper()
	dir, err := os.MkdirTemp("", "counts") // short, for the names of sockets
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	key := filepath.Join(dir, "key")
	network, err := security.GenerateNetworkFile("counts", rand.Reader)
	require.NoError(t, err)
	require.NoError(t, security.WriteNetworkFile(key, network))

	processes := map[string]*process{}
	if w.relays {
		near, far := filepath.Join(dir, "near"), filepath.Join(dir, "far")
		processes["far relay"] = launch(t, program, key, "relay", far)
		processes["near relay"] = launch(t, program, key, "relay", near, processes["far relay"].said)
		processes[w.back] = launch(t, program, key, "client", far)
		processes[w.front] = launch(t, program, key, "client", near)
	} else {
		processes[w.back] = launch(t, program, key, "node")
		processes[w.front] = launch(t, program, key, "node", processes[w.back].said)
	}
	processes[w.back].order(t, w.ready)
	return processes
}

// process is a probe.
type process struct {
	in       io.WriteCloser
	out      *bufio.Scanner
	said     string // first
	expected int    // messages, since the start
}

func launch(t *testing.T, argv ...string) *process {
	t.Helper()
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	p := &process{in: in, out: bufio.NewScanner(out)}
	t.Cleanup(func() {
		in.Close()
		_ = cmd.Wait()
	})
	p.said = p.hear(t)
	return p
}

func (p *process) hear(t *testing.T) string {
	t.Helper()
	require.True(t, p.out.Scan(), "the probe has ended")
	return p.out.Text()
}

func (p *process) order(t *testing.T, order string) string {
	t.Helper()
	_, err := fmt.Fprintln(p.in, order)
	require.NoError(t, err)
	return p.hear(t)
}

func (p *process) count(t *testing.T) (c counters) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(p.order(t, "count")), &c))
	return c
}
