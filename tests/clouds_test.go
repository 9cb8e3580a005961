// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

// The clouds of the story, and how far apart they are: there and back.
var cloudTrips = map[[2]string]time.Duration{
	{"eu", "us"}: 60 * time.Millisecond, {"eu", "ap"}: 80 * time.Millisecond, {"us", "ap"}: 40 * time.Millisecond,
}

// clouds are three networks with a relay each, and two gateways between each two, that
// lend geo both ways and db of eu to the others.
type clouds struct {
	*testing.T
	wan      *harness.WAN
	cloud    map[string]*harness.Cloud
	relay    map[string]*harness.Relay
	gateways map[[2]string][]*harness.Gateway
}

func newClouds(t *testing.T) *clouds {
	t.Helper()
	w := &clouds{
		T: t, wan: harness.NewWAN(t), cloud: map[string]*harness.Cloud{}, relay: map[string]*harness.Relay{},
		gateways: map[[2]string][]*harness.Gateway{},
	}
	for _, name := range []string{"eu", "us", "ap"} {
		c := w.wan.Cloud(name)
		w.cloud[name] = c
		w.relay[name] = c.Relay(name, harness.On(c.Machine()))
	}
	for pair, trip := range cloudTrips {
		a, b := w.cloud[pair[0]], w.cloud[pair[1]]
		w.wan.Join(a, b, harness.Line{Delay: trip / 2})
		lend := []string{
			fmt.Sprintf("cluster: geo, from: %s, to: %s", a.Name, b.Name),
			fmt.Sprintf("cluster: geo, from: %s, to: %s", b.Name, a.Name),
		}
		if a.Name == "eu" {
			lend = append(lend, "cluster: db, from: eu, to: "+b.Name)
		}
		seeds := map[*harness.Cloud]*harness.Relay{a: w.relay[a.Name], b: w.relay[b.Name]}
		for i := range 2 {
			name := fmt.Sprintf("%s-%s-%d", a.Name, b.Name, i+1)
			w.gateways[pair] = append(w.gateways[pair], w.wan.Gateway(name, b.Machine(), seeds, lend...))
		}
	}
	return w
}

// serve has a cloud's relay serve geo, by its name.
func (w *clouds) serve(name string) {
	w.Helper()
	h := patterns.HandlerFunc(func(context.Context, *patterns.Request) (patterns.Message, error) {
		return patterns.Message{Body: []byte(name)}, nil
	})
	_, err := w.relay[name].Client().Serve(w.Context(), "geo", h, patterns.Limits{})
	require.NoError(w.T, err)
}

// asked asks geo once, and says who answered after what time.
func asked(ctx context.Context, c *client.Client, address string) (who string, took time.Duration, err error) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	reply, err := c.Request(ctx, address, patterns.Message{}, patterns.Idempotent())
	return string(reply.Body), time.Since(began), err
}

// answers waits until a cloud's address is answered by whom it should be.
func (w *clouds) answers(c *client.Client, address, want string) time.Duration {
	w.Helper()
	began := time.Now()
	harness.Eventually(w.T, harness.Patience, address+" is answered by "+want, func() error {
		who, _, err := asked(w.Context(), c, address)
		if err == nil && who != want {
			err = fmt.Errorf("%s answered", who)
		}
		return err
	})
	return time.Since(began)
}

// load asks an address all the time until stopped.
type load struct {
	mu     sync.Mutex
	took   []time.Duration // guarded by mu
	lost   []error         // guarded by mu
	served map[string]int  // guarded by mu
	stop   func() *load
}

func (w *clouds) load(c *client.Client, address string, askers int) *load {
	l := &load{served: map[string]int{}}
	ctx, cancel := context.WithCancel(w.Context())
	var wg sync.WaitGroup
	for range askers {
		wg.Go(func() {
			for ctx.Err() == nil {
				who, took, err := asked(ctx, c, address)
				l.mu.Lock()
				switch {
				case err == nil:
					l.took, l.served[who] = append(l.took, took), l.served[who]+1
				case ctx.Err() == nil:
					l.lost = append(l.lost, err)
				}
				l.mu.Unlock()
				time.Sleep(2 * time.Millisecond)
			}
		})
	}
	l.stop = func() *load { cancel(); wg.Wait(); return l }
	w.Cleanup(func() { l.stop() })
	return l
}

// String is a line of the table.
func (l *load) String() string {
	slices.Sort(l.took)
	n := len(l.took)
	if n == 0 {
		return fmt.Sprintf("0 answered, %d lost", len(l.lost))
	}
	return fmt.Sprintf("%d answered, %d lost, p50 %s, slowest %s, by %v", n, len(l.lost),
		l.took[n/2].Round(time.Millisecond), l.took[n-1].Round(time.Millisecond), l.served)
}

// TestThreeCloudsServeEachOther plays three clouds with real relays, gateways and
// PostgreSQL: each serves itself first and each other one by name, a database of one is
// read from another, a gateway is killed under load, and a cloud is cut off and comes
// back. No request is lost that could be answered, and what can't be is said.
func TestThreeCloudsServeEachOther(t *testing.T) {
	alone(t)
	harness.Binary(t)
	w := newClouds(t)
	caller := map[string]*client.Client{}
	for name, r := range w.relay {
		w.serve(name)
		caller[name] = r.Client()
	}
	for name, c := range caller {
		for other := range caller {
			w.answers(c, "geo@"+other, other)
		}
		w.answers(c, "geo", name)
	}
	w.lentTwice(caller)

	for pair, trip := range cloudTrips {
		l := w.load(caller[pair[0]], "geo@"+pair[1], 8)
		time.Sleep(3 * time.Second)
		l.stop()
		t.Logf("%s asks geo@%s, %s apart: %s", pair[0], pair[1], trip, l)
		require.Empty(t, l.lost)
		require.NotEmpty(t, l.took)
		require.GreaterOrEqual(t, l.took[len(l.took)/2], trip, "nothing is faster than the line")
	}

	db := harness.NewPostgres(t, "fsync=off")
	w.relay["eu"].Exposes("db", db.HostPort())
	w.relay["ap"].Sees(2, "db")
	port := w.relay["ap"].Forwards("db").Said()
	carriesMuch(t, db, port) // from ap to eu

	l := w.load(caller["ap"], "geo@eu", 8)
	time.Sleep(2 * time.Second)
	w.gateways[[2]string{"eu", "ap"}][0].Kill()
	time.Sleep(5 * time.Second)
	l.stop()
	t.Logf("ap asks geo@eu while a gateway is killed: %s", l)
	require.Empty(t, l.lost)
	got, err := db.Psql(port, "select 6*7")
	require.NoError(t, err, "psql through the other gateway")
	require.Equal(t, "42\n", got)

	own, others := w.load(caller["eu"], "geo", 4), w.load(caller["us"], "geo@ap", 4)
	w.wan.Cut(w.cloud["eu"])
	w.hearsOfTheCut(caller, 20*time.Second) // longer than links wait
	who, _, err := asked(t.Context(), caller["ap"], "geo")
	require.NoError(t, err)
	require.Equal(t, "ap", who)
	own.stop()
	others.stop()
	t.Logf("meanwhile eu asks geo: %s", own)
	t.Logf("meanwhile us asks geo@ap: %s", others)
	require.Empty(t, own.lost)
	require.Equal(t, len(own.took), own.served["eu"])
	require.Empty(t, others.lost)

	w.wan.Heal(w.cloud["eu"])
	back := w.answers(caller["us"], "geo@eu", "eu")
	back = max(back, w.answers(caller["ap"], "geo@eu", "eu"))
	t.Logf("eu is back: us and ap reach it after %s", back.Round(time.Millisecond))
	w.relay["ap"].Sees(1, "db")
	harness.Eventually(t, harness.Patience, "psql works again", func() error {
		got, err := db.Psql(port, "select count(*) from numbers")
		if err == nil && got != "100000\n" {
			err = fmt.Errorf("psql says %q", got)
		}
		return err
	})
}

// hearsOfTheCut has us and ap, where the gateways to eu stand, ask geo@eu for so long after
// eu was cut off: they soon hear at once that no gateway reaches it, and nothing else from
// then on; that there is no member nobody says.
func (w *clouds) hearsOfTheCut(caller map[string]*client.Client, during time.Duration) {
	w.Helper()
	began, heard := time.Now(), map[string]bool{}
	for time.Since(began) < during {
		for _, name := range []string{"us", "ap"} {
			ctx, cancel := context.WithTimeout(w.Context(), 500*time.Millisecond)
			_, took, err := asked(ctx, caller[name], "geo@eu")
			cancel()
			since := time.Since(began).Round(time.Millisecond)
			cut := errors.Is(err, patterns.ErrUnreachable) && strings.Contains(err.Error(), "no gateway reaches the network eu")
			if cut && !heard[name] {
				heard[name] = true
				w.Logf("eu is cut off: %s hears %q after %s", name, err, since)
			}
			require.True(w.T, cut || !heard[name] && errors.Is(err, context.DeadlineExceeded), "%s hears %v after %s and %s", name, err, took, since)
			require.True(w.T, heard[name] || since < cutHeard, "%s hears %v %s after eu was cut off", name, err, since)
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// cutHeard is when callers hear of a cut at the latest: after 2 s, and on a machine that
// does much else later.
const cutHeard = 6 * time.Second

// lentTwice waits until each cloud sees both gateways of each pair.
func (w *clouds) lentTwice(caller map[string]*client.Client) {
	w.Helper()
	for name, c := range caller {
		harness.Eventually(w.T, harness.Patience, name+" sees its own member and two gateways for each other cloud", func() error {
			all, err := c.Members(w.Context(), "geo")
			if err == nil && len(all) != 5 {
				err = fmt.Errorf("%d members", len(all))
			}
			return err
		})
	}
}
