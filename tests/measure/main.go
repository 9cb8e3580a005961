// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Command measure times what Arke promises, with real relays on loopback, and
// prints a table. It is not a test: nothing fails because a machine is slow. What
// messages cost, and how fast they are, is measured in the folder bench.
//
//	go run ./tests/measure             everything; clusters alone takes eight minutes
//	go run ./tests/measure -only kill  one measurement
//	go run ./tests/measure -only rotations -rate 1000 -tunnels 10
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/arke-mesh/arke/tests/harness"
)

// measurements in the order in which they run.
var measurements = []struct {
	name  string
	about string
	run   func(m *meter)
}{
	{"join", "start of a relay with a seed", join},
	{"register", "registration to the first request served at another node", register},
	{"kill", "SIGKILL of a relay under load", kill},
	{"stop", "SIGSTOP of a relay", stop},
	{"idle", "an idle relay in a network of three", idle},
	{"clusters", "10,000 clusters with one member each on five nodes at rest", clusters},
	{"crowd", "a node in networks of 5, 20 and 50, at rest and at work", crowd},
	{"memory", "idle tunnels and subscriptions at a relay", memory},
	{"clients", "programs beside one relay that say nothing, or hang", clients},
	{"strangers", "joins and requests beside those who hold no key", strangers},
	{"uncertified", "joins and requests beside those who hold a key, and no certificate", uncertified},
	{"flood", "ten times as much work as a member can do", flood},
	{"rotations", "requests and tunnels while keys are rotated", rotations},
	{"exclusion", "a ban, or a revocation, to the last link cut", exclusion},
}

func main() {
	part := flag.Bool("part", false, "run a part of a measurement, in a process of its own; for this program itself")
	only := flag.String("only", "", "measurements to run, separated by commas (default all)")
	var work amounts
	flag.IntVar(&work.perSecond, "rate", 5000, "requests a second while keys are rotated")
	flag.IntVar(&work.rounds, "rounds", 30, "nodes that are banned, and that are revoked")
	flag.IntVar(&work.tunnels, "tunnels", 100, "tunnels that are open while keys are rotated")
	flag.Parse()
	if *part {
		if err := runPart(flag.Args()); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
		return
	}
	status := runAll(*only, work)
	harness.RemoveBinary()
	os.Exit(status)
}

// runAll runs the measurements that only names, or all, and returns the exit
// status.
func runAll(only string, work amounts) int {
	status := 0
	for _, measurement := range measurements {
		if only != "" && !strings.Contains(","+only+",", ","+measurement.name+",") {
			continue
		}
		fmt.Printf("%s: %s\n", measurement.name, measurement.about)
		if !run(work, measurement.run) {
			status = 1
		}
	}
	return status
}

// amounts are how much work measurements make that let it be chosen.
type amounts struct {
	perSecond int // requests a second
	tunnels   int
	rounds    int // exclusions of each kind
}

// meter is what the harness needs of a test, for a program.
type meter struct {
	amounts
	cleanups []func()
	failed   bool
}

var _ harness.TB = (*meter)(nil)

// errFailed unwinds a measurement that can't go on.
var errFailed = errors.New("failed")

// run runs one measurement and cleans up after it; false if it failed.
func run(work amounts, f func(m *meter)) bool {
	m := &meter{amounts: work}
	func() {
		defer func() {
			if r := recover(); r != nil && r != errFailed {
				m.failed = true
				fmt.Fprintln(os.Stderr, r)
			}
		}()
		f(m)
	}()
	for _, c := range slices.Backward(m.cleanups) {
		c()
	}
	return !m.failed
}

func (m *meter) Helper()                 {}
func (m *meter) Failed() bool            { return m.failed }
func (m *meter) Cleanup(f func())        { m.cleanups = append(m.cleanups, f) }
func (m *meter) Logf(f string, a ...any) { fmt.Fprintf(os.Stderr, f+"\n", a...) }

func (m *meter) Errorf(f string, a ...any) {
	m.failed = true
	m.Logf(f, a...)
}

func (m *meter) Skipf(f string, a ...any) {
	m.Logf("skipped: "+f, a...)
	panic(errFailed)
}

func (m *meter) Fatalf(f string, a ...any) {
	m.failed = true
	m.Logf(f, a...)
	panic(errFailed)
}

func (m *meter) must(err error) {
	if err != nil {
		m.Fatalf("%v", err)
	}
}

// say prints one line of the table.
func (m *meter) say(what string, format string, args ...any) {
	fmt.Printf("  %-52s %s\n", what, fmt.Sprintf(format, args...))
}

// times prints the distribution of a few durations.
func (m *meter) times(what string, ds []time.Duration) {
	if len(ds) == 0 {
		m.say(what, "none")
		return
	}
	slices.Sort(ds)
	at := func(q float64) time.Duration { return ds[min(int(q*float64(len(ds))), len(ds)-1)] }
	unit := time.Millisecond / 10
	if at(0.5) < time.Millisecond {
		unit = time.Microsecond / 10
	}
	m.say(what, "p50 %s  p99 %s  max %s  (n = %d)", at(0.5).Round(unit), at(0.99).Round(unit), ds[len(ds)-1].Round(unit), len(ds))
}
