// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	ma "github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/security"
	"github.com/arke-mesh/arke/tests/harness"
)

// The attacks on a listener by who holds no key, and how long they are watched.
const (
	heldSilent  = 10_000 // connections that say nothing, at any time
	newSilent   = 2_000  // of them a second
	newWrongKey = 500    // handshakes by another network's key, a second
	spareFiles  = 1_000  // of a process that holds connections
	rampUp      = 6 * time.Second
	watched     = 8 * time.Second
	joinEvery   = 200 * time.Millisecond
	callRate    = 200
	struck      = 5 // rounds
)

// strangers measures how long honest nodes take to join a network, and requests
// between two of its nodes, while strangers strike one of them; beside a control, in
// which they strike a dummy instead, which does no more than accept.
func strangers(m *meter) {
	network := harness.NewNetwork(m)
	file, err := security.ReadNetworkFile(network.Key())
	m.must(err)
	relays := network.Relays(2)
	serve(m, relays[1], "echo")
	relays[0].Sees(1, "echo")
	x := &siege{meter: m, file: file, relays: relays, ask: asks(relays[0].Client())}
	victim, err := manet.ToNetAddr(ma.StringCast(strings.Split(relays[1].Addr(), "/p2p/")[0]))
	m.must(err)
	spare := runs(x.meter, "dummy").line()
	for _, attack := range []string{"silent", "onebyte", "wrongkey"} {
		var control, attacked []struckRound
		for range struck {
			control = append(control, x.strike(attack, spare))
			attacked = append(attacked, x.strike(attack, victim.String()))
		}
		x.compare(attack, control, attacked)
	}
}

// siege is two relays of a network, of which the second one is struck.
type siege struct {
	*meter
	file   security.NetworkFile
	relays []*harness.Relay
	ask    func() error // a request from the first to the second

	// Of nodes that join, where these are required.
	key         security.NodeKey
	certificate []byte
}

// struckRound is what was measured in one round.
type struckRound struct {
	joins, requests []time.Duration
	failed          int
	cpu             time.Duration // of the relay
	rss             int
}

// strike has the attackers strike target for a while.
func (x *siege) strike(kind, target string, more ...string) (r struckRound) {
	attackers := runs(x.meter, append([]string{kind, target}, more...)...)
	if said := attackers.line(); strings.HasPrefix(said, "note: ") {
		x.say(kind+" "+target, "%s", said)
	}
	wait(rampUp)
	before := x.relays[1].CPU()
	var mu sync.Mutex
	load := harness.StartLoad(x, callRate, func(int) error {
		begin := time.Now()
		err := x.ask()
		mu.Lock()
		defer mu.Unlock()
		r.requests = append(r.requests, time.Since(begin))
		return err
	})
	for begin := time.Now(); time.Since(begin) < watched; wait(joinEvery) {
		took, err := x.honestJoin()
		r.joins = append(r.joins, took)
		if err != nil {
			r.failed++
		}
	}
	for _, err := range load.Stop() {
		if err != nil {
			r.failed++
		}
	}
	r.cpu, r.rss = x.relays[1].CPU()-before, x.relays[1].RSS()
	attackers.stop()
	wait(time.Second)
	return r
}

// honestJoin starts a node and waits until it knows the relay.
func (x *siege) honestJoin() (time.Duration, error) {
	n, err := node.New(node.Config{Network: x.file, NodeKey: x.key, Certificate: x.certificate, Listen: []string{loopback}, Seeds: []string{x.relays[1].Addr()}, NoMDNS: true})
	x.must(err)
	defer n.Close()
	begin := time.Now()
	x.must(n.Start(context.Background()))
	for time.Since(begin) < 5*time.Second {
		if n.Status().Peers > 0 {
			return time.Since(begin), nil
		}
		wait(500 * time.Microsecond)
	}
	return time.Since(begin), errors.New("not joined")
}

// compare prints a line of each round and the verdict.
func (x *siege) compare(kind string, control, attacked []struckRound) {
	var joins, tails [2][]time.Duration
	for i := range control {
		for arm, r := range []struckRound{control[i], attacked[i]} {
			name := kind + []string{", control", ", attack"}[arm]
			x.times(name+": joins", r.joins)
			x.times(name+": requests", r.requests)
			x.say(name+": failed; relay's processor, memory", "%d; %.1f %%, %.1f MB", r.failed,
				100*float64(r.cpu)/float64(watched), float64(r.rss)/1e6)
			slices.Sort(r.joins)
			slices.Sort(r.requests)
			joins[arm] = append(joins[arm], r.joins[len(r.joins)/2])
			tails[arm] = append(tails[arm], r.requests[len(r.requests)*99/100])
		}
	}
	for arm := range 2 {
		slices.Sort(joins[arm])
		slices.Sort(tails[arm])
	}
	verdict := func(what string, v [2][]time.Duration, most float64) {
		mid := len(v[0]) / 2
		x.say(kind+": "+what, "control %v (%v-%v), attack %v (%v-%v): %.2f times, may be %.1f",
			v[0][mid], v[0][0], v[0][len(v[0])-1], v[1][mid], v[1][0], v[1][len(v[1])-1],
			float64(v[1][mid])/float64(v[0][mid]), most)
	}
	verdict("median of joins", joins, 5)
	verdict("p99 of requests", tails, 1.5)
}

// dummy listens, says where, and closes what has said something or was closed.
func dummy() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			_, _ = c.Read(make([]byte, 1))
		}()
	}
}

// files is how many connections this process may hold.
func files() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil {
		return heldSilent
	}
	return int(l.Cur) - spareFiles
}

// attack begins so many connections a second, from many addresses of the loopback,
// and has each of them go on with then.
func attack(target string, rate int, then func(c net.Conn)) error {
	if files() < heldSilent {
		fmt.Printf("note: files are limited, so %d connections are held instead of %d\n", files(), heldSilent)
	} else {
		fmt.Println("attacking")
	}
	begin := time.Now()
	var workers sync.WaitGroup
	turns := make(chan struct{}, 64)
	for begun := 0; ; {
		// At first as fast as it takes to have all of them after half the ramp.
		due := int(time.Since(begin).Seconds() * float64(rate))
		if rate == newSilent {
			due += min(int(time.Since(begin).Seconds()*3000), heldSilent)
		}
		for ; begun < due; begun++ {
			turns <- struct{}{}
			workers.Go(func() {
				defer func() { <-turns }()
				d := net.Dialer{Timeout: time.Second, LocalAddr: &net.TCPAddr{
					IP: net.IPv4(127, byte(1+mathrand.N(200)), byte(mathrand.N(250)), byte(1+mathrand.N(250))),
				}}
				if c, err := d.Dial("tcp", target); err == nil {
					_ = c.(*net.TCPConn).SetLinger(0)
					then(c)
				}
			})
		}
		time.Sleep(time.Millisecond)
	}
}

// silently holds the connections, as many as allowed, and closes the oldest ones.
func silently() func(net.Conn) {
	var mu sync.Mutex
	held := make([]net.Conn, min(heldSilent, files()))
	next := 0
	return func(c net.Conn) {
		mu.Lock()
		old := held[next]
		held[next] = c
		next = (next + 1) % len(held)
		mu.Unlock()
		if old != nil {
			old.Close()
		}
	}
}

// mumbling is silently, but for one byte, so that no kernel keeps the connections.
func mumbling() func(net.Conn) {
	hold := silently()
	return func(c net.Conn) {
		_, _ = c.Write([]byte{0})
		hold(c)
	}
}

// withAnotherKey does what a node of another network does.
func withAnotherKey() func(net.Conn) {
	file, err := security.GenerateNetworkFile("other", rand.Reader)
	if err != nil {
		panic(err)
	}
	other, err := security.NewNetwork(file)
	if err != nil {
		panic(err)
	}
	return func(c net.Conn) {
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(time.Second))
		_ = tls.Client(&greeting{Conn: c, network: other}, &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"arke"}}).Handshake()
	}
}

// greeting puts the greeting in front of the first write.
type greeting struct {
	net.Conn
	network *security.Network // nil once it is said
}

func (g *greeting) Write(p []byte) (int, error) {
	if g.network == nil {
		return g.Conn.Write(p)
	}
	said := g.network.Greet(p)
	g.network = nil
	_, err := g.Conn.Write(append(said[:], p...))
	return len(p), err
}
