// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

// drillFaults is the table: docs/faults.md is made from it.
func drillFaults() []fault {
	return []fault{
		{
			name:  "dead seed",
			story: "Nobody listens at the address of the only seed.",
			plays: func(s *stage) {
				dead := s.lan.Machine()
				s.strike()
				s.relay("a", harness.Flags("--seed", dead.At(harness.MachinePort)))
			},
			signs: []sign{
				{"a", onLog, "WARN overlay a seed can't be reached … 10.88.0.1:7400 … connection refused: nobody listens there", 6 * time.Second},
				{"a", onStatus, "seed … 10.88.0.1:7400 failing … connection refused: nobody listens there", 6 * time.Second},
				{"a", onFields, "seeds.state: failing", 6 * time.Second},
				{"a", onDoctor, "problem seed 10.88.0.1:7400: … nobody listens there; to do: start the relay there", 6 * time.Second},
				{"a", onReady, "503 no seed could be joined yet", 6 * time.Second},
				{"a", onMetrics, `arke_seeds{state="failing"} 1`, 6 * time.Second},
			},
			todo: "Start the relay there, open its port in the firewall, or correct `--seed`.",
		},
		{
			name:  "name that does not resolve",
			story: "The name of the seed is not known to the resolver.",
			plays: func(s *stage) {
				m := s.lan.Machine()
				m.Replaces("/etc/nsswitch.conf", s.file("nsswitch.conf", "hosts: files\n"))
				s.strike()
				s.relayOn(m, "a", harness.Flags("--seed", "relay-1.example:7400"))
			},
			signs: []sign{
				{"a", onLog, "WARN overlay a seed can't be reached … the name relay-1.example does not resolve: no such host", 6 * time.Second},
				{"a", onStatus, "seed … relay-1.example:7400 failing … does not resolve", 6 * time.Second},
				{"a", onFields, "seeds.error: the name relay-1.example does not resolve: no such host", 6 * time.Second},
				{"a", onDoctor, "problem seed relay-1.example:7400: the name relay-1.example does not resolve: no such host; to do: correct the name", 6 * time.Second},
				{"a", onReady, "503 no seed could be joined yet", 6 * time.Second},
				{"a", onMetrics, `arke_seeds{state="failing"} 1`, 6 * time.Second},
			},
			todo: "Correct the name in `--seed`, or the resolver of that machine.",
		},
		{
			name:  "wrong key",
			story: "The relay holds the key of another network than its seed.",
			plays: func(s *stage) {
				b := s.lan.Machine()
				s.relayOn(b, "b")
				s.net = harness.NewNetwork(s)
				s.strike()
				s.relay("a", harness.Flags("--seed", b.At(harness.MachinePort)))
			},
			signs: []sign{
				{"a", onLog, "WARN overlay a seed can't be reached … closed without a word: another network key, or not Arke", 6 * time.Second},
				{"b", onLog, "does not hold a key of this network", 3 * time.Second},
				{"a", onStatus, "seed … failing … another network key, or not Arke", 6 * time.Second},
				{"a", onFields, "seeds.error: … another network key", 6 * time.Second},
				{"a", onDoctor, "problem admission by 10.88.0.1:7400: … another network key, or not Arke; to do: compare the network files", 6 * time.Second},
				{"a", onReady, "503 no seed could be joined yet", 6 * time.Second},
				{"a", onMetrics, `arke_dropped_total{layer="p2p",reason="closed_in_silence"} `, 6 * time.Second},
				{"b", onMetrics, `arke_dropped_total{layer="p2p",reason="stranger"} `, 6 * time.Second},
				{"b", onReady, "200 ok", 6 * time.Second},
			},
			todo: "Compare the network files: `arke status` shows the id of each. The log of the other side says who knocks.",
		},
		// Epochs are hours long and overlap by 15 minutes: 20 minutes do no harm yet, most
		// of the time.
		clockFault("clock 20 min off", 20*time.Minute, sign{"c", onReady, "200 ok", 5 * time.Second}),
		clockFault("clock 8 h off", -8*time.Hour,
			sign{"c", onCall, "exit status 0: hello", 5 * time.Second}), // it reckons with its peers' time
		{
			name:  "taken port",
			story: "Another program has port 7400. Relay a did not ask for a port; relay b did.",
			plays: func(s *stage) {
				m := s.lan.Machine()
				s.relayOn(m, "first")
				s.strike()
				s.relayOn(m, "a", harness.Unasked())
				b := s.net.Prepared("b", harness.On(m))
				s.relays["b"] = b
				b.Launch()
			},
			signs: []sign{
				{"a", onLog, "WARN port 7400 is taken, so this relay listens on another one", 3 * time.Second},
				{"b", onLog, "address already in use", 3 * time.Second},
				{"b", onExit, "1", 5 * time.Second},
				{"b", onDoctor, "problem port: /ip4/0.0.0.0/tcp/7400 is taken; to do: end the program that has it", 8 * time.Second},
				{"a", onStatus, "address /ip4/10.88.0.1/tcp/7401", 3 * time.Second},
				{"a", onFields, "addrs: /ip4/10.88.0.1/tcp/7401", 3 * time.Second},
				{"a", onReady, "200 ok", 3 * time.Second},
				{"a", onMetrics, "arke_ready 1", 3 * time.Second},
			},
			todo: "End the program that has the port, or choose another one with `--listen`.",
		},
		{
			name:  "full disk",
			story: "The disk with the data directory of relay a gets full while it runs; then a finds a peer that it should remember.",
			plays: func(s *stage) {
				m := s.lan.Machine()
				a := s.net.Prepared("a", harness.On(m), harness.Remembering())
				m.SmallDisk(harness.DataDirOf(a), 64)
				a = s.relayOn(m, "a", harness.Remembering())
				s.fill(harness.Inner(a, harness.DataDirOf(a)))
				s.strike()
				b := s.relay("b", harness.Flags("--seed", m.At(harness.MachinePort)))
				b.Serves("echo", "--echo")
				a.Sees(1, "echo")
			},
			signs: []sign{
				{"a", onLog, "WARN overlay the data directory can't be written … no space left on device", 8 * time.Second},
				{"a", onStatus, "data … can't be written: … no space left on device", 8 * time.Second},
				{"a", onFields, "data.error: … no space left on device", 8 * time.Second},
				{"a", onDoctor, "problem data directory: the relay can't write … no space left on device; to do: make room", 8 * time.Second},
				{"a", onReady, "200 ok", 8 * time.Second},
				{"a", onMetrics, "arke_data_failing 1", 8 * time.Second},
			},
			todo: "Make room on that disk. The relay goes on meanwhile, and tries again every 10 s.",
			mends: func(s *stage) {
				a := s.relays["a"]
				require.NoError(s, os.Remove(filepath.Join(harness.Inner(a, harness.DataDirOf(a)), "filler")))
			},
			after: []sign{
				{"a", onLog, "INFO overlay the data directory is written again", 12 * time.Second},
				{"a", onMetrics, "arke_data_failing 0", 12 * time.Second},
			},
		},
		{
			name:  "lost peer",
			story: "The process of relay b is killed, with the only member of cluster echo.",
			plays: func(s *stage) {
				a, b := s.pair()
				b.Serves("echo", "--echo")
				a.Sees(1, "echo")
				a.Requests("echo", "hello").Gets("hello")
				s.strike()
				b.Kill()
			},
			signs: []sign{
				{"a", onLog, "INFO overlay peer lost … its process is gone", 3 * time.Second},
				{"a", onLog, "WARN overlay no peer is left: this node is alone", 3 * time.Second},
				{"a", onStatus, "peers … none found yet", 5 * time.Second},
				{"a", onCall, "exit status 5: … this node has lost all others, and is alone", 5 * time.Second},
				{"a", onDoctor, "warning peers: the relay has found nobody", 5 * time.Second},
				{"a", onReady, "200 ok", 5 * time.Second}, // it has no seeds: it may be the first
				{"a", onMetrics, "arke_peers 0", 5 * time.Second},
			},
			todo:  "Start it again: the others find it, and the log says `peer is back`.",
			mends: func(s *stage) { s.relays["b"].Restart() },
			after: []sign{
				{"a", onLog, "INFO overlay joined the network", 5 * time.Second},
				{"a", onMetrics, "arke_peers 1", 5 * time.Second},
			},
		},
		{
			name:  "address changed",
			story: "The machine of relay b, which serves cluster echo, gets another address.",
			plays: func(s *stage) {
				a, b := s.lan.Machine(), s.lan.Machine()
				s.relayOn(a, "a")
				s.relayOn(b, "b", harness.Flags("--seed", a.At(harness.MachinePort)))
				harness.Together(s, s.relays["a"], s.relays["b"])
				s.relays["b"].Serves("echo", "--echo")
				s.relays["a"].Sees(1, "echo")
				s.relays["a"].Requests("echo", "hello").Gets("hello")
				s.strike()
				b.Moves()
			},
			signs: []sign{
				{"b", onLog, `INFO node the addresses of this node have changed … "new": ["/ip4/10.88.0.102/tcp/7400"], "gone": ["/ip4/10.88.0.2/tcp/7400"]`, 6 * time.Second},
				{"a", onMembers, "suspect", 3 * time.Second},
				{"a", onLog, `INFO overlay peer was not heard, and is back … "addr": "/ip4/10.88.0.102/tcp/`, 15 * time.Second},
				{"a", onStatus, "b (…) up … /ip4/10.88.0.102/tcp/", 15 * time.Second},
				{"b", onStatus, "address … /ip4/10.88.0.102/tcp/7400", 15 * time.Second},
				{"a", onCall, "exit status 0: hello", 15 * time.Second},
				{"b", onDoctor, "ok admission by 10.88.0.1:7400", 15 * time.Second},
				{"b", onReady, "200 ok", 15 * time.Second},
				{"a", onMetrics, `arke_links{state="up"} 1`, 15 * time.Second},
			},
			todo: "Nothing, if seeds and `--advertise` name the machine by a name. Otherwise correct them.",
		},
		{
			name:  "full queue",
			story: "The member of cluster slow at relay b has one handler and a queue of two, and is pushed more.",
			plays: func(s *stage) {
				a, b := s.pair()
				b.Serves("slow", "--exec", "sleep 60", "--concurrency", "1", "--queue", "2")
				a.Sees(1, "slow")
				s.strike()
				for range 9 { // one runs, two wait, six are refused
					a.Asks("slow", "work", "--timeout", "20s")
				}
			},
			signs: []sign{
				{"b", onLog, `WARN node a limit is reached {"limit": "request.queue_length", "times": … Refused: the member's queue has as many messages as it may`, 6 * time.Second},
				{"b", onStatus, "request.queue_length 6", 6 * time.Second},
				{"b", onFields, "drops.request.queue_length: 6", 6 * time.Second},
				{"b", onDoctor, "warning drops: since the start: request.queue_length 6", 6 * time.Second},
				{"b", onReady, "200 ok", 6 * time.Second},
				{"b", onMetrics, `arke_dropped_total{layer="request",reason="queue_length"} 6`, 6 * time.Second},
				{"b", onMetrics, `arke_members_waiting{cluster="slow",kind="service"} 2`, 6 * time.Second},
			},
			todo: "Add members, or give the member more concurrency or a longer queue.",
		},
		{
			name:  "hung member",
			story: "The program that serves cluster echo at relay b is stopped (SIGSTOP).",
			plays: func(s *stage) {
				a, b := s.pair()
				s.member = b.Serves("echo", "--echo")
				a.Sees(1, "echo")
				a.Requests("echo", "hello").Gets("hello")
				s.strike()
				s.member.Pause()
			},
			signs: []sign{
				{"a", onMembers, "suspect", 3 * time.Second},
				{"b", onLog, `WARN relay a client hangs: callers ask other members … {"client": "arke serve", "members": 1}`, 8 * time.Second},
				{"b", onStatus, "arke serve (hangs)", 8 * time.Second},
				{"b", onFields, "relay.clients.silent: true", 8 * time.Second},
				{"b", onDoctor, "warning programs: attached, and hanging: arke serve; to do: look at what they do", 8 * time.Second},
				{"b", onMetrics, "arke_relay_clients_silent 1", 8 * time.Second},
				{"b", onReady, "200 ok", 8 * time.Second},
			},
			todo:  "Look at the program with its own logs or a debugger, and start it again.",
			mends: func(s *stage) { s.member.Continue() },
			after: []sign{
				{"a", onCall, "exit status 0: hello", 5 * time.Second},
				{"b", onLog, "INFO relay a client that hung is heard again", 8 * time.Second},
				{"b", onMetrics, "arke_relay_clients_silent 0", 8 * time.Second},
			},
		},
	}
}

// clockFault is a relay on a machine whose wall clock is off by so much.
func clockFault(name string, by time.Duration, calls sign) fault {
	return fault{
		name:  name,
		story: fmt.Sprintf("The wall clock of the machine of relay c is off by %s; those of a and b are right.", by),
		plays: func(s *stage) {
			a, b := s.pair()
			b.Serves("echo", "--echo")
			a.Sees(1, "echo")
			a.Requests("echo", "hello").Gets("hello")
			s.strike()
			s.relay("c", harness.ClockOff(s.T, by), harness.Flags("--seed", "10.88.0.1:7400", "--seed", "10.88.0.2:7400"))
			s.relays["c"].Requests("echo", "hello", "--timeout", "3s")
		},
		signs: append([]sign{
			{"c", onLog, "WARN overlay the clock of this node differs from its peers': … set the clock right", 5 * time.Second},
			{"a", onLog, `WARN overlay the clocks of this node and a peer differ by more than epochs allow … "c (`, 5 * time.Second},
			{"b", onLog, `WARN overlay the clocks of this node and a peer differ by more than epochs allow … "c (`, 5 * time.Second},
			{"c", onStatus, "clock … this node's clock is wrong: it differs by " + by.Abs().String() + " from 2 of 2 peers", 5 * time.Second},
			{"a", onStatus, "clock of c (…): " + by.String() + " ahead", 5 * time.Second},
			{"c", onFields, "clock.state: wrong", 5 * time.Second},
			{"c", onDoctor, "problem clock: this node's clock is wrong … to do: set the clock right, by NTP", 5 * time.Second},
			{"c", onMetrics, "arke_clock_wrong 1", 5 * time.Second},
			{"a", onMetrics, "arke_clock_wrong 0", 5 * time.Second},
		}, calls),
		todo: "Set the clock right, by NTP. Nothing has to be started again.",
	}
}

// pair is two relays that know each other: b has a as its seed.
func (s *stage) pair() (a, b *harness.Relay) {
	s.Helper()
	a = s.relay("a")
	b = s.relay("b", harness.Flags("--seed", "10.88.0.1:7400"))
	harness.Together(s, a, b)
	return a, b
}

// file writes one for as long as the test lives.
func (s *stage) file(name, text string) string {
	s.Helper()
	path := filepath.Join(harness.Folder(s), name)
	write(s.T, path, text)
	return path
}

// fill takes all the room of a disk.
func (s *stage) fill(folder string) {
	s.Helper()
	f, err := os.Create(filepath.Join(folder, "filler"))
	require.NoError(s, err)
	defer f.Close()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if pe, ok := err.(*os.PathError); !ok || pe.Err != syscall.ENOSPC {
		s.Fatal(err)
	}
}
