// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/meaning"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay"
)

// limit is a row of docs/limits.md. The value is that of a field, or of a constant, which is
// named by its folder and its name; so the page can't differ from the code.
type limit struct {
	what, value, unit string
	change            string // flag or option; or why it is fixed
	refusal           string // what names it when it is reached: an error, a counter
}

var limits = []struct {
	title string
	rows  []limit
}{
	{"A program beside a relay", []limit{
		{"attached programs of one user, or of one address", "relay.Limits.Clients", "", "--max-clients", "`ErrTooMany`; `relay.refused.too_many_clients`"},
		{"members of a program", "relay.Limits.Registrations", "", "--max-members", "`ErrTooMany`; `relay.registration.too_many`"},
		{"subscriptions of a program", "relay.Limits.Subscriptions", "", "--max-subscriptions", "`ErrTooMany`; `relay.subscription.too_many`"},
		{"requests to a program's members, running and waiting", "relay.Limits.Deliveries", "", "--max-deliveries", "`ErrOverloaded`, other members are asked; `relay.delivery.too_many`"},
		{"publications that wait for a program, and the largest buffer of a subscription", "relay.Limits.PublicationBytes", "bytes", "--publication-bytes", "a gap; `relay.publication.slow_client`; `ErrTooMany` for a larger buffer"},
		{"calls of a program without a reply", "relay.Limits.Requests", "", "use another program", "`ErrOverloaded`; `relay.request.too_many`"},
		{"bytes of these calls", "relay.Limits.RequestBytes", "bytes", "use another program", "`ErrOverloaded`; `relay.request.too_many_bytes`"},
		{"bytes of requests and replies that a program has not read", "relay.Limits.QueueBytes", "bytes", "it must read", "`ErrOverloaded`; `relay.delivery.slow_client`"},
		{"tunnels of a program", "relay.Limits.Tunnels", "", "use another program", "`ErrTooMany`; `relay.tunnel.too_many`"},
		{"bytes in flight in these tunnels", "relay.Limits.TunnelBytes", "bytes", "windows shrink to fit", "–"},
		{"connections that have not said Hello", "relay.Limits.Waiting", "", "the user with most loses one", "`relay.handshake.too_many`"},
		{"clusters with keys that a program brings", "internal/wire.MaxLeafKeySets", "", "give keys to the relay", "`Attach` fails and names the limit"},
		{"versions of such a key", "internal/wire.MaxLeafKeys", "", "the newest are brought; at most two are in use", "–"},
		{"tokens of a relay", "internal/wire.MaxTokens", "", "use fewer", "the relay does not start"},
	}},
	{"All programs of a relay together", []limit{
		{"attached programs", "2*relay.Limits.Clients", "", "--max-clients", "as above; `arke status` and `arke doctor` still get in"},
		{"members", "relay.Totals.Registrations", "", "--max-members", "`ErrTooMany`; `relay.registration.share`"},
		{"subscriptions", "relay.Totals.Subscriptions", "", "--max-subscriptions", "`ErrTooMany`; `relay.subscription.share`"},
		{"requests to their members", "relay.Totals.Deliveries", "", "--max-deliveries", "`ErrOverloaded`; `relay.delivery.share`"},
		{"calls without a reply", "relay.Totals.Requests", "", "use another relay", "`ErrOverloaded`; `relay.request.share`"},
		{"tunnels", "relay.Totals.Tunnels", "", "use another relay", "`ErrTooMany`; `relay.tunnel.share`"},
		{"surveys, broadcasts, and other operations with a goroutine", "relay.Totals.Work", "", "use another relay", "`ErrOverloaded`; `relay.work.share`"},
		{"calls that wait for a first member", "relay.Totals.Waits", "", "use another relay", "`ErrOverloaded`; `relay.wait.share`"},
		{"bytes of everything that the relay holds", "relay.Totals.Bytes", "bytes", "follows --publication-bytes", "`ErrOverloaded`; `relay.bytes.share`"},
	}},
	{"A member", []limit{
		{"handlers that run at once", "patterns.Limits.Concurrency", "", "`Concurrency`, `--concurrency`", "requests wait"},
		{"requests that wait", "patterns.Limits.QueueLength", "", "`QueueLength`, `--queue`", "`ErrOverloaded`; `request.queue_length`"},
		{"bytes that wait", "patterns.Limits.QueueBytes", "bytes", "`QueueBytes`", "`ErrOverloaded`; `request.queue_bytes`"},
		{"one message with its headers", "patterns.Limits.MessageBytes", "bytes", "`MaxMessage`, `--message-bytes`", "`ErrTooLarge`; `request.too_large`"},
		{"the largest MaxMessage", "patterns/request.MaxMessage", "bytes", "use a tunnel", "`Serve` fails and names the limit"},
		{"open tunnels", "patterns.Limits.Tunnels", "", "`Tunnels`, `--tunnels`", "`ErrTooMany`; `tunnel.tunnels`"},
		{"capacity, at most", "cluster.MaxCapacity", "", "weights are relative", "`Serve` fails and names the limit"},
	}},
	{"A node", []limit{
		{"tunnels opened by a node", "patterns/tunnel.DefaultMaxOpen", "", "use another node", "`ErrTooMany`; `tunnel.open`"},
		{"credit that tunnels grant", "patterns/tunnel.DefaultBufferBytes", "bytes", "windows shrink to fit", "`ErrOverloaded`; `tunnel.buffer_bytes`"},
		{"messages of peers that are incomplete", "overlay.DefaultMaxIncomplete", "bytes", "shared between peers", "`overlay.reassembly_full`"},
		{"leases that a node holds as an anchor", "cluster.maxLeases", "", "shared between peers", "`cluster.refused_full`, `cluster.refused_yielded`"},
		{"leases of one cluster id; more members are sharded", "internal/wire.MaxLeases", "", "automatic", "–"},
		{"watches of one cluster id at an anchor", "cluster.maxClusterWatches", "", "shared between peers", "`cluster.refused_full`"},
		{"publishers that a node remembers", "patterns/pubsub/env.MaxStreams", "", "those of the largest source are forgotten first", "`pubsub.streams`"},
		{"messages behind a gap that a subscriber waits for", "patterns/pubsub/env.MaxHeld", "", "then the gap is reported", "`pubsub.gap`"},
		{"unfinished handshakes of peers with a certificate", "overlay.maxHandshakes", "", "shared between peers", "`overlay.handshake_full`"},
		{"connections of peers without a required certificate", "overlay/p2p.maxUncertified", "", "the source with most loses one", "`p2p.conn_uncertified_evicted`"},
	}},
	{"Topics and names", []limit{
		{"one publication with its headers", "patterns/pubsub/env.MaxMessage", "bytes", "use a tunnel", "`ErrTooLarge`; `pubsub.too_large`"},
		{"headers of one message", "internal/wire/header.MaxBytes", "bytes", "use the body", "`ErrTooLarge`"},
		{"name of a cluster, topic or pattern", "cluster.MaxName", "bytes", "–", "the call fails and names the limit"},
		{"name of a queue group", "patterns/pubsub/env.MaxQueueName", "bytes", "–", "the call fails and names the limit"},
		{"first word of topics with keys of their own", "patterns/pubsub/env.maxKeyedWord", "bytes", "–", "the call fails and names the limit"},
		{"name of a zone", "cluster.MaxZone", "bytes", "–", "the node does not start"},
		{"name of a network", "cluster.MaxNetwork", "bytes", "–", "the node does not start"},
		{"queue groups that one message is for", "patterns/pubsub/env.MaxPicks", "", "–", "`pubsub.queues`"},
	}},
	{"A gateway", []limit{
		{"messages in flight of a crossing", "gateway.defaultInFlight", "", "`in-flight` of the crossing", "`in_flight_limit`"},
		{"tunnels of a crossing", "gateway.defaultTunnels", "", "`tunnels` of the crossing", "`tunnels_limit`"},
		{"clusters that one pattern lends at a time", "gateway.maxDemands", "", "name them", "`clusters_limit`"},
		{"of these, requested by one peer", "gateway.maxAsked", "", "name them", "`clusters_limit`"},
		{"networks whose members a crossing with transit lends", "gateway.maxLoans", "", "use another gateway", "`networks_limit`"},
		{"borders that a message may cross", "internal/wire.MaxNetworks", "", "loops end", "`round`"},
	}},
}

// limitsPage is docs/limits.md.
func limitsPage(t *testing.T) string {
	t.Helper()
	var page strings.Builder
	page.WriteString(`# Limits

Nothing in Arke grows without a bound, and nothing is refused without a name. Each row has
the default, how to change it or why it is fixed, and the error or counter that names it.
Counters are in ` + "`arke status`" + ` and ` + "`arke_dropped_total`" + ` ([metrics](metrics.md)). The defaults fit a machine
with 1,000 programs and 1,000 clusters. What programs or peers share is described in
[package relay](../relay/doc.go) and [package security](../security/doc.go).
`)
	for _, part := range limits {
		fmt.Fprintf(&page, "\n## %s\n\n| limit | default | to change it | refused as |\n|---|---|---|---|\n", part.title)
		for _, l := range part.rows {
			change := l.change
			if strings.HasPrefix(change, "--") {
				change = "`arke relay " + change + "`"
			}
			fmt.Fprintf(&page, "| %s | %s | %s | %s |\n", l.what, amount(valueOf(t, l.value), l.unit), change, l.refusal)
		}
	}
	return page.String()
}

// amount writes a number with commas, or bytes with their unit.
func amount(n int64, unit string) string {
	switch {
	case unit == "bytes" && n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case unit == "bytes" && n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	case unit == "bytes":
		return fmt.Sprintf("%d bytes", n)
	case n < 1000:
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// valueOf returns the default of a field, or the value of a constant.
func valueOf(t *testing.T, name string) int64 {
	t.Helper()
	if rest, double := strings.CutPrefix(name, "2*"); double {
		return 2 * valueOf(t, rest)
	}
	for prefix, defaults := range map[string]any{
		"relay.Limits.": relay.DefaultLimits(), "relay.Totals.": relay.DefaultTotals(), "patterns.Limits.": patterns.Limits{}.WithDefaults(),
	} {
		if field, found := strings.CutPrefix(name, prefix); found {
			v := reflect.ValueOf(defaults).FieldByName(field)
			require.True(t, v.IsValid(), name)
			return v.Int()
		}
	}
	dot := strings.LastIndex(name, ".")
	folder := name[:dot]
	value := constantOf(t, folder, name[dot+1:])
	n, exact := constant.Int64Val(value)
	require.True(t, exact, name)
	return n
}

// constantOf evaluates an integer constant of a folder.
func constantOf(t *testing.T, folder, name string) constant.Value {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, d := range parsed.Decls {
			g, is := d.(*ast.GenDecl)
			if !is || g.Tok != token.CONST {
				continue
			}
			for _, spec := range g.Specs {
				s := spec.(*ast.ValueSpec)
				for i, n := range s.Names {
					if n.Name == name {
						require.Less(t, i, len(s.Values), "%s.%s has a value of its own", folder, name)
						return evaluate(t, folder, s.Values[i])
					}
				}
			}
		}
	}
	t.Fatalf("folder %s has no constant %s", folder, name)
	return nil
}

func evaluate(t *testing.T, folder string, e ast.Expr) constant.Value {
	t.Helper()
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0)
	case *ast.ParenExpr:
		return evaluate(t, folder, e.X)
	case *ast.Ident:
		return constantOf(t, folder, e.Name)
	case *ast.SelectorExpr:
		return constantOf(t, map[string]string{"wire": "internal/wire", "header": "internal/wire/header", "env": "patterns/pubsub/env"}[e.X.(*ast.Ident).Name], e.Sel.Name)
	case *ast.BinaryExpr:
		x, y := evaluate(t, folder, e.X), evaluate(t, folder, e.Y)
		if e.Op == token.SHL {
			by, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(by))
		}
		if e.Op == token.QUO {
			return constant.BinaryOp(x, token.QUO_ASSIGN, y) // of integers
		}
		return constant.BinaryOp(x, e.Op, y)
	}
	t.Fatalf("folder %s: %T", folder, e)
	return nil
}

// TestThePageOfLimitsIsAsTheCode checks that docs/limits.md has the defaults of the code,
// and every limit of a relay that has a flag. Write it anew with
//
//	go test ./tests/architecture -run ThePageOfLimits -update-api
func TestThePageOfLimitsIsAsTheCode(t *testing.T) {
	file, made := filepath.Join(root, "docs", "limits.md"), limitsPage(t)
	if *updateAPI {
		require.NoError(t, os.WriteFile(file, []byte(made), 0o644))
	}
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, made, string(page), "write it anew: go test ./tests/architecture -run ThePageOfLimits -update-api")
	l := relay.DefaultLimits()
	for _, f := range l.Flags() {
		require.Contains(t, made, "--"+f.Name)
	}
	for _, counter := range strings.Split(made, "`") {
		if layer, _, found := strings.Cut(counter, "."); found && !strings.Contains(counter, " ") && layer != "arke" {
			require.NotEmpty(t, meaning.OfReason(counter), "no meaning of %s", counter)
		}
	}
}
