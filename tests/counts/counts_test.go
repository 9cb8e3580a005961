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
	body  = 1 << 10 // bytes of a message that is not long
	long  = 64 << 10
	tries = 3  // of which the cheapest counts: other processes only add
	most  = 12 // tries where the machine is busy: what the code costs is in each of them
)

// work is how often something is done by whom.
type work struct {
	front, back string // what the programs are called
	relays      int    // between them: one that both use, or one beside each
	ready       string // what the program at the back is ordered first
	order       string // what the one at the front does each time
	batch       int    // how many of them at once; what a queue has room for
	batches     int
	streams     bool // the back is to have got all of a batch before the next
	size        int  // of a message, in bytes
}

var works = map[string]work{
	"topic, embedded":                {"publisher", "subscriber", 0, "subscribe", "publish %d", 3000, 5, true, body},
	"topic, one relay":               {"publisher", "subscriber", 1, "subscribe", "publish %d", 3000, 4, true, body},
	"topic, two relays":              {"publisher", "subscriber", 2, "subscribe", "publish %d", 3000, 4, true, body},
	"topic of 64 KiB, two relays":    {"publisher", "subscriber", 2, "subscribe", fmt.Sprintf("publish %%d %d", long), 100, 10, true, long},
	"tunnel, embedded":               {"sender", "receiver", 0, "serve", "send %d", 3000, 5, true, body},
	"request, embedded":              {"caller", "member", 0, "serve", "request %d 1", 2000, 1, false, body},
	"64 requests at once, embedded":  {"caller", "member", 0, "serve", "request %d 64", 5000, 1, false, body},
	"request, two relays":            {"caller", "member", 2, "serve", "request %d 1", 1000, 1, false, body},
	"8 requests at once, two relays": {"caller", "member", 2, "serve", "request %d 8", 4000, 1, false, body},
}

func TestMessagesCostNoMoreThanTheirBounds(t *testing.T) {
	// This test checks that no process that a message passes allocates, calls,
	// wakes, runs goroutines or sends more for it than the table of bounds allows.
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
		wakes: min(c.wakes, d.wakes), runs: min(c.runs, d.runs),
		frames: min(c.frames, d.frames), overhead: min(c.overhead, d.overhead),
		memory: min(c.memory, d.memory),
	}
}

// within says whether no cost is beyond its bound.
func within(costs, bounds map[string]cost) bool {
	for role, c := range costs {
		for _, each := range c.beside(bounds[role]) {
			if each.beyond() {
				return false
			}
		}
	}
	return true
}

// held is one count beside its bound.
type held struct {
	name, what   string
	count, bound float64
}

// beside pairs the counts that are held with their bounds.
func (c cost) beside(bound cost) []held {
	all := []held{
		{"allocations", "heap allocations", c.allocations, bound.allocations},
		{"calls", "system calls that read or write", c.calls, bound.calls},
		{"frames", "frames to other nodes", c.frames, bound.frames},
		{"overhead", "bytes of frames beside the body", c.overhead, bound.overhead},
	}
	if bound.memory > 0 {
		all = append(all, held{"memory", "bytes of the heap", c.memory, bound.memory})
	}
	if bound.runs > 0 {
		all = append(all, held{"runs", "runs of goroutines", c.runs, bound.runs})
	}
	if bound.runs == 0 || bound.wakes > 0 {
		all = append(all, held{"wakes", "wake-ups", c.wakes, bound.wakes})
	}
	return all
}

func (h held) beyond() bool { return h.count > h.bound }

// hold compares with the bound, and says both.
func (c cost) hold(t *testing.T, role string, bound cost) {
	t.Helper()
	line := fmt.Sprintf("%-10s", role)
	for _, each := range c.beside(bound) {
		line += fmt.Sprintf("  %s %7.3f ≤ %-5g", each.name, each.count, each.bound)
		if each.beyond() {
			t.Errorf("%s: %.3f %s a message, the bound is %g", role, each.count, each.what, each.bound)
		}
	}
	t.Log(line)
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
			runs:        float64(now.Runs-was.Runs) / n,
			frames:      float64(now.Frames-was.Frames) / n,
			overhead:    float64(now.Bytes-was.Bytes) / n,
			memory:      float64(now.Memory-was.Memory) / n,
		}
		if size := float64(w.size); c.overhead > size { // it sends the bodies, and does not only acknowledge
			c.overhead -= size
		}
		costs[role] = c
	}
	return costs
}

// counters is what a probe says.
type counters struct{ Allocations, Memory, Calls, Wakes, Runs, Frames, Bytes uint64 }

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
	near, far := filepath.Join(dir, "near"), filepath.Join(dir, "far")
	switch w.relays {
	case 1:
		processes["relay"] = launch(t, program, key, "relay", near)
		processes[w.back] = launch(t, program, key, "client", near)
		processes[w.front] = launch(t, program, key, "client", near)
	case 2:
		processes["far relay"] = launch(t, program, key, "relay", far)
		processes["near relay"] = launch(t, program, key, "relay", near, processes["far relay"].said)
		processes[w.back] = launch(t, program, key, "client", far)
		processes[w.front] = launch(t, program, key, "client", near)
	default:
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
