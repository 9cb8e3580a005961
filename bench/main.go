// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Command bench has Arke and its peers do the same work, side by side, and
// prints what each carried and what it cost. See README.md.
//
//	go run . -systems arke,nats -work 1to1-1k -rounds 3
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/arke-mesh/arke/bench/driver"
	"github.com/arke-mesh/arke/bench/system"
)

func main() {
	work := run
	if args := os.Args[1:]; len(args) > 0 && args[0] == system.ForwardCommand {
		work = func() error { return system.Forward(args[1:]) }
	}
	if err := work(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// trees collects "name=DIR" flags.
type trees map[string]string

func (t trees) String() string { return fmt.Sprint(map[string]string(t)) }

func (t trees) Set(s string) error {
	name, dir, ok := strings.Cut(s, "=")
	if !ok || name == "" || dir == "" {
		return fmt.Errorf("%q is not NAME=DIR", s)
	}
	t[name] = dir
	return nil
}

func run() error {
	var plan driver.Plan
	others := trees{}
	systems := flag.String("systems", "", "systems, separated by commas; NAME* for all that begin so (default: those of the bars)")
	work := flag.String("work", "", "workloads, likewise (default: those of the bars)")
	full := flag.Bool("full", false, "every system on every workload that it can do")
	list := flag.Bool("list", false, "list systems and workloads, and run nothing")
	flag.IntVar(&plan.Rounds, "rounds", 5, "how often each is run")
	flag.DurationVar(&plan.Times.Span, "span", 1500*time.Millisecond, "how long each run is measured")
	flag.DurationVar(&plan.Times.Warm, "warm", 500*time.Millisecond, "how long each run is under way before")
	flag.Float64Var(&plan.Quiet, "quiet", 0.05, "share of the machine that others may use beside a run, or it is run again")
	flag.IntVar(&plan.Again, "again", 1, "how often a run is made again")
	flag.Var(others, "arke", "`NAME=DIR`: another tree of Arke; its systems are called arke@NAME and so on; may be repeated")
	out := flag.String("out", "", "directory for results.md, results.json and plots (default: only the table)")
	from := flag.String("from", "", "run nothing: report a results.json again, into -out or its tables only; of several, separated by commas, the first that has it says what a system did")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("what is %q?", flag.Arg(0))
	}
	if *list {
		driver.List(os.Stdout)
		return nil
	}
	if *from != "" {
		return again(*from, *out)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return execute(ctx, plan, choice{*systems, *work, *full}, others, *out)
}
