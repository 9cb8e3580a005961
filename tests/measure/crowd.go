// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"strconv"
	"syscall"
	"time"

	"github.com/arke-mesh/arke/internal/collector"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/tests/harness"
)

const (
	crowdSettles  = 30 * time.Second // after the last node has joined, and after work has begun
	crowdSpan     = 30 * time.Second // in which is measured
	crowdMembers  = 10               // of each cluster
	crowdOneCalls = 10               // of so many nodes
)

// crowd measures what being part of a network costs a node by itself, without a
// simulator around it, as the network grows: one node in each process, all on loopback,
// joined through the first. At rest none of them serves or calls anything. At work they do
// what sim's BenchmarkScale has them do: each serves one of many clusters, ten members
// each, and every tenth asks another one once a second.
func crowd(m *meter) {
	for _, count := range [...]int{5, 20, 50} {
		if !run(m.amounts, func(m *meter) { crowdOf(m, count) }) { // its nodes end with it
			m.failed = true
		}
	}
}

func crowdOf(m *meter, count int) {
	file := harness.NewNetwork(m).Key()
	var nodes []*part
	var seed string
	for i := range count {
		nodes = append(nodes, runs(m, "crowd", file, strconv.Itoa(i), strconv.Itoa(count), seed))
		if i == 0 {
			seed = nodes[0].line()
		}
	}
	for _, n := range nodes[1:] {
		n.line() // it has joined
	}
	for _, state := range [...]string{"at rest", "at work"} {
		wait(crowdSettles)
		for _, n := range nodes {
			m.must(n.process.Signal(syscall.SIGUSR1))
		}
		all := make([][]float64, len(nodes))
		for i, n := range nodes {
			m.must(json.Unmarshal([]byte(n.line()), &all[i]))
		}
		m.say(fmt.Sprintf("%d nodes %s, mean of a node (most)", count, state), "%s", crowdText(all))
	}
}

// crowdFigures are what a node has used in a second, and what it holds, in the order in
// which it says them: each as the mean of all nodes, and the most.
var crowdFigures = []string{
	"%.1f (%.1f) ms of processor time and ",
	"%.0f (%.0f) wake-ups a second, ",
	"%.0f (%.0f) B/s of control, ", // sent on lane ctl
	"%.1f (%.1f) MB, ",             // resident, once garbage is given back
	"%.1f (%.0f) links, ",
	"%.1f (%.0f) leases", // of others, as an anchor
}

func crowdText(nodes [][]float64) (text string) {
	for i, figure := range crowdFigures {
		var mean, most float64
		for _, n := range nodes {
			mean += n[i] / float64(len(nodes))
			most = max(most, n[i])
		}
		text += fmt.Sprintf(figure, mean, most)
	}
	return text
}

// crowdPart is one of the nodes: it says where it is, or that it has joined, and what
// it costs, at rest and at work, each when it gets a signal.
func crowdPart(args []string) error {
	defer collector.Pace()()
	begin := make(chan os.Signal, 1)
	signal.Notify(begin, syscall.SIGUSR1)
	index, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	count, err := strconv.Atoi(args[2])
	if err != nil {
		return err
	}
	n, err := startNode(args[0], args[3])
	if err != nil {
		return err
	}
	defer n.Close()
	if err := meets(n, min(index, 1)); err != nil {
		return err
	}
	fmt.Println(n.Status().Addrs[0])
	<-begin
	if err := crowdMeasures(n); err != nil {
		return err
	}
	failed := make(chan error, 1)
	go func() { failed <- crowdWorks(n, index, count) }()
	select {
	case err := <-failed:
		return err
	case <-begin:
	}
	if err := crowdMeasures(n); err != nil {
		return err
	}
	select {} // the others are measured still
}

// crowdMeasures says what the node costs from now on.
func crowdMeasures(n *node.Node) error {
	from, err := used()
	if err != nil {
		return err
	}
	control := n.Status().SentBytes[overlay.LaneCtl]
	wait(crowdSpan)
	until, err := used()
	if err != nil {
		return err
	}
	now := n.Status()
	debug.FreeOSMemory()
	bytes, err := resident()
	if err != nil {
		return err
	}
	span := crowdSpan.Seconds()
	return json.NewEncoder(os.Stdout).Encode([]float64{
		1e3 * (until.cpu - from.cpu).Seconds() / span, float64(until.wakes-from.wakes) / span,
		float64(now.SentBytes[overlay.LaneCtl]-control) / span, float64(bytes) / 1e6, float64(len(now.Links)), float64(now.Anchors.Leases),
	})
}

// crowdWorks serves, and calls if it is this node's turn, for ever.
func crowdWorks(n *node.Node, index, count int) error {
	clusters := max(1, count/crowdMembers)
	if _, err := n.Serve(context.Background(), fmt.Sprint("c", index%clusters), echo, patterns.Limits{}); err != nil {
		return err
	}
	if index%crowdOneCalls != 0 {
		select {}
	}
	wait(crowdSettles / 3) // all serve
	for {
		if _, err := n.Request(context.Background(), fmt.Sprint("c", (index+7)%clusters), patterns.Message{Body: make([]byte, 100)}); err != nil {
			return err
		}
		wait(time.Second)
	}
}
