// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// Garbage makes bytes that are almost right. It is seeded: the same seed
// gives the same bytes.
type Garbage struct {
	rng *rand.Rand
}

// NewGarbage returns a source of garbage.
func NewGarbage(seed uint64) *Garbage {
	return &Garbage{rng: rand.New(rand.NewPCG(seed, 0))}
}

// Split cuts a recorded stream into its frames: four bytes of length, then
// the frame.
func Split(stream []byte) [][]byte {
	var frames [][]byte
	for len(stream) >= 4 {
		n := 4 + int(binary.BigEndian.Uint32(stream))
		if n > len(stream) {
			break
		}
		frames = append(frames, stream[:n])
		stream = stream[n:]
	}
	return frames
}

// Noise returns up to limit random bytes.
func (g *Garbage) Noise(limit int) []byte {
	b := make([]byte, 1+g.rng.IntN(limit))
	for i := range b {
		b[i] = byte(g.rng.Uint32())
	}
	return b
}

// Frame returns a frame of random content under a right length.
func (g *Garbage) Frame(limit int) []byte {
	body := g.Noise(limit)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...)
}

// Mutant returns a copy of one of the frames with a few mistakes in it. Half
// of the time the length fits again, so that the mistakes are not noticed
// before the frame is decoded.
func (g *Garbage) Mutant(frames [][]byte) []byte {
	b := slices.Clone(frames[g.rng.IntN(len(frames))])
	for range 1 + g.rng.IntN(4) {
		b = g.spoil(b)
	}
	if len(b) >= 4 && g.rng.IntN(2) == 0 {
		binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	}
	return b
}

// spoil makes one mistake in b.
func (g *Garbage) spoil(b []byte) []byte {
	if len(b) == 0 {
		return g.Noise(8)
	}
	at := g.rng.IntN(len(b))
	switch g.rng.IntN(6) {
	case 0: // flip a bit
		b[at] ^= 1 << g.rng.IntN(8)
	case 1: // an extreme value
		b[at] = []byte{0, 1, 127, 128, 255}[g.rng.IntN(5)]
	case 2: // cut off
		b = b[:at]
	case 3: // repeat a part
		b = slices.Insert(b, at, slices.Clone(b[at:min(len(b), at+16)])...)
	case 4: // put something in
		b = slices.Insert(b, at, g.Noise(32)...)
	case 5: // leave something out
		b = slices.Delete(b, at, min(len(b), at+1+g.rng.IntN(8)))
	}
	return b
}

// Throw dials, writes the bytes, says that nothing will follow, and reads
// until the other side is done too. It reports whether it could dial: a dead
// process refuses. That the other side hangs up early is what it is there for.
func Throw(network, addr string, bytes []byte) bool {
	c, err := net.Dial(network, addr)
	if err != nil {
		return false
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(2 * time.Second))
	if _, err := c.Write(bytes); err != nil {
		return true
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_, _ = io.Copy(io.Discard, c)
	return true
}

// OneIn is true once in n times.
func (g *Garbage) OneIn(n int) bool { return g.rng.IntN(n) == 0 }

// Tap stands between two sides of a connection and records what the one that
// dials says, so that it can be said again with mistakes. It can be cut.
type Tap struct {
	listener net.Listener
	network  string
	target   string
	wg       sync.WaitGroup

	mu sync.Mutex
	// Guarded by mu.
	heard []byte
	conns []net.Conn
}

// TapSocket listens on a unix socket in front of the relay's own.
func TapSocket(t TB, r *Relay) *Tap {
	t.Helper()
	return newTap(t, "unix", filepath.Join(Folder(t), "tap"), r.Socket())
}

// TapPort listens on a TCP port in front of the relay's port for nodes.
func TapPort(t TB, r *Relay) *Tap {
	t.Helper()
	return newTap(t, "tcp", "127.0.0.1:0", r.HostPort())
}

func newTap(t TB, network, addr, target string) *Tap {
	t.Helper()
	l, err := net.Listen(network, addr)
	must(t, err)
	tap := &Tap{listener: l, network: network, target: target}
	tap.wg.Go(tap.accept)
	t.Cleanup(tap.close)
	return tap
}

// Addr returns the path of the socket, or HOST:PORT.
func (t *Tap) Addr() string { return t.listener.Addr().String() }

// Heard returns everything that was said by those who dialled, so far.
func (t *Tap) Heard() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.heard)
}

func (t *Tap) accept() {
	for {
		in, err := t.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial(t.network, t.target)
		if err != nil {
			in.Close()
			continue
		}
		t.mu.Lock()
		t.conns = append(t.conns, in, out)
		t.mu.Unlock()
		t.wg.Go(func() { _, _ = io.Copy(out, io.TeeReader(in, t)); out.Close() })
		t.wg.Go(func() { _, _ = io.Copy(in, out); in.Close() })
	}
}

// Write records p.
func (t *Tap) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.heard = append(t.heard, p...)
	return len(p), nil
}

// Cut breaks the connections there are; the two sides can make new ones.
func (t *Tap) Cut() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, c := range t.conns {
		c.Close()
	}
	t.conns = nil
}

func (t *Tap) close() {
	t.listener.Close()
	t.Cut()
	t.wg.Wait()
}
