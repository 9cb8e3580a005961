// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This test checks that a connection on which nothing comes back any more, as
// after a partition, is replaced when somebody wants the peer, although neither
// TCP nor the multiplexer has noticed.
func TestAQuietConnectionMustShowThatItWorks(t *testing.T) {
	a, b := two(t)
	g := newGate(t, b.Addrs()[0])
	through := b.candidate()
	through.Addrs = []string{g.addr}
	_, err := a.Connect(within(t), through)
	require.NoError(t, err)
	a.want(true, b.Self())
	b.want(true, a.Self())

	time.Sleep(2500 * time.Millisecond)
	_, err = a.Connect(within(t), through)
	require.NoError(t, err)
	require.Zero(t, a.Counters()["conn_stale"], "it answers")

	g.pause() // as in a partition
	time.Sleep(2500 * time.Millisecond)
	begun := time.Now()
	defer func() { t.Log(a.Counters(), b.Counters()) }()
	pair(t, a, b)
	require.Less(t, time.Since(begun), 10*time.Second)
	require.NotZero(t, a.Counters()["conn_stale"])
}
