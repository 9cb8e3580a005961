// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package push_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/push"
	"github.com/arke-mesh/arke/patterns/request"
)

// asker notes what it is asked, and fails as it is told to.
type asker struct {
	request.Asker // nil: nobody asks all
	seen          []request.Ask
	err           error
}

func (a *asker) Ask(_ context.Context, q request.Ask) (request.Answer, error) {
	a.seen = append(a.seen, q)
	return request.Answer{}, a.err
}

func TestAPushIsAnAskWithoutAReply(t *testing.T) {
	// This test checks what is handed down, that errors come back as they are,
	// and the counters.
	a := &asker{}
	e := push.New(a)
	m := patterns.Message{Body: []byte("x")}
	o := patterns.RequestOptions{Idempotent: true, Policy: patterns.PolicySticky, StickyKey: "k", Report: &patterns.RequestReport{}}
	require.NoError(t, e.Push(t.Context(), "geo", m, o))
	require.Equal(t, []request.Ask{{Cluster: "geo", Pattern: patterns.PatternPush, Message: m, Options: o}}, a.seen)
	a.err = patterns.ErrOverloaded
	require.Equal(t, patterns.ErrOverloaded, e.Push(t.Context(), "geo", m, patterns.RequestOptions{}))
	require.Equal(t, push.Status{Accepted: 1, Failed: 1}, e.Status())
}
