// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/overlay/p2p"
)

// Frames of this many bytes leave in batches, as the overlay's writer sends
// whatever has queued up while a write was under way.
const frameSize = 1024

// BenchmarkFrames measures frames of 1 KB in one direction: over a link
// stream, and over a bare crypto/tls connection for comparison.
func BenchmarkFrames(b *testing.B) {
	for _, batch := range []int{1, 16, 64, 240} {
		b.Run(fmt.Sprintf("stream/batch=%d", batch), func(b *testing.B) {
			network := p2p.NewNetwork(b)
			from, to := pair(b, start(b, network), start(b, network))
			transfer(b, from, to, batch)
		})
		b.Run(fmt.Sprintf("tls/batch=%d", batch), func(b *testing.B) {
			from, to := barePair(b)
			transfer(b, from, to, batch)
		})
	}
}

// BenchmarkEcho measures one byte there and back.
func BenchmarkEcho(b *testing.B) {
	b.Run("stream", func(b *testing.B) {
		network := p2p.NewNetwork(b)
		from, to := pair(b, start(b, network), start(b, network))
		bounce(b, from, to, 1)
	})
	b.Run("tls", func(b *testing.B) {
		from, to := barePair(b)
		bounce(b, from, to, 1)
	})
}

func transfer(b *testing.B, from io.Writer, to io.Reader, batch int) {
	b.SetBytes(frameSize)
	b.ResetTimer()
	flow(b, from, to, make([]byte, batch*frameSize), int64(b.N)*frameSize)
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "frames/s")
}

// flow has so many bytes go from one end to the other, in batches.
func flow(b *testing.B, from io.Writer, to io.Reader, batch []byte, total int64) {
	done := make(chan error, 1)
	go func() {
		_, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{io.LimitReader(to, total)}, make([]byte, 64<<10))
		done <- err
	}()
	for left := total; left > 0; left -= int64(len(batch)) {
		if _, err := from.Write(batch[:min(left, int64(len(batch)))]); err != nil {
			b.Fatal(err)
		}
	}
	if err := <-done; err != nil {
		b.Fatal(err)
	}
}

// bounce has so many bytes go there and back, b.N times.
func bounce(b *testing.B, from, to io.ReadWriter, size int) {
	go func() {
		buf := make([]byte, size)
		for {
			if _, err := io.ReadFull(to, buf); err != nil {
				return
			}
			if _, err := to.Write(buf); err != nil {
				return
			}
		}
	}()
	buf := make([]byte, size)
	b.ResetTimer()
	for range b.N {
		if _, err := from.Write(buf); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(from, buf); err != nil {
			b.Fatal(err)
		}
	}
}

// barePair returns the two ends of a TLS 1.3 connection over loopback.
func barePair(b *testing.B) (from, to net.Conn) {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(b, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, public, private)
	require.NoError(b, err)
	conf := &tls.Config{
		Certificates:       []tls.Certificate{{Certificate: [][]byte{cert}, PrivateKey: private}},
		InsecureSkipVerify: true, // it is about speed
		MinVersion:         tls.VersionTLS13,
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", conf)
	require.NoError(b, err)
	defer l.Close()
	accepted := make(chan net.Conn, 1)
	go func() {
		c, err := l.Accept()
		if err == nil {
			err = c.(*tls.Conn).Handshake()
		}
		if err == nil {
			accepted <- c
		}
	}()
	from, err = tls.Dial("tcp", l.Addr().String(), conf)
	require.NoError(b, err)
	to = <-accepted
	b.Cleanup(func() { from.Close(); to.Close() })
	return from, to
}
