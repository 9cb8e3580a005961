// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Command score builds the program that has the hand-made bugs, and measures
// which of them the shipped scenarios catch; see package mutation.
//
//	go run ./sim/mutation/score -program bin/arke-mutants -bugs handled-twice
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/arke-mesh/arke/sim/mutation"
	"github.com/arke-mesh/arke/sim/scenarios"
)

func main() {
	program := flag.String("program", "bin/arke-mutants", "where the program with the bugs is built")
	seeds := flag.Int("seeds", 5, "seeds to try for each bug and scenario")
	parallel := flag.Int("parallel", 2, "runs at a time")
	bugs := flag.String("bugs", "", "only these, separated by commas")
	only := flag.String("scenarios", "", "only these, separated by commas")
	table := flag.String("table", "", "write the table into this file as well; who caught a bug in the one that is there is tried first")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	h := mutation.Hunt{
		Scenarios: scenarios.Names(), Seeds: *seeds, Parallel: *parallel,
		Note: func(text string) { fmt.Fprintln(os.Stderr, text) },
	}
	if err := score(ctx, h, *program, *bugs, *only, *table); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// score fails if a bug gets away.
func score(ctx context.Context, h mutation.Hunt, program, bugs, only, table string) error {
	all, err := mutation.Bugs()
	if err != nil {
		return err
	}
	h.Bugs = all
	if bugs != "" {
		h.Bugs = nil
		for name := range strings.SplitSeq(bugs, ",") {
			b, err := mutation.Find(all, name)
			if err != nil {
				return err
			}
			h.Bugs = append(h.Bugs, b)
		}
	}
	if only != "" {
		h.Scenarios = strings.Split(only, ",")
	}
	path, err := filepath.Abs(program)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "arke-mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := mutation.Build(ctx, ".", path, all); err != nil {
		return err
	}
	h.Run = mutation.Program{Path: path, Dir: dir}.Run
	if last, err := os.ReadFile(table); err == nil {
		h.First = mutation.ReadTable(string(last))
	}
	catches, err := h.Score(ctx)
	if err != nil {
		return err
	}
	return write(catches, h.Seeds, table)
}

func write(catches []mutation.Catch, seeds int, table string) error {
	var text strings.Builder
	if err := mutation.WriteTable(&text, catches, seeds); err != nil {
		return err
	}
	if _, err := io.WriteString(os.Stdout, text.String()); err != nil {
		return err
	}
	if table != "" {
		if err := os.WriteFile(table, []byte(text.String()), 0o644); err != nil {
			return err
		}
	}
	if all, caught, _ := mutation.Share(catches); caught < all {
		return fmt.Errorf("%d bugs were not caught", all-caught)
	}
	return nil
}
