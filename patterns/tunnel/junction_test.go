// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/credit"
)

func TestWhatPassesAJunction(t *testing.T) {
	// This test plays scripts of what two sides say, and looks at what is passed
	// on, what each is told of credit, and when it is over. A line is an event and
	// what comes of it; c is the client's side, n the node's.
	for name, script := range map[string][]string{
		"nothing before the answer": {
			"c data 100: kept back", "n credit 99999: kept back", "c end: kept back",
		},
		"of a member that is the client's, what overtakes its answer": {
			"serve c 65536", "c data 100: passed", "c credit 70000: kept back", "n data 100: kept back", "n end: kept back",
			"c end: passed", "c data 1: data behind the end",
			"join n 65536", "n data 100: passed", "n end: passed", "c left 164: over",
		},
		"credit is end to end": {
			"join c 65536", "join n 1000",
			"c data 60000: passed", "c left 60000: nothing", // the node has given no more
			"n credit 65536: told 65536", // its first word, by which an opener says that it is there
			"n credit 95536: told 95536", "n credit 95536: kept back", "n credit 80000: kept back",
			"c credit 5000: told 5000",
		},
		"what stands in line is not given again": {
			"join c 65536", "join n 65536",
			"c data 65000: in line", "n credit 65536: told 65536", "n credit 130000: kept back",
			"c left 65000: told 130000",
		},
		"more than the credit": {"join c 1000", "c data 1001: more data than credit"},
		"good order": {
			"join c 65536", "join n 65536",
			"c data 10: passed", "c end: passed", "c data 10: data behind the end",
			"n data 10: in line", "n end: passed", "n left 64: over",
		},
		"an end in line": {
			"join c 65536", "join n 65536", "n end: passed", "c end: in line", "c left 0: over", "n data 1: kept back",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var j junction
			j.flows[0], j.flows[1] = newFlow(credit.FirstWindow, 0), newFlow(credit.FirstWindow, 0)
			for _, line := range script {
				event, want, _ := strings.Cut(line, ": ")
				require.Equal(t, want, play1(&j, strings.Fields(event), want == "in line"), line)
			}
		})
	}
}

// play1 plays one event and returns what comes of it.
func play1(j *junction, f []string, inLine bool) string {
	which, n := map[string]int{"c": clientSide, "n": nodeSide}, 0
	if len(f) > 2 {
		fmt.Sscan(f[2], &n)
	}
	said := func(pass bool) string {
		switch {
		case pass && inLine:
			j.inLine++
			return "in line"
		case pass:
			return "passed"
		}
		return "kept back"
	}
	told := func(tell bool, which int) string {
		if tell {
			return fmt.Sprint("told ", j.flows[which].window.Total())
		}
		return "kept back"
	}
	if f[0] == "join" || f[0] == "serve" {
		j.join(which[f[1]], uint64(n))
		if f[0] == "serve" {
			j.joined, j.served = false, true
		}
		return ""
	}
	side := which[f[0]]
	switch f[1] {
	case "data":
		pass, err := j.came(side, n)
		if err != nil {
			return err.Error()
		}
		return said(pass)
	case "end":
		return said(j.ended(side))
	case "credit":
		return told(j.granted(side, uint64(n)), 1-side)
	}
	j.inLine = max(0, j.inLine-1) // left
	j.left(side, n)
	tell := j.grant(side)
	switch {
	case j.settle():
		return "over"
	case tell:
		return told(true, side)
	}
	return "nothing"
}
