// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package script

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// Run plays every file below dir. begin is called once a file, and what it returns for
// each step of the file: it answers with lines. No line is written as "nothing".
func Run(t *testing.T, dir string, begin func() func(Step) []string) {
	datadriven.Walk(t, dir, func(t *testing.T, path string) {
		obey := begin()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if lines := obey(Step{d, t}); len(lines) > 0 {
				return strings.Join(lines, "\n")
			}
			return "nothing"
		})
	})
}

// Step is one line of a story: a verb (Cmd), words, and values that have a key
// (key=value). What can't be read fails the test at the step's place in its file.
type Step struct {
	*datadriven.TestData
	t *testing.T
}

// T is the test of the step's file.
func (s Step) T() *testing.T { return s.t }

// Words are the arguments that have no value.
func (s Step) Words() (out []string) {
	for _, a := range s.CmdArgs {
		if len(a.Vals) == 0 {
			out = append(out, a.Key)
		}
	}
	return out
}

// Word is the word at index i.
func (s Step) Word(i int) string {
	words := s.Words()
	if i >= len(words) {
		s.Fail("word %d is missing", i+1)
	}
	return words[i]
}

// Number is the word at index i as a number.
func (s Step) Number(i int) int {
	n, err := strconv.Atoi(s.Word(i))
	if err != nil {
		s.Fail("%v", err)
	}
	return n
}

// Time is the word at index i as a duration.
func (s Step) Time(i int) time.Duration { return s.parse(s.Word(i)) }

// Values are those of key=(a, b, …), none if the key is not there.
func (s Step) Values(key string) []string {
	a, _ := s.Arg(key)
	return a.Vals
}

// NumberOf is the number that key has, otherwise if the key is not there.
func (s Step) NumberOf(key string, otherwise uint64) uint64 {
	s.MaybeScanArgs(s.t, key, &otherwise)
	return otherwise
}

// TimeOf is the duration that key has, otherwise if the key is not there.
func (s Step) TimeOf(key string, otherwise time.Duration) time.Duration {
	if v := s.Values(key); len(v) > 0 {
		return s.parse(v[0])
	}
	return otherwise
}

// Fail ends the test.
func (s Step) Fail(format string, args ...any) { s.Fatalf(s.t, format, args...) }

// Unknown ends the test, for a verb that a story must not have.
func (s Step) Unknown() []string {
	s.Fail("no such step: %s", s.Cmd)
	return nil
}

func (s Step) parse(text string) time.Duration {
	d, err := time.ParseDuration(text)
	if err != nil {
		s.Fail("%v", err)
	}
	return d
}
