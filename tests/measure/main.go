// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Command measure times what Arke promises, with real relays on loopback, and
// prints a table. It is not a test: nothing fails because a machine is slow.
//
//	go run ./tests/measure             everything, about five minutes
//	go run ./tests/measure -only kill  one measurement
//
// Unlike the scenarios it also looks below the client: the round trip between
// two embedded nodes, and a bare echo over one stream of the transport, are
// measured in the same run as the one through two relays.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"

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
	{"roundtrip", "round trip of a request", roundTrip},
	{"idle", "an idle relay in a network of three", idle},
	{"tunnel", "bytes through one tunnel", tunnels},
	{"publish", "messages of topics", topics},
	{"memory", "idle tunnels and subscriptions at a relay", memory},
	{"flood", "ten times as much work as a member can do", flood},
}

func main() {
	only := flag.String("only", "", "measurements to run, separated by commas (default all)")
	flag.Parse()
	status := runAll(*only)
	harness.RemoveBinary()
	os.Exit(status)
}

// runAll runs the measurements that only names, or all, and returns the exit
// status.
func runAll(only string) int {
	status := 0
	for _, measurement := range measurements {
		if only != "" && !strings.Contains(","+only+",", ","+measurement.name+",") {
			continue
		}
		fmt.Printf("%s: %s\n", measurement.name, measurement.about)
		if !run(measurement.run) {
			status = 1
		}
	}
	return status
}
