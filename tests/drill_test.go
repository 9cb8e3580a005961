// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/arke-mesh/arke/tests/harness"
)

// fault is one thing that goes wrong, and where it is said. The table of them is in
// drillFaults.
type fault struct {
	name  string
	story string         // what happens, for people
	plays func(s *stage) // makes a network, and then the fault
	signs []sign
	todo  string         // what whoever sees that should do
	mends func(s *stage) // takes the fault away; nil = what comes then is not looked at
	after []sign         // what is said then
}

// sign is one place where a fault is seen.
type sign struct {
	at     string        // relay
	on     surface       // where one looks there
	says   string        // what it says, in one line; "…" stands for anything
	within time.Duration // from the fault on
}

// surface is where one looks at a relay.
type surface string

// The surfaces. onFields is `arke status --json`, "field.of.field: value".
const (
	onLog     surface = "log"
	onStatus  surface = "arke status"
	onFields  surface = "arke status --json"
	onDoctor  surface = "arke doctor"
	onReady   surface = "/readyz"
	onMetrics surface = "/metrics"
	onCall    surface = "arke request" // of cluster echo
	onMembers surface = "arke members" // the same
	onExit    surface = "exit status"
)

// drillSlack is what a loaded machine may add to each time: tests share two cores, and
// the race detector makes all of it slower.
const drillSlack = 5 * time.Second

// stage is where one fault is played.
type stage struct {
	*testing.T
	lan    *harness.LAN
	net    *harness.Network
	relays map[string]*harness.Relay
	struck time.Time
	seen   map[string]int // bytes of each log that were there before
	member *harness.Process
}

// relay starts one on a machine of its own.
func (s *stage) relay(name string, options ...harness.RelayOption) *harness.Relay {
	s.Helper()
	return s.relayOn(s.lan.Machine(), name, options...)
}

func (s *stage) relayOn(m *harness.Machine, name string, options ...harness.RelayOption) *harness.Relay {
	s.Helper()
	r := s.net.Relay(name, append([]harness.RelayOption{harness.On(m)}, options...)...)
	s.relays[name] = r
	return r
}

// strike is called when the fault begins, or ends.
func (s *stage) strike() {
	s.seen = map[string]int{}
	for name, r := range s.relays {
		s.seen[name] = len(r.Log())
	}
	s.struck = time.Now()
}

// TestEachFaultIsSaid plays each fault of the table with real relays on machines of
// their own, and checks that it is said in time, where the table says so.
func TestEachFaultIsSaid(t *testing.T) {
	alone(t)
	harness.Binary(t) // no fault waits for the compiler
	harness.BinaryWithClock(t)
	var mu sync.Mutex
	rows := map[string]string{}
	for _, f := range drillFaults() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := &stage{T: t, lan: harness.NewLAN(t), net: harness.NewNetwork(t), relays: map[string]*harness.Relay{}}
			f.plays(s)
			text := s.expect(f.name, f.signs)
			if f.mends != nil {
				s.strike()
				f.mends(s)
				text += s.expect(f.name+", mended", f.after)
			}
			mu.Lock()
			defer mu.Unlock()
			rows[f.name] = text
		})
	}
	t.Cleanup(func() {
		text := "\n| fault | at | where | said after | what |\n|---|---|---|---|---|\n"
		for _, f := range drillFaults() {
			text += rows[f.name]
		}
		t.Log(text)
	})
}

// expect waits for all signs, and returns a table of when each came. Logs are read
// beside the others: each other look costs time.
func (s *stage) expect(name string, signs []sign) (rows string) {
	s.Helper()
	came := make([]string, len(signs))
	look := func(pause time.Duration, of func(sign) bool) {
		for waiting := true; waiting; {
			waiting = false
			for i, g := range signs {
				if !of(g) || came[i] != "" {
					continue
				}
				text, err := s.find(g)
				after := time.Since(s.struck)
				switch {
				case err == nil:
					came[i] = fmt.Sprintf("| %s | %s | %s | %.1f s | %s |\n", name, g.at, g.on, after.Seconds(), strings.ReplaceAll(text, "|", `\|`))
				case after < g.within+drillSlack:
					waiting = true
				default:
					came[i] = fmt.Sprintf("| %s | %s | %s | never | %s |\n", name, g.at, g.on, g.says)
					s.Errorf("%s: %s at %s does not say %q within %s: %v", name, g.on, g.at, g.says, g.within, err)
				}
			}
			time.Sleep(pause)
		}
	}
	var logs sync.WaitGroup
	logs.Go(func() { look(harness.Look, func(g sign) bool { return g.on == onLog }) })
	look(10*harness.Look, func(g sign) bool { return g.on != onLog })
	logs.Wait()
	return strings.Join(came, "")
}

// find looks once, and returns the line that has the sign.
func (s *stage) find(g sign) (string, error) {
	s.Helper()
	r := s.relays[g.at]
	var text string
	switch g.on {
	case onLog:
		text = strings.Join(logged(strings.TrimPrefix(r.Log()[s.seen[g.at]:], "\n")), "\n")
	case onStatus:
		text = r.Does("status").Stdout
	case onFields:
		fields, err := flat(r.Does("status", "--json").Stdout)
		if err != nil {
			return "", err
		}
		text = strings.Join(fields, "\n")
	case onDoctor:
		d := harness.Doctor(r)
		text = fmt.Sprintf("%s\nexit status %d", strings.ReplaceAll(d.Stdout, "\n         to do:", "; to do:"), d.Code)
	case onReady, onMetrics:
		page, err := harness.Page(r, map[surface]string{onReady: "/readyz", onMetrics: "/metrics"}[g.on])
		if err != nil {
			return "", err
		}
		text = strings.TrimSpace(page)
	case onCall:
		d := r.Requests("echo", "hello", "--timeout", "3s")
		text = fmt.Sprintf("exit status %d: %s%s", d.Code, d.Stdout, d.Stderr)
	case onMembers:
		d := r.Does("members", "echo")
		text = fmt.Sprintf("exit status %d\n%s%s", d.Code, d.Stdout, d.Stderr)
	case onExit:
		text = fmt.Sprintf("%d", r.Wait())
	}
	saying := sayingOf(g.says)
	for line := range strings.Lines(text) {
		line = strings.Join(strings.Fields(line), " ") // tables have wide columns
		if !strings.HasPrefix(line, "#") && saying.MatchString(line) {
			return line, nil
		}
	}
	return "", fmt.Errorf("it says:\n%s", text)
}

// sayingOf matches a line that has the words.
func sayingOf(words string) *regexp.Regexp {
	parts := strings.Split(words, "…")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(strings.TrimSpace(parts[i]))
	}
	return regexp.MustCompile(strings.Join(parts, ".*"))
}

// logged are the lines of a log without their times.
func logged(log string) (lines []string) {
	for line := range strings.Lines(log) {
		line = strings.Join(strings.Fields(line), " ")
		_, line, _ = strings.Cut(line, " ") // the harness's clock
		if at, rest, found := strings.Cut(line, " "); found {
			if _, err := time.Parse(time.RFC3339, at); err == nil { // the relay's
				line = rest
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// flat writes an object as lines "field.of.field: value", as arke status --explain
// names them.
func flat(object string) (lines []string, err error) {
	var v any
	if err := json.Unmarshal([]byte(object), &v); err != nil {
		return nil, err
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for key, each := range v {
				walk(strings.TrimPrefix(path+"."+key, "."), each)
			}
		case []any:
			for _, each := range v {
				walk(path, each)
			}
		default:
			lines = append(lines, fmt.Sprintf("%s: %v", path, v))
		}
	}
	walk("", v)
	return lines, nil
}
