// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/arke-mesh/arke/internal/collector"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/tests/harness"
)

// Many clusters with one member each, spread over a few nodes.
const (
	fewClusters  = 2_000 // with so many all is there that does not grow with them
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
// its epoch. What a lease costs is what all nodes take more with 10,000 clusters than
// with 2,000, members' own side included, by the leases that anchors hold more. What a
// node takes once it has any, as the pages of code that it now uses and buffers of links,
// is not counted to leases; it is in the other figure, by all leases and against no clusters.
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
	var few, many footprint
	for i, p := range reports {
		line := p.line()
		m.say(fmt.Sprintf("node %d", i+1), "%s", line)
		var f, a footprint
		_, err := fmt.Sscanf(line, clustersSaid, &a.leases, &a.bytes, &f.leases, &f.bytes)
		m.must(err)
		few, many = few.plus(f), many.plus(a)
	}
	m.say("all nodes, from 2,000 clusters to 10,000", "%.2f KB per lease", many.perLease(few))
	m.say("all nodes, from none to 10,000", "%.2f KB per lease", many.perLease(footprint{}))
}

// clustersSaid begins what a node says of itself at the end.
const clustersSaid = "%d leases and %d bytes more than without (with few: %d and %d)"

// footprint is what nodes hold, and how many bytes more they take for it.
type footprint struct{ leases, bytes int }

func (f footprint) plus(o footprint) footprint {
	return footprint{f.leases + o.leases, f.bytes + o.bytes}
}

// perLease is how many KB each lease takes that f has and o has not.
func (f footprint) perLease(o footprint) float64 {
	return float64(f.bytes-o.bytes) / 1e3 / float64(f.leases-o.leases)
}

// clustersPart is one of the nodes: it says where it is if it is the first one,
// and what it cost at the end.
func clustersPart(args []string) error {
	defer collector.Pace()()
	key, index, seed := args[0], args[1], args[2]
	n, err := startNode(key, seed)
	if err != nil {
		return err
	}
	defer n.Close()
	if seed == "" {
		fmt.Println(n.Status().Addrs[0])
	}
	if err := meets(n, hosts-1); err != nil {
		return err
	}
	wait(5 * time.Second)
	without, _, err := atRest(n)
	if err != nil {
		return err
	}
	if _, err := serveAll(n, index, 0, fewClusters/hosts); err != nil {
		return err
	}
	wait(5 * time.Second)
	few, _, err := atRest(n)
	if err != nil {
		return err
	}
	took, err := serveAll(n, index, fewClusters/hosts, manyClusters/hosts)
	if err != nil {
		return err
	}
	wait(restBegins)
	many, used, err := atRest(n)
	if err != nil {
		return err
	}
	fmt.Printf(clustersSaid+"; %d served in %v; at rest %.2f %% of a core\n",
		many.leases, many.bytes-without.bytes, few.leases, few.bytes-without.bytes,
		(manyClusters-fewClusters)/hosts, took.Round(time.Millisecond), 100*float64(used)/float64(rest))
	select {} // the others are measured still
}

// serveAll has the node serve clusters of its own, from one number up to another.
func serveAll(n *node.Node, index string, from, to int) (took time.Duration, err error) {
	var serving errgroup.Group
	serving.SetLimit(64)
	begin := time.Now()
	for i := from + 1; i <= to; i++ {
		serving.Go(func() error {
			_, err := n.Serve(context.Background(), fmt.Sprintf("cluster-%s-%d", index, i), echo, patterns.Limits{})
			return err
		})
	}
	if err := serving.Wait(); err != nil {
		return 0, err
	}
	return time.Since(begin), nil
}

// atRest returns what the node holds, all memory that its process has after a rest, and the
// processor time that the rest took. Before it all garbage is given back, so that how long
// ago it was collected last makes no difference.
func atRest(n *node.Node) (all footprint, cpu time.Duration, err error) {
	debug.FreeOSMemory()
	from, err := used()
	if err != nil {
		return footprint{}, 0, err
	}
	wait(rest)
	until, err := used()
	if err != nil {
		return footprint{}, 0, err
	}
	bytes, err := resident()
	return footprint{n.Status().Anchors.Leases, bytes}, until.cpu - from.cpu, err
}

// cost is what a process has used.
type cost struct {
	cpu   time.Duration
	wakes int
}

// used is the cost of this process.
func used() (cost, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return cost{time.Duration(u.Utime.Nano() + u.Stime.Nano()), int(u.Nvcsw)}, err
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
