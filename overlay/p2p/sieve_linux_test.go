// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sys/unix"

	"github.com/arke-mesh/arke/security"
)

// This test says to a listener less than any greeting: nothing, one byte, one byte less
// than a greeting and the head of its record. None of these is ever accepted, whatever
// byte follows. What is as long as that is, and then each byte passes.
func TestTheKernelKeepsWhoDoesNotGreet(t *testing.T) {
	if cookies, err := os.ReadFile("/proc/sys/net/ipv4/tcp_syncookies"); err != nil || strings.TrimSpace(string(cookies)) == "0" {
		t.Skip("without SYN cookies the kernel keeps nobody")
	}
	l, err := machine{}.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	accepted := make(chan net.Conn, 10)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				close(accepted)
				return
			}
			accepted <- c
		}
	}()
	const size = security.GreetingSize + recordHead
	greeting := make([]byte, size)
	dial := func(first []byte) net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		_, err = c.Write(first)
		require.NoError(t, err)
		return c
	}
	for _, first := range [][]byte{nil, {0}, greeting[:size-1]} {
		c := dial(first)
		defer c.Close()
		time.Sleep(10 * time.Millisecond)
		_, _ = c.Write([]byte{1})
	}
	c := dial(greeting)
	defer c.Close()
	var in net.Conn
	select {
	case in = <-accepted:
	case <-time.After(time.Minute):
		t.Fatal("nobody is accepted")
	}
	defer in.Close()
	require.Equal(t, c.LocalAddr().String(), in.RemoteAddr().String(), "only who greets")
	unsift(in)
	require.NoError(t, in.SetDeadline(time.Now().Add(time.Minute)))
	for _, b := range []byte("short") {
		_, err := c.Write([]byte{b})
		require.NoError(t, err)
	}
	got := make([]byte, size+5)
	_, err = io.ReadFull(in, got)
	require.NoError(t, err)
	require.Equal(t, "short", string(got[size:]))
	require.NoError(t, l.Close())
	for in := range accepted {
		t.Fatal("accepted: ", in.RemoteAddr())
	}
}

// This test has the kernel refuse the sieve of a listener: the listener works, and why it
// has none is counted, logged once, and in the status.
func TestAListenerWithoutASieveSaysSo(t *testing.T) {
	core, logs := observer.New(zap.WarnLevel)
	h := &Host{counters: new(counters), log: zap.New(core)}
	require.Nil(t, h.Sieve())
	l, err := machine{}.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	sifted(h, l)
	off := l.(*sieved).off
	require.Equal(t, off == nil, h.Sieve().On)
	require.Equal(t, off != nil, logs.Len() == 1)

	closed, err := l.(*sieved).Listener.(*net.TCPListener).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, l.Close())
	refused := sift(closed)
	require.Error(t, refused)
	h = &Host{counters: new(counters), log: zap.New(core)}
	logs.TakeAll()
	sifted(h, &sieved{l, nil})
	require.True(t, h.Sieve().On)
	sifted(h, &sieved{l, refused})
	sifted(h, &sieved{l, refused})
	sifted(h, &sieved{l, nil})
	require.Equal(t, &Sieve{Reason: refused.Error()}, h.Sieve())
	require.Equal(t, 1, logs.Len())
	require.EqualValues(t, 2, h.counters[countUnsifted].Load())
}

// A greeting with its ClientHello is longer than a packet of Ethernet, so it comes in two,
// both before the connection is accepted. The kernel drops none of them: nothing is
// sent twice, which would take 200 ms.
func TestTheKernelTakesAGreetingInTwoPackets(t *testing.T) {
	const hello, packet = 1506, 1460
	l, err := machine{}.Listen("127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	require.NoError(t, err)
	defer c.Close()
	said := make([]byte, hello)
	said[security.GreetingSize], said[security.GreetingSize+1] = typeRecord, majorVersion
	for _, part := range [][]byte{said[:packet], said[packet:]} {
		_, err = c.Write(part)
		require.NoError(t, err)
	}
	in, err := l.Accept()
	require.NoError(t, err)
	defer in.Close()
	unsift(in)
	require.NoError(t, in.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.ReadFull(in, said)
	require.NoError(t, err)
	raw, err := c.(*net.TCPConn).SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		require.NoError(t, err)
		require.Zero(t, info.Total_retrans)
	}))
}
