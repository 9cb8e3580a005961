// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package p2p

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	pb "github.com/libp2p/go-libp2p-kad-dht/pb"
	kb "github.com/libp2p/go-libp2p-kbucket"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/proto"
)

// answerProtocol is what kad-dht puts behind the prefix of a network.
const answerProtocol = "/kad/1.0.0"

// Bounds of the questions that a peer may ask us. Ours take a few hundred bytes and
// use one stream again and again.
const (
	maxQuestion  = 4 << 10
	maxAskers    = 4               // streams of one peer
	askerIdle    = 2 * time.Second // between two questions; then the asker opens another stream
	questionTime = 5 * time.Second // from the first byte of a question to the last one of its answer
)

// answerer answers who asks for the peers closest to a key.
//
// Pitfall "messages of 4 MiB": kad-dht's own handler takes six kinds of messages of
// that size, as slowly as they come, on any number of streams. All that anybody here
// asks is FIND_NODE, so that is all that this one takes.
type answerer struct {
	routing  *routing
	counters *counters

	// Guarded by mu.
	mu     sync.Mutex
	askers map[peer.ID]int
}

func newAnswerer(x *routing, c *counters) *answerer {
	return &answerer{routing: x, counters: c, askers: make(map[peer.ID]int)}
}

// serve answers the questions of one stream. It takes over s.
func (a *answerer) serve(s network.Stream) {
	p := s.Conn().RemotePeer()
	if !a.enter(p) {
		a.counters.add(countAskerLimit)
		_ = s.ResetWithError(network.StreamResourceLimitExceeded)
		return
	}
	defer a.leave(p)
	in := bufio.NewReaderSize(s, 512)
	for {
		switch err := a.one(s, in); {
		case err == io.EOF:
			_ = s.Close()
			return
		case errors.Is(err, errQuestion):
			a.counters.add(countQuestion)
			fallthrough
		case err != nil:
			_ = s.Reset()
			return
		}
	}
}

// one answers one question, or returns io.EOF if there is none.
func (a *answerer) one(s network.Stream, in *bufio.Reader) error {
	if err := s.SetReadDeadline(time.Now().Add(askerIdle)); err != nil {
		return err
	}
	if _, err := in.Peek(1); err != nil {
		return err
	}
	if err := s.SetDeadline(time.Now().Add(questionTime)); err != nil {
		return err
	}
	question, err := readQuestion(in)
	if err != nil {
		return err
	}
	answer, err := proto.Marshal(a.answer(s.Conn().RemotePeer(), question))
	if err != nil {
		return fmt.Errorf("p2p: answer: %w", err)
	}
	_, err = s.Write(append(binary.AppendUvarint(nil, uint64(len(answer))), answer...))
	return err
}

// readQuestion reads one message.
func readQuestion(in *bufio.Reader) (*pb.Message, error) {
	size, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errQuestion, err)
	}
	if size > maxQuestion {
		return nil, fmt.Errorf("%w: %d bytes", errQuestion, size)
	}
	b := make([]byte, size)
	if _, err := io.ReadFull(in, b); err != nil {
		return nil, fmt.Errorf("%w: %w", errQuestion, err)
	}
	var m pb.Message
	if err := proto.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", errQuestion, err)
	}
	if m.GetType() != pb.Message_FIND_NODE || len(m.GetKey()) == 0 {
		return nil, fmt.Errorf("%w: type %v", errQuestion, m.GetType())
	}
	return &m, nil
}

// answer names the peers in the table that are closest to the key. The key's own
// peer comes first if it is known, as the protocol has it: by that a new peer shows
// that it answers.
func (a *answerer) answer(from peer.ID, question *pb.Message) *pb.Message {
	key := peer.ID(question.GetKey())
	var near []peer.ID
	if key == a.routing.router.self || key == from || routes(a.routing.host.Network(), key) {
		near = append(near, key)
	}
	for _, p := range a.routing.table.NearestPeers(kb.ConvertKey(string(key)), bucketSize+1) {
		if p != key && p != from && p != a.routing.router.self && len(near) <= bucketSize {
			near = append(near, p)
		}
	}
	var named []peer.AddrInfo
	for _, p := range near {
		addrs := a.routing.host.Peerstore().Addrs(p)
		if len(addrs) > 0 {
			named = append(named, peer.AddrInfo{ID: p, Addrs: addrs[:min(len(addrs), maxNamedAddrs)]})
		}
	}
	answer := pb.NewMessage(question.GetType(), nil, question.GetClusterLevel())
	answer.CloserPeers = pb.PeerInfosToPBPeers(a.routing.host.Network(), named)
	return answer
}

func (a *answerer) enter(p peer.ID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.askers[p] >= maxAskers {
		return false
	}
	a.askers[p]++
	return true
}

func (a *answerer) leave(p peer.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	release(a.askers, p)
}
