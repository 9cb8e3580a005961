// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/arke-mesh/arke/"

// goPackage is what `go list -json` tells and these tests need.
type goPackage struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
}

// list runs `go list -json` over the whole module.
func list(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports", module+"...")
	out, err := cmd.Output()
	require.NoError(t, err)
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			require.NotEmpty(t, all)
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

// layer is one rung: a folder of ours (with everything below it, up to a more
// exact rule) and the other folders of ours that it may import.
type layer struct {
	folder string
	may    []string
	reason string
}

// layers is ordered from the most exact path to the least: the first folder
// that contains a package is its rule.
var layers = []layer{
	{"internal/wire", nil, "the wire formats are usable by all, so they know nobody"},
	{"internal/replay", nil, "what comes twice is refused by any layer, so it knows none"},
	{"internal/fifo", nil, "a queue is of use to any layer, so it knows none"},
	{"internal/credit", nil, "whoever has a pace uses it, so it knows nobody"},
	{"internal/budget", nil, "whoever shares something out uses it, so it knows nobody"},
	{"internal/pace", nil, "whoever bounds a rate uses it, so it knows nobody"},
	{"internal/crowd", nil, "both doors use it, of nodes and of clients, and topics, so it knows none of them"},
	{"internal/gate", nil, "whoever runs goroutines counts them, so it knows nobody"},
	{"internal/reason", nil, "it puts errors of the system into words, and knows no layer"},
	{"internal/nearest", nil, "whoever reads names proposes others, so it knows nobody"},
	{"internal/nodename", nil, "whoever writes of nodes for people names them alike, so it knows nobody"},
	{"internal/replacefile", nil, "it writes files, whatever is in them"},
	{"internal/plural", nil, "whoever writes for people counts in words, so it knows nobody"},
	{"internal/drop", nil, "every layer counts what it drops, so the counter knows none"},
	{"internal/after", nil, "whoever locks acts after it, so it knows nobody"},
	{"internal/deadline", nil, "streams of a link and net.Conns have deadlines, so it knows nobody"},
	{"internal/nowait", nil, "links and sockets are written to without waiting, so it knows nobody"},
	{"internal/bell", []string{"internal/nowait"}, "it wakes who waits at it, and knows nobody"},
	{"internal/histogram", nil, "whoever measures counts in buckets, so it knows nobody"},
	{"internal/meaning", nil, "it says what numbers mean, and reads none"},
	{"internal/scrape", []string{"internal/node", "patterns", "cluster", "overlay/p2p", "overlay", "internal/inbox", "internal/histogram", "internal/meaning"}, "it reads what a node counts; overlay/p2p only for the names"},
	{"internal/notice", []string{"overlay", "internal/meaning"}, "it says what numbers show that others count; overlay only for the clock"},
	{"internal/admin", []string{"gateway", "internal/scrape", "internal/meaning", "relay"}, "it shows a relay and its node to tools; who configures it hands them in"},
	{"internal/collector", nil, "programs pace the collector by it, and no library does"},
	{"internal/waitline", nil, "whoever has a bound uses it, so it knows nobody"},
	{"internal/name", nil, "clusters and topics have names of one form"},
	{"internal/match", []string{"patterns", "internal/name"}, "patterns of topics and an index of them; it knows the names' form, and no node"},
	{"internal/turn", []string{"overlay"}, "whoever is called by user code takes turns in the simulator"},
	{"internal/inbox", []string{"patterns", "overlay", "internal/wire", "internal/drop", "internal/fifo", "internal/turn", "internal/waitline", "internal/after"}, "the queue of one subscription, of a node and of an attached program"},
	{"internal/conn", []string{"patterns", "internal/deadline"}, "a tunnel as a net.Conn; it links neither a node nor a client"},
	{"internal/verb", nil, "policies of relays and certificates of nodes have the same words"},
	{"internal/issued", []string{"patterns", "internal/match", "internal/pace", "internal/verb", "security"}, "it decides by certificates, and knows no link"},
	{"internal/simnet", []string{"sim", "internal/node", "security"}, "nodes on a simulated network; tests only import it"},
	{"internal/raced", nil, "tests only import it"},
	{"internal/script", nil, "stories that tests play; tests only import it"},
	{"security", []string{"internal/name", "internal/replacefile"}, "keys and proofs are a library: no network, no state of others"},
	{"overlay/p2p", []string{"overlay", "security", "internal/wire", "internal/deadline", "internal/nowait", "internal/budget", "internal/crowd", "internal/gate", "internal/after"}, "the production transport stands behind the seam"},
	{"overlay/session", []string{"internal/nowait", "internal/wire", "internal/after", "internal/waitline", "internal/fifo"}, "a session knows connections, and no peers: attached programs have one, too"},
	{"overlay", []string{"overlay/session", "security", "internal/wire", "internal/drop", "internal/after", "internal/fifo", "internal/budget", "internal/crowd", "internal/gate", "internal/pace", "internal/reason", "internal/nodename", "internal/replacefile"}, "links know no cluster, topic or request"},
	{"cluster", []string{"overlay", "security", "internal/wire", "internal/drop", "internal/name", "internal/pace"}, "membership reads no payload and opens no connection"},
	{"patterns", []string{"cluster", "overlay", "security", "internal/wire", "internal/histogram", "internal/fifo", "internal/credit", "internal/drop", "internal/waitline", "internal/match", "internal/inbox", "internal/turn", "internal/replay", "internal/gate", "internal/pace", "internal/crowd", "internal/name", "internal/bell", "internal/after"}, "patterns choose no peers and never touch the host"},
	{"internal/node", []string{"patterns", "cluster", "overlay", "security", "internal/wire", "internal/name", "internal/budget", "internal/notice", "internal/issued", "internal/nodename", "internal/verb", "internal/replacefile", "internal/nowait"}, "the composition root"},
	{"node", []string{".", "internal/node", "internal/scrape", "overlay", "security", "internal/door", "internal/zapslog"}, "what users import to embed a node"},
	{"relay/client", []string{"patterns", "cluster", "overlay", "security", "internal/wire", "internal/drop", "internal/match", "internal/inbox", "internal/turn", "relay/internal"}, "an attached program runs a node's engines over one session, and no host; it brings keys of clusters"},
	{"relay", []string{"internal/node", "patterns", "cluster", "overlay", "internal/wire", "internal/fifo", "internal/drop", "internal/waitline", "internal/after", "internal/budget", "internal/crowd", "internal/match", "internal/name", "internal/gate", "internal/notice", "internal/verb", "internal/nowait"}, "it passes frames between sessions and a node: what works embedded works attached"},
	{"gateway", []string{"internal/node", "patterns", "cluster", "overlay", "internal/wire", "internal/drop", "internal/match", "internal/name", "internal/pace", "internal/after", "security"}, "it passes messages between nodes of two networks, without decoding them; it knows finding keys, which open none"},
	{"internal/zapslog", nil, "two ways to log meet there"},
	{"internal/door", []string{"patterns"}, "how node.Join hands its node to package arke"},
	{".", []string{"relay/client", "patterns", "internal/door", "internal/conn", "internal/zapslog", "internal/wire/header"}, "what users import: it attaches, and links no node"},
	{"arkehttp", []string{"."}, "HTTP over what users import, and nothing else"},
	{"arketest", []string{".", "sim", "security", "internal/door", "internal/zapslog"}, "package arke on the simulated network"},
	{"sim/mutation", []string{"sim"}, "it runs the program from outside, one bug after the other"},
	{"sim/internal/netns", []string{"sim", "relay/client", "internal/node", "patterns", "security"}, "level net attaches to real relays as any program does"},
	{"sim/internal/stack", []string{"sim", "internal/node", "patterns", "overlay/p2p", "overlay", "security"}, "it runs the production transport on a network of its own"},
	{"sim", []string{"relay", "gateway", "internal/node", "patterns", "cluster", "overlay", "security", "internal/wire", "internal/match", "internal/nearest", "internal/plural", "internal/after"}, "a transport behind the seam, and scenarios above node, relay and gateway"},
	{"cmd/arke", []string{"relay", "gateway", "internal/node", "internal/issued", "internal/verb", "internal/admin", "internal/collector", "internal/meaning", "internal/nearest", "internal/nodename", "internal/notice", "internal/nowait", "internal/plural", "internal/reason", "patterns", "security", "overlay/p2p", "sim"}, "flags in, calls out; overlay/p2p only to route its logs and to check addresses"},
	{"examples", []string{".", "arkehttp", "arketest", "node"}, "examples show what users may use"},
	{"tests/counts", []string{"internal/node", "relay", "patterns", "security", "internal/nowait"}, "it counts what programs cost that embed a node, or are attached"},
	{"tests/measure", []string{"internal/collector", "internal/node", "relay", "patterns", "security", "overlay/p2p", "overlay", "tests/harness"}, "measurements look at single nodes, too"},
	{"tests/conformance", []string{"."}, "the promises are those of the public API"},
	{"tests", []string{"relay/client", "patterns"}, "black-box tests know the binary and the client only"},
}

// folderOf returns the folder of one of our packages: "." is the module's root.
func folderOf(importPath string) (folder string, ours bool) {
	if importPath+"/" == module {
		return ".", true
	}
	return strings.CutPrefix(importPath, module)
}

// within says whether the path is the folder or lies below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

func ruleOf(path string) (layer, bool) {
	for _, l := range layers {
		if within(path, l.folder) {
			return l, true
		}
	}
	return layer{}, false
}

// TestLayers checks that an upper layer imports lower ones only, and that
// every package belongs to a layer.
func TestLayers(t *testing.T) {
	for _, p := range list(t) {
		path, _ := folderOf(p.ImportPath)
		rule, ok := ruleOf(path)
		require.True(t, ok, "%s belongs to no layer: add it to the table, with a reason", path)
		for _, imported := range p.Imports {
			target, ours := folderOf(imported)
			if !ours || within(target, rule.folder) && rule.folder != "patterns" {
				continue
			}
			require.True(t, allowed(rule, path, target), "%s imports %s: %s", path, target, rule.reason)
		}
	}
}

func allowed(rule layer, path, target string) bool {
	if rule.folder == "patterns" && within(target, "patterns") {
		return target == "patterns" || within(target, "patterns/internal") || within(target, path) || patternsLadder(path, target)
	}
	for _, folder := range rule.may {
		if !within(target, folder) {
			continue
		}
		// overlay/p2p is a layer of its own inside overlay's folder.
		if within(target, "overlay/p2p") && folder != "overlay/p2p" {
			return rule.folder == "internal/node"
		}
		return true
	}
	return false
}

// patternsLadder says which sub-package of patterns stands upon another one.
// All share the parent's vocabulary and internal parts; beside that, request is
// what the others that go to members stand upon: a push, a broadcast, a survey
// and the opening of a tunnel are requests with an ending of their own. The
// parts below a pattern never import it, nor one another, but for what they have in
// common.
func patternsLadder(path, target string) bool {
	switch target {
	case "patterns/request":
	case "patterns/pubsub/env": // what the parts of topics have in common
		return within(path, "patterns/pubsub")
	default:
		return false
	}
	switch path {
	case "patterns/push", "patterns/broadcast", "patterns/survey", "patterns/tunnel":
		return true
	case "patterns/internal/fake": // stands in for it, in tests
		return true
	}
	return false
}

// TestOnlyP2PImportsLibp2pBeyondCore checks that libp2p stays replaceable.
func TestOnlyP2PImportsLibp2pBeyondCore(t *testing.T) {
	for _, p := range list(t) {
		path := strings.TrimPrefix(p.ImportPath, module)
		if within(path, "overlay/p2p") {
			continue
		}
		for _, imported := range p.Imports {
			if strings.HasPrefix(imported, "github.com/libp2p/") {
				require.True(t, strings.HasPrefix(imported, "github.com/libp2p/go-libp2p/core/"),
					"%s imports %s: only overlay/p2p may know libp2p beyond core", path, imported)
			}
		}
	}
}

// linked lists what a program of ours links.
func linked(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", strings.TrimSuffix(module+strings.TrimPrefix(pkg, "."), "/")).Output()
	require.NoError(t, err)
	return strings.Fields(string(out))
}

// TestNothingForbiddenIsLinked checks that the program stays small: QUIC,
// WebRTC and libp2p's all-in constructor add 9 MB and 30 modules.
func TestNothingForbiddenIsLinked(t *testing.T) {
	for _, dep := range linked(t, "cmd/arke") {
		for _, bad := range []string{"github.com/pion/", "github.com/quic-go/"} {
			require.False(t, strings.HasPrefix(dep, bad), "cmd/arke links %s", dep)
		}
		require.NotEqual(t, "github.com/libp2p/go-libp2p", dep)
		require.NotEqual(t, "github.com/libp2p/go-libp2p/config", dep)
	}
}

// TestLinkerMayLeaveOutMethods checks that the program stays small: with
// html/template, which calls methods of text/template by reflection, the linker
// has to keep every exported method, which is 4 MB. (cobra imports the latter
// so that it is only used if a program sets templates of its own.)
func TestLinkerMayLeaveOutMethods(t *testing.T) {
	require.NotContains(t, linked(t, "cmd/arke"), "html/template")
	require.NotContains(t, linked(t, "sim/report"), "text/template")
}

// TestAttachedProgramsLinkNoHost checks that a program that attaches to a relay
// carries no host and no DHT: of libp2p nothing but the vocabulary in core.
func TestAttachedProgramsLinkNoHost(t *testing.T) {
	for _, dep := range append(linked(t, "."), linked(t, "examples/attached")...) {
		require.NotEqual(t, module+"node", dep)
		require.NotEqual(t, module+"internal/node", dep)
		require.NotEqual(t, module+"overlay/p2p", dep)
		require.NotContains(t, dep, "go-libp2p-kad-dht")
		require.NotContains(t, dep, "prometheus")
		if strings.HasPrefix(dep, "github.com/libp2p/go-libp2p") {
			require.True(t, strings.HasPrefix(dep, "github.com/libp2p/go-libp2p/core/"), "package arke links %s", dep)
		}
	}
}

// TestAttachedProgramsAreSmall checks the size of one, stripped.
func TestAttachedProgramsAreSmall(t *testing.T) {
	program := filepath.Join(t.TempDir(), "attached")
	out, err := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, module+"examples/attached").CombinedOutput()
	require.NoError(t, err, string(out))
	info, err := os.Stat(program)
	require.NoError(t, err)
	t.Logf("%.1f MB", float64(info.Size())/1e6)
	require.Less(t, info.Size(), int64(10e6))
}
