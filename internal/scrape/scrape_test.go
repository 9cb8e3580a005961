// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scrape_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/internal/scrape"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/request"
)

// source is a node that is what a test says.
type source struct {
	status  node.Status
	ledgers []*request.Ledger
	ready   error
}

func (s *source) Status() node.Status        { return s.status }
func (s *source) Ledgers() []*request.Ledger { return s.ledgers }
func (s *source) Ready() error               { return s.ready }

// gather returns the families by name.
func gather(t *testing.T, s scrape.Source) map[string]*dto.MetricFamily {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(scrape.NewNode(s)))
	families, err := r.Gather()
	require.NoError(t, err)
	all := map[string]*dto.MetricFamily{}
	for _, f := range families {
		all[f.GetName()] = f
	}
	return all
}

// series writes the metrics of a family, "label=value,…: number" each.
func series(f *dto.MetricFamily) map[string]float64 {
	all := map[string]float64{}
	for _, m := range f.GetMetric() {
		var labels []string
		for _, l := range m.GetLabel() {
			labels = append(labels, l.GetName()+"="+l.GetValue())
		}
		v := m.GetGauge().GetValue()
		if m.Counter != nil {
			v = m.GetCounter().GetValue()
		}
		all[strings.Join(labels, ",")] = v
	}
	return all
}

func TestRequestsAreToldByClusterAndOutcome(t *testing.T) {
	// This test checks the labels of what is called, and that clusters which Arke
	// keeps for itself are marked.
	s := &source{ledgers: []*request.Ledger{
		request.Filled("geo", map[patterns.Outcome]int{patterns.OutcomeReply: 3, patterns.OutcomeNoMembers: 1}),
		request.Filled("idle", nil),
	}}
	s.status.Watches = []cluster.WatchedStatus{{Cluster: "geo", Members: 2}, {Cluster: "topic:weather", Members: 1}}
	all := gather(t, s)
	require.Equal(t, map[string]float64{"cluster=geo,kind=service,outcome=reply": 3, "cluster=geo,kind=service,outcome=no_members": 1}, series(all["arke_requests_total"]))
	require.Equal(t, map[string]float64{"cluster=geo,kind=service": 2, "cluster=topic:weather,kind=topic": 1}, series(all["arke_called_members"]))

	took := all["arke_request_duration_seconds"].GetMetric()
	require.Len(t, took, 1, "a cluster without an answer has no durations")
	h := took[0].GetHistogram()
	require.EqualValues(t, 3, h.GetSampleCount())
	require.InEpsilon(t, 0.003, h.GetSampleSum(), 1e-9)
	require.EqualValues(t, 2, h.GetSchema(), "it is native …")
	require.Equal(t, []int64{3}, h.GetPositiveDelta())
	require.EqualValues(t, -39, h.GetPositiveSpan()[0].GetOffset(), "1 ms is in (2^-10, 2^-9.75]")
	require.NotEmpty(t, h.GetBucket(), "… and classic")
	require.EqualValues(t, 3, h.GetBucket()[len(h.GetBucket())-1].GetCumulativeCount())
}

func TestCountersAreThereBeforeTheirFirstEvent(t *testing.T) {
	// This test checks that a reason for dropping is shown as 0: a counter that
	// appears with its first event hides it from rate().
	s := &source{ready: errors.New("not yet")}
	s.status.Drops = map[string]uint64{"request.queue_length": 7}
	all := gather(t, s)
	dropped := series(all["arke_dropped_total"])
	require.Equal(t, 7.0, dropped["layer=request,reason=queue_length"])
	require.Contains(t, dropped, "layer=p2p,reason=stranger")
	require.Contains(t, dropped, "layer=inbox,reason=queue_length")
	require.Equal(t, map[string]float64{"": 0}, series(all["arke_ready"]))
}

func TestLinksAreCountedByState(t *testing.T) {
	// This test checks that each state has a number, and which round trip is told.
	s := &source{}
	s.status.Links = []overlay.LinkStatus{{State: "up", RTT: time.Millisecond}, {State: "up", RTT: 3 * time.Millisecond}, {State: "suspect", RTT: time.Second}}
	all := gather(t, s)
	require.Equal(t, map[string]float64{"state=up": 2, "state=suspect": 1, "state=opening": 0}, series(all["arke_links"]))
	require.Equal(t, map[string]float64{"": 0.003}, series(all["arke_link_rtt_seconds"]))
}

func TestNamesFollowTheConventions(t *testing.T) {
	// This test has Prometheus' own linter read all that is shown.
	all := gather(t, crowd(2))
	var families []*dto.MetricFamily
	for _, f := range all {
		families = append(families, f)
	}
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	require.NoError(t, err)
	require.Empty(t, problems)
}

// crowd is a node that serves and calls so many clusters.
func crowd(count int) *source {
	s := &source{}
	s.status.Drops = map[string]uint64{}
	for i := range count {
		name := fmt.Sprintf("cluster-%05d", i)
		s.status.Queues = append(s.status.Queues, request.MemberStatus{Cluster: name, Member: "m", Running: 1, Waiting: 2, Handled: 3})
		s.status.Watches = append(s.status.Watches, cluster.WatchedStatus{Cluster: name, Members: 1})
		if i < request.MaxLedgers {
			s.ledgers = append(s.ledgers, request.Filled(name, map[patterns.Outcome]int{patterns.OutcomeReply: 2, patterns.OutcomeDeadline: 1}))
		}
	}
	return s
}

func TestClustersBeyondTheCapAreToldTogether(t *testing.T) {
	// This test checks that whoever makes up names can't fill Prometheus, and that
	// nothing is lost in the sums.
	all := gather(t, crowd(scrape.MaxClusters+5))
	for name, each := range map[string]float64{"arke_members": 1, "arke_members_waiting": 2, "arke_handled_total": 3, "arke_called_members": 1} {
		got := series(all[name])
		require.Len(t, got, scrape.MaxClusters+1, name)
		require.Equal(t, 5*each, got["cluster=other,kind=other"], name)
	}
	require.Equal(t, map[string]float64{"": 5}, series(all["arke_clusters_beyond_cap"]))
}

// text is one scrape by a Prometheus that wants text.
func text(t testing.TB, r *prometheus.Registry, to *counter) {
	families, err := r.Gather()
	require.NoError(t, err)
	enc := expfmt.NewEncoder(to, expfmt.NewFormat(expfmt.TypeTextPlain))
	for _, f := range families {
		require.NoError(t, enc.Encode(f))
	}
}

// counter is a writer that counts.
type counter struct{ bytes int }

func (c *counter) Write(p []byte) (int, error) {
	c.bytes += len(p)
	return len(p), nil
}

func TestAScrapeOfAThousandClustersIsNoStorm(t *testing.T) {
	// This test checks what a scrape allocates, for each cluster that the node both
	// serves and calls: what it costs is for Go's collector, too.
	r := prometheus.NewRegistry()
	require.NoError(t, r.Register(scrape.NewNode(crowd(1000))))
	var to counter
	text(t, r, &to)
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	const rounds = 5
	for range rounds {
		text(t, r, &to)
	}
	runtime.ReadMemStats(&after)
	objects := (after.Mallocs - before.Mallocs) / rounds
	bytes := (after.TotalAlloc - before.TotalAlloc) / rounds
	t.Logf("%d objects, %.1f MB, %.2f MB of text", objects, float64(bytes)/1e6, float64(to.bytes)/(rounds+1)/1e6)
	// 42 for each cluster, of which 36 are the registry's and the text's; the race
	// detector makes it 55, because pools forget what they are given.
	require.Less(t, objects, uint64(60*1000))
	require.Less(t, bytes, uint64(9e6))
}

func TestWhatANodeAddsToAScrapeIsLittle(t *testing.T) {
	// This test checks what the collector allocates without the registry and the text:
	// one piece for the labels of a cluster, three for its durations, and slabs.
	n := scrape.NewNode(crowd(1000))
	collect := func() (metrics int) {
		ch := make(chan prometheus.Metric)
		go func() {
			n.Collect(ch)
			close(ch)
		}()
		var m dto.Metric
		for each := range ch {
			m.Label, m.Gauge, m.Counter, m.Histogram = nil, nil, nil, nil
			require.NoError(t, each.Write(&m))
			metrics++
		}
		return metrics
	}
	require.Greater(t, collect(), 9000)
	objects := testing.AllocsPerRun(3, func() { collect() })
	t.Logf("%.0f objects", objects)
	require.Less(t, objects, 8.0*1000)
}

func BenchmarkScrape(b *testing.B) {
	r := prometheus.NewRegistry()
	require.NoError(b, r.Register(scrape.NewNode(crowd(1000))))
	b.ReportAllocs()
	for b.Loop() {
		text(b, r, &counter{})
	}
}
