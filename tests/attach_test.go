// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/tests/harness"
)

func TestClientSurvivesItsRelaysRestart(t *testing.T) {
	// This test checks that callers and members attach again by themselves
	// when their relay was killed and is back, with nothing but the socket in
	// common, and that a call in between says that it did not get through.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	c := a.Client()
	members := newLedger()
	members.serves(t, b, "far", "far")
	members.serves(t, a, "near", "near")
	serving := a.Serves("process", "--echo")
	a.Sees(1, "far")

	a.Kill()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := c.Request(ctx, "far", patterns.Message{}); err == nil {
		t.Error("a request without a relay was answered")
	}
	a.Forget()
	a.RestartWith(harness.Seed(b))

	harness.Eventually(t, harness.Patience, "that the caller is attached again", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Request(ctx, "far", patterns.Message{Body: []byte("hello")})
		return err
	})
	b.Sees(1, "near")
	b.Sees(1, "process")
	b.Requests("near", "hello").Gets("hello")
	b.Requests("process", "hello").Gets("hello")
	if !serving.Alive() {
		t.Error("arke serve did not survive its relay")
	}
}

func TestPendingRequestEndsWhenTheRelayDies(t *testing.T) {
	// This test checks that a caller whose own relay is killed learns at once
	// that its request was interrupted, instead of waiting for the deadline.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a")
	running := make(chan struct{})
	handler := patterns.HandlerFunc(func(ctx context.Context, _ *patterns.Request) (patterns.Message, error) {
		close(running)
		<-ctx.Done()
		return patterns.Message{}, ctx.Err()
	})
	if _, err := a.Client().Serve(t.Context(), "slow", handler, patterns.Limits{}); err != nil {
		t.Fatal(err)
	}
	a.Sees(1, "slow")
	c := a.Client()
	ended := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		_, err := c.Request(ctx, "slow", patterns.Message{})
		ended <- err
	}()
	<-running
	a.Kill()
	select {
	case err := <-ended:
		if !errors.Is(err, patterns.ErrInterrupted) {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(harness.Patience):
		t.Error("it did not end")
	}
}

func TestRequestIsInterruptedWhenItsMemberDies(t *testing.T) {
	// This test checks that a caller learns at once that the process which
	// handles its request was killed, though that one's relay is well.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	started := filepath.Join(harness.Folder(t), "started")
	member := b.Serves("slow", "--exec", "touch "+started+"; exec sleep 5")
	a.Sees(1, "slow")
	request := a.Asks("slow", "x", "--timeout", "1m")
	exists(t, started)
	member.Kill()
	if code := request.Wait(harness.Patience); code != 7 {
		t.Errorf("it ended with status %d", code)
	}
	a.Sees(0, "slow")
}

// exists waits until a handler has made the file.
func exists(t *testing.T, path string) {
	t.Helper()
	harness.Eventually(t, harness.Patience, "that the handler runs", func() error {
		_, err := os.Stat(path)
		return err
	})
}
