// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/arke-mesh/arke/internal/collector"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/tests/harness"
)

// Many clusters with one member each, spread over a few nodes.
const (
	manyClusters = 10_000
	hosts        = 5
	restBegins   = 270 * time.Second // after all members are registered: when what stands is said again
	rest         = time.Minute
)

// clusters measures what many clusters cost nodes that have nothing to do: each
// of five nodes, in a process of its own, has a member of each of 2,000 clusters,
// and anchors about three fifths of all. Garbage is collected at the pace of a relay.
//
// A lease is what an anchor holds of one member under one cluster id: each member has
// one at each of three anchors, and twice as many for half an hour around the turn of
// its epoch. What a lease costs is what all nodes take more than before there
// were members, members' own side included, by the leases that anchors hold.
func clusters(m *meter) {
	file := harness.NewNetwork(m).Key()
	var seed string
	var reports []*part
	for i := range hosts {
		p := runs(m, "clusters", file, strconv.Itoa(i), seed)
		if i == 0 {
			seed = p.line()
		}
		reports = append(reports, p)
	}
	leases, bytes := 0, 0
	for i, p := range reports {
		line := p.line()
		m.say(fmt.Sprintf("node %d", i+1), "%s", line)
		var l, b int
		_, err := fmt.Sscanf(line, "%d leases and %d bytes more than without", &l, &b)
		m.must(err)
		leases, bytes = leases+l, bytes+b
	}
	m.say("all nodes", "%.2f KB per lease", float64(bytes)/1e3/float64(leases))
}

// clustersPart is one of the nodes: it says where it is if it is the first one,
// and what it cost at the end.
func clustersPart(args []string) error {
	defer collector.Pace()()
	key, index, seed := args[0], args[1], args[2]
	file, err := security.ReadNetworkFile(key)
	if err != nil {
		return err
	}
	config := node.Config{Network: file, Listen: []string{loopback}, NoMDNS: true}
	if seed != "" {
		config.Seeds = []string{seed}
	}
	n, err := node.New(config)
	if err != nil {
		return err
	}
	defer n.Close()
	if err := n.Start(context.Background()); err != nil {
		return err
	}
	if seed == "" {
		fmt.Println(n.Status().Addrs[0])
	}
	for begin := time.Now(); n.Status().Peers < hosts-1; wait(10 * time.Millisecond) {
		if time.Since(begin) > time.Minute {
			return errors.New("the nodes don't find each other")
		}
	}
	wait(5 * time.Second)
	debug.FreeOSMemory()
	before, err := resident()
	if err != nil {
		return err
	}
	begin := time.Now()
	each(manyClusters/hosts, 64, func(i int) {
		if _, e := n.Serve(context.Background(), fmt.Sprintf("cluster-%s-%d", index, i), echo, patterns.Limits{}); e != nil {
			err = e
		}
	})
	if err != nil {
		return err
	}
	served := time.Since(begin)
	wait(restBegins)
	debug.FreeOSMemory()
	from := ownCost(new(meter)).cpu
	wait(rest)
	used := ownCost(new(meter)).cpu - from
	after, err := resident()
	if err != nil {
		return err
	}
	leases := n.Status().Anchors.Leases
	fmt.Printf("%d leases and %d bytes more than without; served in %v; at rest %.2f %% of a core\n",
		leases, after-before, served.Round(time.Millisecond), 100*float64(used)/float64(rest))
	select {} // the others are measured still
}

// resident is the resident memory of this process in bytes.
func resident() (int, error) {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0, err
	}
	fields := bytes.Fields(text)
	pages, err := strconv.Atoi(strings.TrimSpace(string(fields[1])))
	return pages * os.Getpagesize(), err
}
