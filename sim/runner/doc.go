// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package runner, an inner part of Arke that makes no promise to users, runs
// scenarios and looks into what they show: it carries out jobs, several at a
// time, keeps what failed in a file that replays, makes failures smaller, and
// finds where two runs part.
//
// It neither plays (package play) nor judges (package check), and it knows no
// command line.
//
// # The way of a job
//
//  1. Job.Prepare puts the seed in and expands the scenario, so that a file
//     that makes no sense fails here and not in a child.
//  2. Process.Run starts the program again, as `arke sim child`, and sends it
//     the job on standard input.
//  3. The child (ChildMain) plays. Levels sim and stack need a testing/synctest
//     bubble, which only a running test may make: the child is one, by way of
//     testing.Main, which ends the process; hence the child. Level net runs
//     there too, so that a crash of the player leaves nobody confused.
//  4. The child judges the history and sends progress and the outcome on a
//     pipe of its own (file 3). Whatever it prints is kept for the error text
//     only.
//  5. The child ends when its standard input does, so it never survives its
//     parent, and when nothing happens for too long: it then prints all stacks.
//
// # Above it
//
// An Executor is anything that carries out a job; Process.Run is the real one.
// All runs many of them in parallel, Repeat compares a run with its repetition,
// Shrink looks for the smallest scenario that fails in the same way.
//
// # Goroutines
//
// All starts one per job slot and waits for them; a child has a watchdog and a
// reader of standard input, both outside the bubble. Nothing is left behind.
package runner
