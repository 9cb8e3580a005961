// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arke_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/arke-mesh/arke"
	"github.com/arke-mesh/arke/node"
)

func TestErrorsOfEachSideAreThoseOfThisPackage(t *testing.T) {
	// This test has a handler return its own error, an error of another call that
	// it made, and a panic, and checks what the caller gets, and what MaybeRan and
	// OutcomeOf say.
	ctx, server, caller := t.Context(), pair()[0], pair()[1]
	for _, c := range []struct {
		name string
		does func() error
		code arke.Code
	}{
		{"coded", func() error { return &arke.RemoteError{Code: 404, Message: "no"} }, 404},
		{"wrapped", func() error { return fmt.Errorf("geo: %w", &arke.RemoteError{Code: 405, Message: "no"}) }, 405},
		{"plain", func() error { return errors.New("no") }, arke.CodeUnknown},
		{"panic", func() error { panic("no") }, arke.CodePanic},
	} {
		cluster := "errors-" + c.name
		member, err := server.Serve(ctx, cluster, arke.HandlerFunc(func(context.Context, *arke.Request) (arke.Message, error) {
			return arke.Message{}, c.does()
		}))
		require.NoError(t, err)
		_, err = caller.Request(ctx, cluster, arke.Message{}, arke.WaitForMember())
		var remote *arke.RemoteError
		require.ErrorAs(t, err, &remote, c.name)
		require.Equal(t, c.code, remote.Code, c.name)
		require.Equal(t, cluster, remote.Cluster)
		require.True(t, arke.MaybeRan(err))
		require.Equal(t, arke.Outcome("remote_error"), arke.OutcomeOf(err))
		require.NoError(t, member.Close(ctx))
	}

	late, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	_, err := caller.Request(late, "errors", arke.Message{})
	var deadline *arke.DeadlineError
	require.ErrorAs(t, err, &deadline)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.True(t, deadline.Timeout())
	require.False(t, arke.MaybeRan(err))
	require.True(t, arke.MaybeRan(nil))
	require.Equal(t, arke.Outcome("reply"), arke.OutcomeOf(nil))
}

func TestAnErrorOfACallNamesItsCluster(t *testing.T) {
	// This test checks that a log line with nothing but the error says which cluster
	// has no members.
	ctx, c := t.Context(), pair()[0]
	_, asked := c.Request(ctx, "lighthouse", arke.Message{})
	_, opened := c.OpenTunnel(ctx, "lighthouse", arke.Message{})
	_, listed := c.Members(ctx, "lighthouse")
	for _, err := range []error{asked, opened, listed, c.Push(ctx, "lighthouse", arke.Message{})} {
		require.ErrorIs(t, err, arke.ErrNoMembers)
		require.ErrorContains(t, err, `"lighthouse"`)
		require.Equal(t, arke.Outcome("no_members"), arke.OutcomeOf(err))
	}
}

func TestClosingASubscriptionThatNobodyReadsDoesNotWait(t *testing.T) {
	// This test publishes to a subscription without a loop, and closes it with a
	// context that does not end. A loop that follows ends at once, and the messages
	// count as missed.
	ctx, c := context.Background(), pair()[0]
	sub, err := c.Subscribe(ctx, "unread.*")
	require.NoError(t, err)
	for range 10 {
		require.NoError(t, c.Publish(ctx, "unread.x", arke.Message{}))
	}
	require.NoError(t, sub.Close(ctx))
	require.NoError(t, sub.Close(ctx))
	for range sub.Messages() {
		require.Fail(t, "something came")
	}
	require.Equal(t, arke.SubscriptionStatus{Missed: 10}, sub.Status())
}

func TestALoopGetsWhatWasPublishedBeforeShutdownAndThenEnds(t *testing.T) {
	// This test shuts a node down while a loop reads slowly: the loop gets all
	// messages, and ends. Another node is closed, and its loop and its listener
	// end, too.
	network, err := node.NewNetwork("test")
	require.NoError(t, err)
	ctx := context.Background()
	const count = 20
	c := startNode(network)
	sub, err := c.Subscribe(ctx, "slow.*")
	require.NoError(t, err)
	got := make(chan int)
	first := make(chan bool, count)
	go func() {
		n := 0
		for range sub.Messages() {
			first <- true
			time.Sleep(time.Millisecond)
			n++
		}
		got <- n
	}()
	for range count {
		require.NoError(t, c.Publish(ctx, "slow.x", arke.Message{}))
	}
	<-first
	require.NoError(t, c.Shutdown(ctx))
	require.Equal(t, count, <-got)

	c = startNode(network)
	sub, err = c.Subscribe(ctx, "slow.*")
	require.NoError(t, err)
	l, err := c.Listen("doors")
	require.NoError(t, err)
	accepted := make(chan error)
	go func() {
		_, err := l.Accept()
		accepted <- err
	}()
	go func() {
		n := 0
		for range sub.Messages() {
			n++
		}
		got <- n
	}()
	require.NoError(t, c.Close())
	require.Zero(t, <-got)
	require.Error(t, <-accepted)
	_, err = c.Subscribe(ctx, "slow.*")
	require.ErrorIs(t, err, arke.ErrClosed)
}

func TestCallExchangesJSONAndProtobuf(t *testing.T) {
	// This test exchanges values with both codecs, and checks that a body that is
	// none of the codec's is refused as malformed.
	ctx, server, caller := t.Context(), pair()[0], pair()[1]
	double := func(_ context.Context, n int) (int, error) { return 2 * n, nil }
	member, err := server.Serve(ctx, "double", arke.Handle(arke.JSON, double))
	require.NoError(t, err)
	defer member.Close(ctx)
	got, err := arke.Call[int, int](ctx, caller, "double", arke.JSON, 21, arke.WaitForMember())
	require.NoError(t, err)
	require.Equal(t, 42, got)
	_, err = arke.Call[string, int](ctx, caller, "double", arke.JSON, "text")
	var remote *arke.RemoteError
	require.ErrorAs(t, err, &remote)
	require.Equal(t, arke.CodeMalformed, remote.Code)

	type text = *wrapperspb.StringValue
	shout := func(_ context.Context, s text) (text, error) { return wrapperspb.String(s.Value + "!"), nil }
	loud, err := server.Serve(ctx, "shout-proto", arke.Handle(arke.Protobuf, shout))
	require.NoError(t, err)
	defer loud.Close(ctx)
	said, err := arke.Call[text, text](ctx, caller, "shout-proto", arke.Protobuf, wrapperspb.String("hello"), arke.WaitForMember())
	require.NoError(t, err)
	require.Equal(t, "hello!", said.Value)
	_, err = arke.Call[int, text](ctx, caller, "shout-proto", arke.Protobuf, 1)
	require.ErrorContains(t, err, "no protobuf message")
}
