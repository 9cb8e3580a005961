// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario_test

import (
	"encoding"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/arke-mesh/arke/sim/scenario"
)

// head is what the files of these tests begin with: 6 lines, so that what
// follows begins in line 7.
const head = `name: small
duration: 60s
nodes: [{name: m, count: 3, zone: east}, {name: c}]
clusters:
  - name: geo
    members: [m]
`

func TestErrorsNameLineAndReason(t *testing.T) {
	// Each thing that can be wrong with a file, and exactly what is said.
	for _, tc := range []struct {
		name string
		file string
		want string
	}{
		{"nothing", "", "f.yaml:1: is empty"},
		{"only a comment", "# hello\n", "f.yaml:1: is empty"},
		{"not YAML", "name: [\n", "f.yaml:1: did not find expected node content"},
		{"a list", "- a\n", "f.yaml:1: is a list, but fields are wanted: name, about, seed, levels, duration, settle, networks, nodes, gateways, clusters, subscriptions, links, workload, timeline, generate, assert, sometimes"},
		{"two documents", head + "---\nname: b\n", "f.yaml:7: a second document begins here; one file is one scenario"},
		{"nothing in it", "seed: 1\n", "f.yaml:1: has no name\nf.yaml:1: has no duration\nf.yaml:1: has no nodes"},
		{"a field nearly known", head + "timelines: []\n", `f.yaml:7: unknown field "timelines"; did you mean timeline?`},
		{"an unknown field inside", head + "timeline:\n  - {at: 1s, do: heal,\n     why: 1}\n", `f.yaml:9: timeline[0]: unknown field "why"; there is at, do, nodes, between, for, every, times, identity, down, factor, offset, drift, share, mode, on, link, work`},
		{"a field twice", head + "seed: 1\nseed: 2\n", "f.yaml:8: seed: is given twice, first in line 7"},
		{"no value", head + "seed:\n", "f.yaml:7: seed: has no value; leave it out or give it one"},
		{"an alias", head + "assert: *a\n", `f.yaml:7: anchors and aliases are not supported; quote a "*" that selects every node`},
		{"an anchor", head + "assert: &a []\n", `f.yaml:7: assert: anchors and aliases are not supported; quote a "*" that selects every node`},
		{"an unquoted star", head + "timeline: [{at: 1s, do: crash, nodes: *}]\n", `f.yaml:7: did not find expected alphabetic or numeric character; quote a "*" that selects every node`},
		{"a number for text", head + "about: 5\n", "f.yaml:7: about: is a number, but text is wanted; quote it"},
		{"text for a number", head + "seed: five\n", `f.yaml:7: seed: "five" is not a whole number from 0 up`},
		{"a negative seed", head + "seed: -5\n", `f.yaml:7: seed: "-5" is not a whole number from 0 up`},
		{"text for true", head + "workload: [{from: c, to: geo, rate: 1, idempotent: yes please}]\n", `f.yaml:7: workload[0].idempotent: "yes please" is not true or false`},
		{"a mapping for a list", head + "timeline: {at: 1s}\n", "f.yaml:7: timeline: is a mapping, but a list is wanted"},
		{"a mapping for text", head + "levels: [{}]\n", "f.yaml:7: levels[0]: is a mapping, but text is wanted"},
		{"a list for one value", head + "settle: [1s]\n", "f.yaml:7: settle: is a list, but one value is wanted"},
		{"a duration without a unit", head + "settle: 5\n", `f.yaml:7: settle: "5" is not a duration; write it like 10s, 1.5s, 400ms or 2m`},
		{"a share without a sign", head + "links: [{between: [m, c], loss: 0.05}]\n", `f.yaml:7: links[0].loss: "0.05" is not a share; write it like 5% or 0.1%`},
		{"a share of too much", head + "links: [{between: [m, c], loss: 101%}]\n", `f.yaml:7: links[0].loss: "101%" is not a share; write 0% to 100%, with up to 4 decimals`},
		{"a size in bits", head + "links: [{between: [m, c], queue: 5Kbit}]\n", `f.yaml:7: links[0].queue: "5Kbit" is not a size; write it like 100, 64KiB or 1MiB`},
		{"a bad name", "name: A b\nduration: 1s\nnodes: [{name: m}]\n", `f.yaml:1: name: "A b" is not a name; use lower-case letters, digits and -, 40 at most`},
		{"a negative duration", "name: a\nduration: -1s\nnodes: [{name: m}]\n", "f.yaml:2: duration: -1s is not between 0 and 24h"},
		{"an unknown level", head + "levels: [sim, nett]\n", `f.yaml:7: levels[1]: unknown level "nett"; did you mean net?`},
		{"a level twice", head + "levels: [sim, sim]\n", `f.yaml:7: levels[1]: "sim" is given twice`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := scenario.Parse("f.yaml", []byte(tc.file))
			require.EqualError(t, err, tc.want)
		})
	}
}

func TestImpossibleNetworksAreRefused(t *testing.T) {
	// What can't be about nodes, clusters, links and workloads.
	for _, tc := range []struct{ file, want string }{
		{"nodes: [{name: m, count: 2}, {name: m}]", `f.yaml:4: nodes[1]: "m" is the name of something in nodes[0] already`},
		{"nodes: [{name: m, count: 2}, {name: m2}]", `f.yaml:4: nodes[1]: "m2" is the name of something in nodes[0] already`},
		{"nodes: [{name: m, count: -1}]", "f.yaml:4: nodes[0].count: -1 is not between 1 and 100000"},
		{"nodes: [{name: m, count: 60000}, {name: n, count: 60000}]", "f.yaml:4: nodes[1]: there are more than 100000 nodes"},
		{"nodes: [{name: M}]", `f.yaml:4: nodes[0].name: "M" is not a name; use lower-case letters, digits and -, 40 at most`},
		{"nodes: [{name: m, start: -1s}]", "f.yaml:4: nodes[0].start: -1s is negative"},
		{"nodes: [{name: m, start: 61s}]", "f.yaml:4: nodes[0]: the last node starts at 1m1s, after the end at 1m"},
		{"nodes: [{name: m, count: 50, every: 10s}]", "f.yaml:4: nodes[0]: the last node starts at 8m10s, after the end at 1m"},
		{"nodes: [{name: m, every: 10s}]", "f.yaml:4: nodes[0].every: means nothing for a single node"},
		{"nodes: [{name: m, certificate: some}]", `f.yaml:4: nodes[0].certificate: unknown certificate "some"; there is all, nothing`},
		{"nodes: [{name: m, ends: 3s}]", "f.yaml:4: nodes[0].ends: there is no certificate that could end"},
		{"nodes: [{name: m, certificate: all}, {name: n}]", "f.yaml:4: nodes[1]: other nodes have certificates: give it one, all or nothing"},
		{"nodes: [{name: m, key: a b}]", `f.yaml:4: nodes[0].key: "a b" is not a label; use lower-case letters, digits, '.', '_' and -`},
		{"nodes: [{name: m, near: geo}]", `f.yaml:4: nodes[0].near: no cluster is called "geo"`},
		{"nodes: [{name: m, zone: EU}]", `f.yaml:4: nodes[0].zone: "EU" is not a name; use lower-case letters, digits, '.', '_' and -`},
		{"nodes: [{name: m}, {name: a, attach: n}]", `f.yaml:4: nodes[1].attach: no node or group is called "n"; did you mean m or a?`},
		{"nodes: [{name: m}, {name: a, attach: m}, {name: b, attach: a}]", "f.yaml:4: nodes[2].attach: a is a client itself; clients attach to nodes"},
		{"nodes: [{name: m, prefix: \"81.256\"}]", `f.yaml:4: nodes[0].prefix: "81.256" is not the beginning of an address; two numbers like 81.2`},
		{"nodes: [{name: m}, {name: a, attach: m, zone: eu}]", "f.yaml:4: nodes[1]: a client has the network, the zone, the address and the keys of its relay: leave network, zone, prefix and key out"},
		{"nodes: [{name: m}, {name: a, attach: m}]\nlevels: [sim, net]", "f.yaml:5: levels[1]: clients, adversaries, prefixes, keys that change, certificates, connections that break, nodes that move or come back with another identity, are at level sim only"},
		{"nodes: [{name: m}, {name: a, attach: m}]\ntimeline: [{at: 1s, do: skew, nodes: a, drift: 5}]", "f.yaml:5: timeline[0].nodes: a is a client: it has no links and no clock of its own; name its relay"},
		{"nodes: [{name: m}, {name: a, attach: m}]\ntimeline: [{at: 1s, do: cut, between: [m, a]}]", "f.yaml:5: timeline[0].between[1]: a is a client: it has no links and no clock of its own; name its relay"},
		{"nodes: [{name: m}, {name: a, attach: m}]\ntimeline: [{at: 1s, do: silence, nodes: a}]", "f.yaml:5: timeline[0].nodes: a is a client: it loses its power with its relay only; crash it, or name m"},
		{"nodes: [{name: m}]\nclusters: [{name: a, members: n}]", `f.yaml:5: clusters[0].members[0]: no node or group is called "n"; did you mean m?`},
		{"nodes: [{name: m}]\nclusters: [{name: a}, {name: a}]", `f.yaml:5: clusters[1].name: "a" is the name of clusters[0] already`},
		{"nodes: [{name: m, zone: eu}]\nclusters: [{name: a, members: ['zone:us']}]", `f.yaml:5: clusters[0].members[0]: no node is in zone "us"; there is eu`},
		{"nodes: [{name: m}]\nclusters: [{name: a, keys: {x: k}}]", `f.yaml:5: clusters[0].keys.x: no node or group is called "x"; did you mean m?`},
		{"nodes: [{name: m}]\nclusters: [{name: a, keys: {m: ''}}]", `f.yaml:5: clusters[0].keys.m: "" is not a label; use lower-case letters, digits, '.', '_' and -`},
		{"nodes: [{name: m}]\nclusters: [{name: a, handler: {kind: ecko}}]", `f.yaml:5: clusters[0].handler.kind: unknown handler "ecko"; did you mean echo?`},
		{"nodes: [{name: m}]\nclusters: [{name: a, handler: {kind: slow}}]", "f.yaml:5: clusters[0].handler: a slow handler needs work"},
		{"nodes: [{name: m}]\nclusters: [{name: a, handler: {kind: go}}]", "f.yaml:5: clusters[0].handler: a go handler needs the name that the program gave it"},
		{"nodes: [{name: m}]\nclusters: [{name: a, handler: {work: 1s}}]", "f.yaml:5: clusters[0].handler.work: only a slow handler takes it"},
		{"nodes: [{name: m}]\nclusters: [{name: a, limits: {concurrency: -1}}]", "f.yaml:5: clusters[0].limits.concurrency: -1 is negative"},
		{"nodes: [{name: m}]\nlinks: [{between: [m]}]", "f.yaml:5: links[0].between: has 1 selectors, but a link is between two"},
		{"nodes: [{name: m}]\nlinks: [{between: [m, x]}]", `f.yaml:5: links[0].between[1]: no node or group is called "x"; did you mean m?`},
		{"nodes: [{name: m}]\nlinks: [{between: [m, m], queue: 1KiB}]", "f.yaml:5: links[0].queue: means something with mbps or kbps only: there is no queue without a bottleneck"},
		{"nodes: [{name: m}]\nlinks: [{between: [m, m], latency: -1ms}]", "f.yaml:5: links[0].latency: -1ms is negative"},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload: [{from: m, to: gep, rate: 1}]", `f.yaml:6: workload[0].to: no cluster is called "gep"; did you mean geo?`},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload: [{rate: 1}]", "f.yaml:6: workload[0]: needs from: who sends\nf.yaml:6: workload[0]: needs to: a cluster"},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload: [{from: m, to: geo, rate: .nan}]", "f.yaml:6: workload[0].rate: NaN is not between 0 and 1000000 per second"},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload: [{from: m, to: geo, rate: 1, kind: survay}]", `f.yaml:6: workload[0].kind: unknown kind "survay"; did you mean survey?`},
		{"nodes: [{name: m}]\nworkload: [{from: m, to: 'a.*', rate: 1, kind: publish}]", `f.yaml:5: workload[0].to: not a topic or pattern: "a.*": * is for patterns only`},
		{"nodes: [{name: m}]\nworkload: [{from: m, to: a..b, rate: 1, kind: publish}]", `f.yaml:5: workload[0].to: not a topic or pattern: "a..b": a word is empty`},
		{"nodes: [{name: m}]\nworkload: [{from: m, rate: 1, kind: publish}]", `f.yaml:5: workload[0]: needs to: a topic`},
		{"nodes: [{name: m}]\nworkload: [{from: m, to: a, rate: 1, kind: publish, topics: -1}]", `f.yaml:5: workload[0].topics: -1 is not between 1 and 100000`},
		{"nodes: [{name: m}]\nworkload: [{from: m, to: a, rate: 1, kind: publish, idempotent: true}]", `f.yaml:5: workload[0].idempotent: means nothing for a publish; it is for request and push`},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload: [{from: m, to: geo, rate: 1, messages: 5}]", `f.yaml:6: workload[0].messages: means nothing for a request; it is for tunnel`},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload: [{from: m, to: geo, rate: 1, kind: tunnel, messages: -5}]", `f.yaml:6: workload[0].messages: -5 is not between 1 and 10000000`},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload: [{from: m, to: geo, rate: 1, kind: survey, every: 1s}]", `f.yaml:6: workload[0].every: means nothing for a survey; it is for tunnel`},
		{"nodes: [{name: m}]\nsubscriptions: [{pattern: a}]", `f.yaml:5: subscriptions[0]: needs nodes: who subscribes`},
		{"nodes: [{name: m}]\nsubscriptions: [{nodes: m}]", `f.yaml:5: subscriptions[0]: needs a pattern`},
		{"nodes: [{name: m}]\nsubscriptions: [{nodes: n, pattern: a}]", `f.yaml:5: subscriptions[0].nodes[0]: no node or group is called "n"; did you mean m?`},
		{"nodes: [{name: m}]\nsubscriptions: [{nodes: m, pattern: '>.a'}]", `f.yaml:5: subscriptions[0].pattern: not a topic or pattern: ">.a": > stands before the end`},
		{"nodes: [{name: m}]\nsubscriptions: [{nodes: m, pattern: a, overflow: newset}]", `f.yaml:5: subscriptions[0].overflow: unknown policy "newset"; did you mean newest?`},
		{"nodes: [{name: m}]\nsubscriptions: [{nodes: m, pattern: a, count: -1}]", `f.yaml:5: subscriptions[0].count: -1 is not between 1 and 100000`},
		{"nodes: [{name: m}]\nsubscriptions: [{nodes: m, pattern: a, queue_length: -1}]", `f.yaml:5: subscriptions[0].queue_length: -1 is negative`},
		{"nodes: [{name: m}]\nsubscriptions: [{nodes: m, pattern: a, queue: A b}]", `f.yaml:5: subscriptions[0].queue: "A b" is not a name; use lower-case letters, digits, '.', '_' and -`},
		{"nodes: [{name: m}]\nsubscriptions: [{nodes: m, pattern: a, start: 5s, stop: 5s}]", `f.yaml:5: subscriptions[0].start: 5s is not before it stops`},
		{"nodes: [{name: m}]\nsubscriptions: [{nodes: m, pattern: a, stop: 2m}]", `f.yaml:5: subscriptions[0].stop: 2m is after the end at 1m`},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload: [{from: m, to: geo, rate: 1, name: a}]\nsubscriptions: [{nodes: m, pattern: a, name: a}]", `f.yaml:7: subscriptions[0].name: "a" is the name of workload[0] already`},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload: [{from: m, to: geo, rate: 1, size: 4}]", "f.yaml:6: workload[0].size: 4B is not between 8B, for the number of the request, and 64MiB"},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload: [{from: m, to: geo, rate: 1, start: 5s, stop: 5s}]", "f.yaml:6: workload[0].start: 5s is not before it stops"},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload: [{from: m, to: geo, rate: 1, stop: 2m}]", "f.yaml:6: workload[0].stop: 2m is after the end at 1m"},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload:\n- {from: m, to: geo, rate: 1, name: a}\n- {from: m, to: geo, rate: 1, name: a}", `f.yaml:8: workload[1].name: "a" is the name of workload[0] already`},
		{"nodes: [{name: m}]\nclusters: [{name: geo}]\nworkload: [{from: m, to: geo, rate: 1, name: probe}]", `f.yaml:6: workload[0].name: "probe" is the name of what the liveness phase sends`},
		{"nodes: [{name: m}]\nlinks: [{between: [m, m], mbps: 1, kbps: 5}]", "f.yaml:5: links[0].kbps: the rate is in mbps already: give one of the two"},
		{"nodes: [{name: m}, {name: a, attach: m}, {name: b, seeds: [a]}]", "f.yaml:4: nodes[2].seeds: a can't be a seed: it is a client, or in another network"},
		{"nodes: [{name: m}, {name: a, attach: m, seeds: [m]}]", "f.yaml:4: nodes[1].seeds: a client joins nothing by itself; its relay has seeds"},
		{"nodes: [{name: m}, {name: a, seeds: [x]}]", `f.yaml:4: nodes[1].seeds[0]: no node or group is called "x"; did you mean m or a?`},
		{"nodes: [{name: m, count: 2}, {name: c}]\nlinks: [{between: [m, c], one_way: true, latency: 9ms}]\ntimeline: [{at: 1s, do: degrade, between: [m1, c], link: {latency: 1ms}}]", "f.yaml:6: timeline[0]: the link between m1 and c differs by direction in the file (one_way), which degrade can't restore; degrade others"},
		{"nodes: [{name: m}]\nlevels: [sim, net]\ntimeline: [{at: 1s, do: move, nodes: m}]", "f.yaml:5: levels[1]: clients, adversaries, prefixes, keys that change, certificates, connections that break, nodes that move or come back with another identity, are at level sim only"},
		{"nodes: [{name: m}, {name: a, attach: m}]\ntimeline: [{at: 1s, do: crash, nodes: a, for: 1s, identity: new}]", "f.yaml:5: timeline[0].identity: a is a client: it has the identity of its relay"},
		{"nodes: [{name: m}]\nassert: [lost]", `f.yaml:5: assert[0]: assertion "lost": want "metric op value", op one of == != <= >= < >`},
		{"nodes: [{name: m}]\nsometimes: [crash > 0]", `f.yaml:5: sometimes[0]: assertion "crash > 0": no metric is called "crash"; near: crashes`},
	} {
		_, err := scenario.Parse("f.yaml", []byte("name: small\nduration: 60s\n\n"+tc.file+"\n"))
		require.EqualError(t, err, tc.want, tc.file)
	}
}

func TestImpossibleActionsAreRefused(t *testing.T) {
	// What can't be about a timeline; line 8 is its first action.
	for _, tc := range []struct{ actions, want string }{
		{"{at: 1s}", "timeline[0]: needs do: what happens"},
		{"{at: 1s, do: crush, nodes: m}", `timeline[0].do: unknown action "crush"; did you mean crash?`},
		{"{at: 1s, do: crash}", "timeline[0]: crash needs nodes"},
		{"{at: 1s, do: crash, nodes: m9}", `timeline[0].nodes[0]: no node or group is called "m9"; did you mean m or m1 or m2?`},
		{"{at: 61s, do: heal}", "timeline[0].at: 1m1s is after the end at 1m"},
		{"{at: -1s, do: heal}", "timeline[0].at: -1s is negative"},
		{"{at: 1s, do: heal, nodes: m}", "timeline[0].nodes: heal does not take it; it takes nothing"},
		{"{at: 1s, do: crash, nodes: m, factor: 2}", "timeline[0].factor: crash does not take it; it takes nodes, for, down, identity, times, every"},
		{"{at: 1s, do: crash, nodes: m, for: 1s, down: 1s}", "timeline[0]: crash takes for or down, not both"},
		{"{at: 50s, do: crash, nodes: m, for: 11s}", "timeline[0].for: it would end at 1m1s, after the end at 1m"},
		{"{at: 50s, do: crash, nodes: m1, down: 11s}", "timeline[0]: restart would end at 1m1s, after the end at 1m"},
		{"{at: 1s, do: slow, nodes: m}", "timeline[0]: slow needs factor"},
		{"{at: 1s, do: slow, nodes: m, factor: -1}", "timeline[0].factor: -1 is not between 1 and 1000000"},
		{"{at: 1s, do: skew, nodes: m, drift: 1000000}", "timeline[0].drift: 1000000 is not between -100000 and 100000 parts per million"},
		{"{at: 1s, do: skew, nodes: m, offset: 10000h}", "timeline[0].offset: 10000h is more than a year"},
		{"{at: 1s, do: router, nodes: m, mode: stail}", `timeline[0].mode: unknown mode "stail"; did you mean stale?`},
		{"{at: 1s, do: attack, nodes: m, mode: forge-lease, on: geo}", `timeline[0].mode: unknown mode "forge-lease"; did you mean forge-leases?`},
		{"{at: 1s, do: attack, nodes: m, mode: stale}", `timeline[0].mode: unknown mode "stale"; there is forge-leases, say-empty, withhold, repeat-leases, forge-source, forge-marks, replay, alter, repeat, hoard-leases, hoard-memory, keep-back, alter-replies, ask-twice, claim-complete`},
		{"{at: 1s, do: attack, nodes: m, mode: withhold}", "timeline[0]: withhold needs on: a cluster"},
		{"{at: 1s, do: attack, nodes: m, mode: withhold, on: gio}", `timeline[0].on: no cluster is called "gio"; did you mean geo?`},
		{"{at: 1s, do: attack, nodes: m, mode: replay, on: 'a.*'}", `timeline[0].on: not a topic or pattern: "a.*": * is for patterns only`},
		{"{at: 1s, do: attack, nodes: m, mode: hoard-memory, on: geo}", "timeline[0].on: hoard-memory is not about anything; leave it out"},
		{"{at: 1s, do: attack, mode: withhold, on: geo}", "timeline[0]: attack needs nodes"},
		{"{at: 1s, do: rotaet, nodes: m}", `timeline[0].do: unknown action "rotaet"; did you mean rotate?`},
		{"{at: 1s, do: ban}", "timeline[0]: ban needs nodes"},
		{"{at: 1s, do: revoke}", "timeline[0]: revoke needs nodes"},
		{"{at: 1s, do: revoke, nodes: m}", "timeline[0]: no node has a certificate: give groups one"},
		{"{at: 1s, do: rotate}", "timeline[0]: rotate needs nodes"},
		{"{at: 1s, do: rotate, nodes: m, on: gio}", `timeline[0].on: no cluster is called "gio"; did you mean geo?`},
		{"{at: 1s, do: rotate, nodes: m, on: geo}", "timeline[0].on: geo has no keys of its own: they follow the network's; give it keys, or leave on out"},
		{"{at: 1s, do: cut, between: [m]}", "timeline[0].between: has 1 sides, but cut is between two"},
		{"{at: 1s, do: cut, between: [m, []]}", "timeline[0].between[1]: names nobody"},
		{"{at: 1s, do: partition, between: [m, [m1, c]]}", "timeline[0].between: m1 is on both sides"},
		{"{at: 1s, do: partition}", "timeline[0]: partition needs between or nodes"},
		{"{at: 1s, do: partition, nodes: m, between: [m, c]}", "timeline[0]: partition takes between or nodes, not both"},
		{"{at: 1s, do: partition, nodes: [m, c]}", "timeline[0]: there is nobody on the other side"},
		{"{at: 1s, do: degrade, between: [m, c]}", "timeline[0]: degrade needs link"},
		{"{at: 1s, do: degrade, between: [m, c], link: {between: [m, c]}}", "timeline[0].link.between: belongs to the action"},
		{"{at: 1s, do: degrade, between: [m, c], link: {mbps: -1}}", "timeline[0].link.mbps: -1 is not between 1 and 1000000"},
		{"{at: 1s, do: corrupt, between: [c, c]}", "timeline[0]: there is no link between a node and itself"},
		{"{at: 1s, do: flood}", "timeline[0]: flood needs work"},
		{"{at: 1s, do: flood, work: {from: c, to: geo, rate: 1, start: 1s}}", "timeline[0].work: a flood starts at its own time and stops after for; leave start and stop out"},
		{"{at: 1s, do: flood, work: {from: c, to: geo}}", "timeline[0].work.rate: 0 is not between 0 and 1000000 per second"},
		{"{at: 1s, do: churn, nodes: m, share: 10%}", "timeline[0]: churn needs for"},
		{"{at: 1s, do: churn, nodes: m, share: 10%, for: 58s}", "timeline[0]: the last node could be back at 1m0.5s only, after the end at 1m"},
		{"{at: 55s, do: rolling-restart, nodes: m, every: 3s}", "timeline[0]: the last of 3 nodes would be back at 1m2s, after the end at 1m"},
		{"{at: 55s, do: swizzle, between: ['*', '*'], every: 1s}", "timeline[0]: the last of 6 links would be mended at 1m6s, after the end at 1m"},
		{"{at: 1s, do: crash, nodes: m, times: 3}", "timeline[0].times: needs every: how long after each other"},
		{"{at: 1s, do: crash, nodes: m, every: 3s}", "timeline[0].every: says nothing without times: how often it happens"},
		{"{at: 1s, do: crash, nodes: m, for: 3s, every: 3s, times: 2}", "timeline[0].every: 3s is not longer than what it repeats, which takes 3s"},
		{"{at: 1s, do: crash, nodes: m, for: 3s, every: 20s, times: 4}", "timeline[0].times: the last of 4 would be after the end at 1m"},
		{"{at: 1s, do: rolling-restart, nodes: m, every: 3s, times: 2}", "timeline[0].times: rolling-restart repeats something by itself; write it down several times"},
		{"{at: 1s, do: crash, nodes: m, identity: new}", "timeline[0].identity: is about the return: give for or down, or give it to the restart"},
		{"{at: 1s, do: crash, nodes: m, for: 1s, identity: old}", `timeline[0].identity: unknown identity "old"; there is new`},
		{"{at: 1s, do: degrade, between: [m, c], link: {one_way: true, latency: 1ms}}", "timeline[0].link.one_way: degrade replaces both directions; say one_way in links, or cut one direction with partition-oneway"},
		{"{at: 1s, do: restart, nodes: m1}", "timeline[0]: restart of m1 at 1s: it runs"},
		{"{at: 1s, do: resume, nodes: m1}", "timeline[0]: resume of m1 at 1s: it is not paused"},
	} {
		_, err := scenario.Parse("f.yaml", []byte(head+"timeline:\n  - "+tc.actions+"\n"))
		require.EqualError(t, err, "f.yaml:8: "+tc.want, tc.actions)
	}
}

func TestActionsThatContradictEachOtherAreRefused(t *testing.T) {
	// A node that is away can't crash again; the second action is to blame.
	for _, tc := range []struct{ first, second, want string }{
		{"{at: 1s, do: crash, nodes: m1}", "{at: 5s, do: stop, nodes: m1}", "stop of m1 at 5s: it is away since 1s (crash)"},
		{"{at: 1s, do: crash, nodes: m1}", "{at: 5s, do: pause, nodes: m1}", "pause of m1 at 5s: it is away since 1s (crash)"},
		{"{at: 1s, do: pause, nodes: m1}", "{at: 5s, do: pause, nodes: m1}", "pause of m1 at 5s: it is paused since 1s"},
		{"{at: 1s, do: pause, nodes: m1}", "{at: 5s, do: stop, nodes: m1}", "stop of m1 at 5s: it is paused since 1s"},
		{"{at: 1s, do: crash, nodes: m1, for: 2s}", "{at: 5s, do: restart, nodes: m1}", "restart of m1 at 5s: it runs"},
	} {
		_, err := scenario.Parse("f.yaml", []byte(head+"timeline:\n  - "+tc.first+"\n  - "+tc.second+"\n"))
		require.EqualError(t, err, "f.yaml:9: timeline[1]: "+tc.want)
	}
}

func TestSeveralErrorsAreToldAtOnce(t *testing.T) {
	// Ten problems in the order of the file, and how many more there are.
	var b strings.Builder
	b.WriteString(head + "timeline:\n")
	for i := range 12 {
		fmt.Fprintf(&b, "  - {at: %ds, do: crash, nodes: x%d}\n", i, i)
	}
	_, err := scenario.Parse("f.yaml", []byte(b.String()))
	var all *scenario.Error
	require.ErrorAs(t, err, &all)
	require.Len(t, all.Problems, 12)
	lines := strings.Split(err.Error(), "\n")
	require.Len(t, lines, 11)
	require.Regexp(t, `^f.yaml:8: timeline\[0\].nodes\[0\]: `, lines[0])
	require.Regexp(t, `^f.yaml:17: timeline\[9\].nodes\[0\]: `, lines[9])
	require.Equal(t, "and 2 more", lines[10])
}

func TestASingleValueStandsForAList(t *testing.T) {
	// Selectors may be written without brackets.
	s := parse(t, head+"timeline:\n  - {at: 1s, do: cut, between: [m1, [m2, c]]}\n  - {at: 1s, do: crash, nodes: c}\n")
	require.Equal(t, [][]string{{"m1"}, {"m2", "c"}}, s.Timeline[0].Between)
	require.Equal(t, []string{"c"}, s.Timeline[1].Nodes)
}

func TestAnHourLongNightmareOfAFileIsRefusedQuickly(t *testing.T) {
	// Typing errors that would expand to millions of actions end early.
	for _, action := range []string{
		"{at: 1s, do: corrupt, between: [m, c], every: 1ns, for: 50s}",
		"{at: 1s, do: crash, nodes: m, for: 2000000h}",
		"{at: 1s, do: swizzle, between: [big, big], every: 1ns}",
		"{at: 1s, do: degrade, between: [big, big], link: {loss: 1%}, for: 5s}",
		"{at: 1s, do: rolling-restart, nodes: big, every: 1h}",
	} {
		big := strings.Replace(head, "{name: c}", "{name: c}, {name: big, count: 90000}", 1)
		_, err := scenario.Parse("f.yaml", []byte(big+"timeline:\n  - "+action+"\n"))
		require.Error(t, err, action)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(head))
	f.Add([]byte(base + "timeline:\n  - {at: 5s, do: churn, nodes: m, share: 100%, for: 20s, down: 2s}\n"))
	f.Add([]byte("name: a\nduration: 9s\nnodes: [{name: m, count: 3}]\ntimeline: [{at: 1s, do: pause, nodes: '*'}, {at: 2s, do: heal}]\n"))
	f.Add([]byte("name: a\ngenerate: {nodes: 3..9}\n"))
	shipped, err := filepath.Glob("../scenarios/*.yaml")
	require.NoError(f, err)
	for _, path := range shipped {
		data, err := os.ReadFile(path)
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		// Whatever is accepted expands, and its expansion is a scenario that
		// expands to itself.
		s, err := scenario.Parse("f.yaml", data)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		if x := expanded(t, s); len(x.Timeline) <= 5000 {
			require.Equal(t, x, expanded(t, x))
		}
	})
}

func TestUnitsReadWhatTheyWrite(t *testing.T) {
	// Each value has one text, and the text gives the value again, in YAML and
	// JSON too.
	type file struct {
		D scenario.Duration
		S scenario.Share
		B scenario.Bytes
	}
	for _, tc := range []struct {
		file
		d, s, b string
	}{
		{file{}, "0s", "0%", "0B"},
		{file{scenario.Duration(90 * time.Second), 15_000, 65_536}, "1m30s", "1.5%", "64KiB"},
		{file{scenario.Duration(2 * time.Hour), scenario.Whole, 100}, "2h", "100%", "100B"},
		{file{scenario.Duration(time.Minute), 1, 3 << 20}, "1m", "0.0001%", "3MiB"},
		{file{-scenario.Duration(10 * time.Minute), 123_456, 2 << 30}, "-10m", "12.3456%", "2GiB"},
		{file{scenario.Duration(1500 * time.Microsecond), 100, 1_000_000}, "1.5ms", "0.01%", "1000000B"},
	} {
		require.Equal(t, []string{tc.d, tc.s, tc.b}, []string{tc.D.String(), tc.S.String(), tc.B.String()})
		asYAML, err := yaml.Marshal(tc.file)
		require.NoError(t, err)
		var again file
		require.NoError(t, yaml.Unmarshal(asYAML, &again))
		require.Equal(t, tc.file, again)
		asJSON, err := json.Marshal(tc.file)
		require.NoError(t, err)
		again = file{}
		require.NoError(t, json.Unmarshal(asJSON, &again))
		require.Equal(t, tc.file, again)
	}
}

func TestUnitsReadOtherForms(t *testing.T) {
	// What people write for the same values.
	var b scenario.Bytes
	for text, want := range map[string]scenario.Bytes{"100": 100, "1KB": 1000, "2MB": 2_000_000, "1GB": 1_000_000_000, "64 KiB": 65_536} {
		require.NoError(t, b.UnmarshalText([]byte(text)))
		require.Equal(t, want, b, text)
	}
	require.NoError(t, json.Unmarshal([]byte("4096"), &b))
	require.EqualValues(t, 4096, b)
	var s scenario.Share
	require.NoError(t, s.UnmarshalText([]byte("05.50%")))
	require.EqualValues(t, 55_000, s)
}

func TestUnitsRefuseNonsense(t *testing.T) {
	// What is no value of the unit is an error, never a guess.
	for _, tc := range []struct {
		v     encoding.TextUnmarshaler
		texts []string
	}{
		{new(scenario.Duration), []string{"", "5", "5 s", "soon", "1e9s", "99999999999h"}},
		{new(scenario.Share), []string{"", "5", "%", "-1%", ".5%", "5.%", "100.0001%", "1.00001%", "1e1%", "99999999999999999999%"}},
		{new(scenario.Bytes), []string{"", "B", "-1", "1.5KiB", "5k", "99999999999999999999", "9999999999GiB"}},
	} {
		for _, text := range tc.texts {
			require.Error(t, tc.v.UnmarshalText([]byte(text)), "%T %q", tc.v, text)
		}
	}
}

// busy has a work of every kind.
const busy = `name: busy
duration: 20s
nodes:
  - {name: m, count: 3}
  - {name: c, count: 2}
clusters:
  - {name: geo, members: [m], limits: {tunnels: 5}}
subscriptions:
  - {nodes: m, pattern: "news.>"}
  - {name: slow, nodes: [m1, c], pattern: "news.*", work: 10ms, queue_length: 20, queue_bytes: 64KiB, overflow: newest, start: 5s, stop: 15s}
  - {name: shared, nodes: m, pattern: "*.1", count: 2, queue: desk, no_echo: true}
workload:
  - {from: c, to: geo, rate: 100}
  - {kind: survey, from: c, to: geo, rate: 1}
  - {kind: push, from: c, to: geo, rate: 50, idempotent: true}
  - {kind: broadcast, from: c, to: geo, rate: 2, name: all}
  - {kind: publish, from: [c, m1], to: news, topics: 3, rate: 30, size: 1KiB}
  - {kind: tunnel, from: c1, to: geo, rate: 0.5, messages: 1000, every: 5ms, size: 4KiB, deadline: 10s}
timeline:
  - {at: 5s, do: flood, for: 5s, work: {kind: publish, from: m2, to: news.2, rate: 1000}}
assert: ["delivered{publish5} == 100%", "reported{slow} > 0", "completeness{all} == 100%", "tunnels_done{tunnel6} > 0"]
`

func TestEveryKindOfWorkIsExplicitAfterExpansion(t *testing.T) {
	// Names come from the kind and the place in the list; what a file leaves
	// out is filled in for the kind.
	s := expand(t, busy)
	var names []string
	for _, w := range s.Workload {
		names = append(names, w.Kind+" "+w.Name)
	}
	require.Equal(t, []string{"request request", "survey survey2", "push push3", "broadcast all", "publish publish5", "tunnel tunnel6"}, names)
	require.Equal(t, scenario.Subscription{
		Name: "subscription", Nodes: []string{"m1", "m2", "m3"}, Pattern: "news.>", Count: 1, Overflow: "oldest",
	}, s.Subscriptions[0])
	require.Equal(t, []string{"m1", "c1", "c2"}, s.Subscriptions[1].Nodes)
	require.Equal(t, "publish", s.Timeline[0].Work.Kind)
	require.Zero(t, s.Workload[0].Messages)
	require.Equal(t, 1000, s.Workload[5].Messages)
	short := expand(t, strings.Replace(busy, "messages: 1000, ", "", 1))
	require.Equal(t, scenario.DefaultMessages, short.Workload[5].Messages)
}

func TestSubscriptionsStayAsTheyAreThroughFiles(t *testing.T) {
	// The expanded form is a file again, as YAML and as JSON.
	stays(t, expand(t, busy))
}

func TestFewerSubscriptionsAndMessagesAreSmaller(t *testing.T) {
	// Shrinking leaves subscriptions out, has fewer of them and shorter tunnels,
	// and forgets nodes that are gone.
	s := expand(t, busy)
	var without, once, shorter, cut bool
	for _, c := range scenario.Smaller(s) {
		without = without || len(c.Subscriptions) == 2
		once = once || len(c.Subscriptions) == 3 && c.Subscriptions[2].Count == 1
		shorter = shorter || slices.ContainsFunc(c.Workload, func(w scenario.Work) bool { return w.Messages == 100 })
		cut = cut || c.Duration < 15*scenario.Duration(time.Second) && len(c.Subscriptions) > 1 && c.Subscriptions[1].Stop == c.Duration
		for _, sub := range c.Subscriptions {
			require.NotEmpty(t, sub.Nodes)
		}
	}
	require.True(t, without && once && shorter && cut)
}

func TestGenerateDrawsOtherKindsOfWorkIfTheFileWantsThem(t *testing.T) {
	// Each kind that is listed comes with some seeds and not with others; without
	// a list there are requests only, and they are the same with one.
	seen := map[string]int{}
	for seed := uint64(1); seed <= 40; seed++ {
		plain := drawn(t, seed, scenario.Ranges{})
		mixed := drawn(t, seed, scenario.Ranges{Kinds: scenario.WorkKinds()})
		require.Len(t, plain.Workload, 2)
		require.Equal(t, plain.Workload, mixed.Workload[:2])
		require.Equal(t, plain.Timeline, mixed.Timeline)
		expanded(t, mixed)
		for _, w := range mixed.Workload[2:] {
			seen[w.Kind]++
			require.Equal(t, w.Kind == "publish", len(mixed.Subscriptions) > 0 && w.To != mixed.Clusters[0].Name)
		}
	}
	for _, kind := range scenario.WorkKinds()[1:] {
		require.Greater(t, seen[kind], 5, kind)
		require.Less(t, seen[kind], 35, kind)
	}
	_, err := scenario.Generate(1, scenario.Ranges{Kinds: []string{"publich"}})
	require.ErrorContains(t, err, `unknown kind "publich"; did you mean publish?`)
}
