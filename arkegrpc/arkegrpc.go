// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package arkegrpc

import (
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"strings"
	"sync/atomic"

	"google.golang.org/grpc"
	"google.golang.org/grpc/balancer"
	"google.golang.org/grpc/balancer/base"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/resolver"

	"github.com/arke-mesh/arke"
)

// Scheme is that of targets: arke:///geo is cluster geo.
const Scheme = "arke"

// policy is the name of the balancer.
const policy = "arke_fewer_calls"

func init() { // gRPC finds balancers by name in a registry of its own
	balancer.Register(base.NewBalancerBuilder(policy, pickers{}, base.Config{HealthCheck: true}))
}

// DialOptions are what grpc.NewClient needs to reach clusters through c.
func DialOptions(c *arke.Conn) []grpc.DialOption {
	return []grpc.DialOption{
		grpc.WithResolvers(&builder{c}),
		grpc.WithContextDialer(func(ctx context.Context, addr string) (net.Conn, error) { return dial(ctx, c, addr) }),
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultServiceConfig(`{"loadBalancingConfig":[{"` + policy + `":{}}]}`),
	}
}

// dial connects to one member. An address is "member@cluster".
func dial(ctx context.Context, c *arke.Conn, addr string) (net.Conn, error) {
	member, cluster, ok := strings.Cut(addr, "@")
	if !ok {
		return nil, errors.New("arkegrpc: not an address of a member: " + addr)
	}
	return c.Dial(ctx, cluster, arke.ToMember(member))
}

// builder implements resolver.Builder.
type builder struct{ conn *arke.Conn }

// Scheme implements resolver.Builder.
func (*builder) Scheme() string { return Scheme }

// Build implements resolver.Builder.
func (b *builder) Build(t resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	if t.Endpoint() == "" {
		return nil, errors.New("arkegrpc: no cluster in the target: write arke:///NAME")
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{conn: b.conn, cluster: t.Endpoint(), to: cc, cancel: cancel, done: make(chan struct{})}
	go w.run(ctx)
	return w, nil
}

// watcher tells gRPC who the members of a cluster are. It is a
// resolver.Resolver.
type watcher struct {
	// Immutable.
	conn    *arke.Conn
	cluster string
	to      resolver.ClientConn
	cancel  context.CancelFunc
	done    chan struct{} // closed when run has returned
}

// ResolveNow implements resolver.Resolver. The watch tells without being asked.
func (*watcher) ResolveNow(resolver.ResolveNowOptions) {}

// Close implements resolver.Resolver.
func (w *watcher) Close() {
	w.cancel()
	<-w.done
}

func (w *watcher) run(ctx context.Context) {
	defer close(w.done)
	for members, err := range w.conn.Watch(ctx, w.cluster) {
		if err != nil {
			w.to.ReportError(err)
			continue
		}
		var state resolver.State
		for _, m := range members {
			state.Addresses = append(state.Addresses, resolver.Address{Addr: m.ID + "@" + w.cluster, ServerName: w.cluster})
		}
		_ = w.to.UpdateState(state) // what it can't use it reports itself
	}
}

// pickers implements base.PickerBuilder.
type pickers struct{}

// Build implements base.PickerBuilder.
func (pickers) Build(info base.PickerBuildInfo) balancer.Picker {
	if len(info.ReadySCs) == 0 {
		return base.NewErrPicker(balancer.ErrNoSubConnAvailable)
	}
	p := &picker{}
	for sc := range info.ReadySCs {
		p.all = append(p.all, &ready{conn: sc})
	}
	return p
}

// picker takes the better of two random connections.
type picker struct{ all []*ready }

// ready is a connection to one member.
type ready struct {
	conn  balancer.SubConn
	calls atomic.Int64 // under way
}

// Pick implements balancer.Picker.
func (p *picker) Pick(balancer.PickInfo) (balancer.PickResult, error) {
	best := p.all[rand.IntN(len(p.all))]
	if other := p.all[rand.IntN(len(p.all))]; other.calls.Load() < best.calls.Load() {
		best = other
	}
	best.calls.Add(1)
	return balancer.PickResult{SubConn: best.conn, Done: func(balancer.DoneInfo) { best.calls.Add(-1) }}, nil
}
