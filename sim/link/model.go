// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package link

import (
	"strconv"
	"time"
)

// Model describes a link in one direction. The zero value of a field means
// nothing of it; the zero Model delivers at once.
type Model struct {
	Latency time.Duration // one way
	Jitter  time.Duration // on top of it, uniform between 0 and this
	Loss    uint32        // of packets, in parts per million
	Mbps    int           // 10⁶ bits a second; 0 = unbounded, unless Kbps has it
	Kbps    int           // 10³ bits a second more
	Queue   int           // bytes that may wait for the bottleneck, default DefaultQueue; only with a rate
}

const (
	// DefaultQueue is that of a Model with a bandwidth and no Queue, in bytes.
	DefaultQueue = 256 << 10

	// PacketSize is how many bytes of a stream travel in one packet.
	PacketSize = 1400

	// MinRTO is how much longer than a round trip a sender waits at least until
	// it notices a loss though nothing comes back.
	MinRTO = 200 * time.Millisecond

	// MaxRTO bounds the doubling of the RTO: package p2p asks the kernel for that.
	MaxRTO = time.Second

	// Patience is how long a sender tries to get one packet through before
	// it gives the connection up.
	Patience = 30 * time.Second

	// AllLost is the Loss of a link that delivers nothing.
	AllLost = 1_000_000
)

// String returns m in words: "10ms+1ms, 8 Mbps, queue 65536 B, loss 500 ppm".
func (m Model) String() string {
	s := m.Latency.String()
	if m.Jitter > 0 {
		s += "+" + m.Jitter.String()
	}
	switch {
	case m.Kbps > 0:
		s += ", " + strconv.FormatInt(m.Rate(), 10) + " kbps"
	case m.Mbps > 0:
		s += ", " + strconv.Itoa(m.Mbps) + " Mbps"
	}
	if m.Bounded() {
		s += ", queue " + strconv.Itoa(m.normal().Queue) + " B"
	}
	if m.Loss > 0 {
		s += ", loss " + strconv.FormatUint(uint64(m.Loss), 10) + " ppm"
	}
	return s
}

// normal returns m with its default, and without what can't be.
func (m Model) normal() Model {
	m.Latency, m.Jitter = max(0, m.Latency), max(0, m.Jitter)
	m.Loss = min(m.Loss, AllLost)
	m.Mbps, m.Kbps = max(0, m.Mbps), max(0, m.Kbps)
	if m.Queue <= 0 {
		m.Queue = DefaultQueue
	}
	return m
}

// Rate is what the bottleneck lets pass, in 10³ bits a second; 0 = everything.
func (m Model) Rate() int64 { return 1000*int64(m.Mbps) + int64(m.Kbps) }

// Bounded says whether there is a bottleneck.
func (m Model) Bounded() bool { return m.Rate() > 0 }

// Transmit is how long so many bytes take to pass the bottleneck.
func (m Model) Transmit(size int) time.Duration {
	if !m.Bounded() || size <= 0 {
		return 0
	}
	return time.Duration(int64(size) * 8_000_000 / m.Rate())
}

// RTT is the round trip that a sender measures on a link which is the same in
// both directions.
func (m Model) RTT() time.Duration { return 2*m.Latency + m.Jitter }

// RTO is how long a sender waits for an acknowledgement before it sends again
// for the first time.
func (m Model) RTO() time.Duration { return min(m.RTT()+max(MinRTO, 4*m.Jitter), MaxRTO) }
