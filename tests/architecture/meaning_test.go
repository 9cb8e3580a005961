// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/inbox"
	"github.com/arke-mesh/arke/internal/meaning"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/patterns/pubsub"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/tunnel"
	"github.com/arke-mesh/arke/relay"
)

// TestEveryCounterHasOneMeaning checks that each reason that some package counts is
// in the table of package meaning, once, and that the table has no other.
func TestEveryCounterHasOneMeaning(t *testing.T) {
	var counted []string
	for layer, names := range map[string][]string{
		"p2p": p2p.CounterNames(), "overlay": overlay.DropNames(), "cluster": cluster.DropNames(), "request": request.DropNames(),
		"pubsub": pubsub.DropNames(), "inbox": inbox.DropNames(), "tunnel": tunnel.DropNames(), "relay": relay.DropNames(),
		"federation": node.DropNames(),
	} {
		for _, name := range names {
			counted = append(counted, layer+"."+name)
		}
	}
	var told []string
	for _, e := range meaning.All() {
		if e.Drop() {
			told = append(told, e.Name)
		}
	}
	require.Empty(t, without(counted, told), "internal/meaning does not say what these counters mean")
	require.Empty(t, without(told, counted), "internal/meaning has counters that nobody counts")
	slices.Sort(told)
	require.Len(t, slices.Compact(told), len(counted), "a counter has one meaning")
}

// TestEveryFieldOfTheStatusHasAMeaning checks that each field that arke status
// --json prints is in the table, and that the table has no other.
func TestEveryFieldOfTheStatusHasAMeaning(t *testing.T) {
	shown := map[string]bool{}
	fieldsOf(reflect.TypeFor[node.Status](), "", shown)
	shown["relay"] = true
	fieldsOf(reflect.TypeFor[relay.Status](), "relay.", shown)
	told := map[string]bool{}
	for _, e := range meaning.All() {
		if e.Name != "" && !e.Drop() {
			require.False(t, told[e.Name], "%s has two meanings", e.Name)
			told[e.Name] = true
		}
		require.True(t, strings.HasSuffix(e.Means, "."), "%s%s: a meaning is a sentence", e.Name, e.Metric)
	}
	fields, entries := slices.Sorted(maps.Keys(shown)), slices.Sorted(maps.Keys(told))
	require.Empty(t, without(fields, entries), "internal/meaning does not say what these fields of the status mean")
	require.Empty(t, without(entries, fields), "internal/meaning has fields that the status has not")
}

// without returns what of all is not in others.
func without(all, others []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(s string) bool { return slices.Contains(others, s) })
}

// fieldsOf adds the paths of all fields of a type, as JSON has them.
func fieldsOf(of reflect.Type, prefix string, to map[string]bool) {
	for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if of.Kind() != reflect.Struct {
		return
	}
	for i := range of.NumField() {
		name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		to[prefix+name] = true
		fieldsOf(of.Field(i).Type, prefix+name+".", to)
	}
}

// TestThePageOfMetricsIsAsTheTable checks that docs/metrics.md is what the table
// makes. Write it anew with
//
//	go test ./tests/architecture -run ThePageOfMetrics -update-api
func TestThePageOfMetricsIsAsTheTable(t *testing.T) {
	file := filepath.Join(root, "docs", "metrics.md")
	if *updateAPI {
		require.NoError(t, os.WriteFile(file, []byte(meaning.Page()), 0o644))
	}
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, meaning.Page(), string(page), "write it anew: go test ./tests/architecture -run ThePageOfMetrics -update-api")
}
