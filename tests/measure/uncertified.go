// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"
	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/overlay/p2p"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/tests/harness"
)

// The attacks by peers that hold the network's key and have no certificate where one is
// required.
const (
	uncertifiedIDs  = 75
	uncertifiedOpen = 4    // streams that each of them tries to hold
	newStalled      = 1000 // handshakes a second that stop halfway, all of one address
	newPassers      = 100  // peer ids a second that come and go
)

// uncertified measures the same as strangers where the attackers hold the network's key:
// their handshakes stop halfway, they hold streams on which they say nothing, or they come
// and go under ever new ids.
func uncertified(m *meter) {
	office := harness.NewOffice(m, "required")
	file, err := security.ReadNetworkFile(office.Key())
	m.must(err)
	all := []string{"--serve", ">", "--call", ">", "--publish", ">", "--subscribe", ">"}
	first := office.Certified("a", all)
	second := office.Certified("b", all, harness.Seed(first))
	harness.Together(m, first, second)
	serve(m, second, "echo")
	first.Sees(1, "echo")
	x := &siege{meter: m, file: file, relays: []*harness.Relay{first, second}, ask: asks(first.Client())}
	x.key, err = security.GenerateNodeKey(rand.Reader)
	m.must(err)
	office.Does("sign", append([]string{"--peer", x.key.PeerID().String(), "--name", "honest", "--out", office.File("honest.cert")}, all...)...)
	x.certificate, err = security.ReadCertificateFile(office.File("honest.cert"))
	m.must(err)
	spare := runs(m, "dummy").line()
	for _, attack := range []string{"stalled", "mute", "passing"} {
		var control, attacked []struckRound
		for range struck {
			control = append(control, x.strike(attack, spare, office.Key(), ""))
			attacked = append(attacked, x.strike(attack, second.Addr(), office.Key(), second.Peer()))
		}
		x.compare(attack, control, attacked)
	}
}

// keyHolders is the network as those see it that have its key and no certificate.
func keyHolders(keyFile string) (*security.Network, error) {
	file, err := security.ReadNetworkFile(keyFile)
	if err != nil {
		return nil, err
	}
	file.Issuance = security.Issuance{}
	return security.NewNetwork(file)
}

// stalled begins handshakes that are good as far as they go.
func stalled(target, keyFile string) error {
	network, err := keyHolders(keyFile)
	if err != nil {
		return err
	}
	fmt.Println("attacking")
	begin, turns := time.Now(), make(chan struct{}, 2048)
	for begun := 0; ; time.Sleep(time.Millisecond) {
		for ; begun < int(time.Since(begin).Seconds()*newStalled); begun++ {
			turns <- struct{}{}
			go func() {
				defer func() { <-turns }()
				c, err := net.DialTimeout("tcp", tcpOf(target), time.Second)
				if err != nil {
					return
				}
				defer c.Close()
				_ = c.(*net.TCPConn).SetLinger(0)
				stallIn(c, network)
			}()
		}
	}
}

// stallIn says the first half of a handshake, and waits until it is cut off.
func stallIn(c net.Conn, network *security.Network) {
	_ = c.SetDeadline(time.Now().Add(5 * time.Second))
	half := &firstWrite{Conn: &greeting{Conn: c, network: network}}
	_ = tls.Client(half, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{overlay.LinkProtocol}}).Handshake()
	_, _ = c.Read(make([]byte, 1))
}

// firstWrite writes once, and no more.
type firstWrite struct {
	net.Conn
	wrote bool
}

func (f *firstWrite) Write(p []byte) (int, error) {
	if f.wrote {
		return len(p), nil
	}
	f.wrote = true
	return f.Conn.Write(p)
}

// deaf hears nothing of what the transport says.
type deaf struct{}

func (deaf) HandleStream(s overlay.Stream) { _ = s.Reset(1) }
func (deaf) PeerUp(peer.ID)                {}
func (deaf) PeerDown(peer.ID)              {}
func (deaf) Certificate() []byte           { return nil }
func (deaf) Routes(peer.ID, []byte) bool   { return true }

// keyHolder is a peer without a certificate.
func keyHolder(network *security.Network) (*p2p.Host, error) {
	key, err := security.GenerateNodeKey(rand.Reader)
	if err != nil {
		return nil, err
	}
	h, err := p2p.New(p2p.Config{Key: key, Network: network, Listen: []string{loopback}})
	if err != nil {
		return nil, err
	}
	return h, h.Start(deaf{})
}

// mute holds streams on which nothing is said, of many ids.
func mute(target, keyFile, victim string) error {
	network, err := keyHolders(keyFile)
	if err != nil {
		return err
	}
	id, err := victimID(victim)
	if err != nil {
		return err
	}
	for range uncertifiedIDs {
		h, err := keyHolder(network)
		if err != nil {
			return err
		}
		go func() {
			for {
				holdStreams(h, id, target)
				h.Disconnect(id)
				time.Sleep(10 * time.Millisecond)
			}
		}()
	}
	fmt.Println("attacking")
	select {}
}

func holdStreams(h *p2p.Host, victim peer.ID, target string) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	var wg sync.WaitGroup
	for range uncertifiedOpen {
		s, err := h.Open(ctx, victim, []string{target})
		if err != nil {
			return
		}
		_, _ = s.Write([]byte{0})
		wg.Go(func() {
			_ = s.SetReadDeadline(time.Now().Add(5 * time.Second))
			_, _ = s.Read(make([]byte, 1))
			_ = s.Close()
		})
	}
	wg.Wait()
}

// passing has ever new ids come, and go.
func passing(target, keyFile, victim string) error {
	network, err := keyHolders(keyFile)
	if err != nil {
		return err
	}
	id, err := victimID(victim)
	if err != nil {
		return err
	}
	fmt.Println("attacking")
	for range time.Tick(time.Second / newPassers) {
		h, err := keyHolder(network)
		if err != nil {
			return err
		}
		go func() {
			defer h.Close()
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			if s, err := h.Open(ctx, id, []string{target}); err == nil {
				_ = s.Close()
			}
		}()
	}
	return nil
}

// tcpOf is a target, which may be a multiaddr, as net has it.
func tcpOf(target string) string {
	if !strings.HasPrefix(target, "/") {
		return target
	}
	a, err := manet.ToNetAddr(ma.StringCast(strings.Split(target, "/p2p/")[0]))
	if err != nil {
		panic(err)
	}
	return a.String()
}

// victimID is whom an attacker expects at the target; the dummy, "", is anybody.
func victimID(text string) (peer.ID, error) {
	if text != "" {
		return peer.Decode(text)
	}
	key, err := security.GenerateNodeKey(rand.Reader)
	return key.PeerID(), err
}
