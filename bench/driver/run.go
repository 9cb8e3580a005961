// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"errors"
	"fmt"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/arke-mesh/arke/bench/system"
	"github.com/arke-mesh/arke/bench/worker"
)

// Sample is what one run came to.
type Sample struct {
	System   string `json:"system"`
	Workload string `json:"workload"`
	Round    int    `json:"round"`

	// Rate is messages delivered, to all subscribers together, or replies, a
	// second. Offered is what an open loop asked for.
	Rate    float64 `json:"rate"`
	Offered float64 `json:"offered,omitempty"`
	// CPU is the seconds of processor time per million of them, of all processes
	// of the system, by what they are: the roles, and "server".
	CPU   float64            `json:"cpu_seconds_per_million"`
	CPUOf map[string]float64 `json:"cpu_of"`
	// Peak is the largest resident memory of each process, summed, in bytes.
	Peak uint64 `json:"peak_bytes"`
	// Others is the share of the machine that other processes used meanwhile,
	// and what its host withheld.
	Others float64 `json:"others"`
	// Noisy says that Others was too much, and stayed so when it was tried again.
	Noisy bool `json:"noisy,omitempty"`

	// Of all subscribers together, over the whole run: how many messages should
	// have come, and what did not go well. Told is the part of Lost that the
	// system said. Stalls is how often a publisher's credit window stood still.
	Expected   uint64 `json:"expected,omitempty"`
	Lost       uint64 `json:"lost"`
	Told       uint64 `json:"told,omitempty"`
	Duplicated uint64 `json:"duplicated"`
	Disordered uint64 `json:"disordered"`
	Damaged    uint64 `json:"damaged"`
	Stalls     int    `json:"stalls,omitempty"`

	// Of requests: an encoded HdrHistogram of nanoseconds, failures by text,
	// replies by responder, and how many were not even begun in time.
	Latency []byte            `json:"latency,omitempty"`
	Errors  map[string]uint64 `json:"errors,omitempty"`
	By      []uint64          `json:"by,omitempty"`
	Behind  uint64            `json:"behind,omitempty"`

	// Failed says why there is no result.
	Failed string `json:"failed,omitempty"`
}

// Histogram decodes Latency; nil if there is none.
func (s Sample) Histogram() *hdrhistogram.Histogram {
	if len(s.Latency) == 0 {
		return nil
	}
	h, err := hdrhistogram.Decode(s.Latency)
	if err != nil {
		return nil
	}
	return h
}

// Build is the programs that runs use: workers, and relays.
type Build struct{ Worker, Arke string }

// Times are how long the parts of a run take.
type Times struct{ Warm, Span time.Duration }

const (
	joinTime  = 90 * time.Second // a thousand clients take a while
	startLead = 100 * time.Millisecond
	drainTime = 60 * time.Second
)

// run is one run.
type run struct {
	site     *site
	build    Build
	sys      system.System
	work     Workload
	servers  []string
	window   int
	index    int
	addrs    []string // of publishers or responders
	credits  []string
	workers  []*hand
	feeders  []*hand // publishers, or the requester
	drainers []*hand // subscribers
	count    uint64  // messages or replies of the span
}

// Run does one run.
func Run(build Build, sys system.System, work Workload, times Times) (s Sample) {
	s = Sample{System: sys.Name, Workload: work.Name, Offered: work.Rate}
	work = work.withDefaults()
	site, err := newSite(build.Arke, work.Seats+work.Publishers+work.Subscribers+work.Responders)
	if err != nil {
		s.Failed = err.Error()
		return s
	}
	r := &run{site: site, build: build, sys: sys, work: work}
	defer r.close()
	if sys.Credit && !work.Requests() {
		r.window = work.window()
	}
	if err := r.do(&s, times); err != nil {
		s.Failed = errors.Join(r.failure(), err).Error()
	}
	return s
}

// failure is what a worker has said while another one was listened to.
func (r *run) failure() error {
	for _, h := range r.workers {
		select {
		case w := <-h.words:
			if w.Is == "failed" {
				return errors.New(string(h.job.Role) + ": " + w.Error)
			}
		default:
		}
	}
	return nil
}

func (r *run) close() {
	for _, h := range r.workers {
		h.in.Close()
	}
	for _, h := range r.workers {
		h.dismiss()
	}
	r.site.close()
}

func (r *run) do(s *Sample, times Times) (err error) {
	if r.sys.Start != nil {
		if r.servers, err = r.sys.Start(r.site); err != nil {
			return err
		}
	}
	if r.work.Database != nil {
		return r.doDatabase(s, times)
	}
	if r.work.Requests() {
		err = r.staffRequests()
	} else {
		err = r.staffTopics()
	}
	if err != nil {
		return err
	}
	time.Sleep(2 * startLead) // what was sent to connect everything has come to rest
	now := worker.Now()
	start := now + int64(startLead)
	span := worker.Span{Start: start, From: start + int64(times.Warm), To: start + int64(times.Warm+times.Span)}
	for _, h := range r.workers {
		if h.job.Role == worker.Respond {
			continue
		}
		if err := h.order(worker.Order{Do: "go", Span: span}); err != nil {
			return err
		}
	}
	used := r.meter(span)
	if r.work.Requests() {
		err = r.finishRequests(s)
	} else {
		err = r.finishTopics(s)
	}
	s.Rate = float64(r.count) / times.Span.Seconds()
	r.account(s, used)
	return err
}

// add books what a subscriber or requester has counted.
func (r *run) add(s *Sample, result worker.Result) {
	r.count += result.Count
	s.Expected += result.Received + result.Lost
	s.Lost += result.Lost
	s.Told += result.Told
	s.Duplicated += result.Duplicated
	s.Disordered += result.Disordered
	s.Damaged += result.Damaged
	s.Latency, s.Errors, s.By, s.Behind = result.Latency, result.Errors, result.By, result.Behind
}

// hire starts a worker; it does not wait until that is ready.
func (r *run) hire(job worker.Job) (*hand, error) {
	job.System = r.sys.Name
	job.Setup = system.Setup{
		Dir: r.site.dir, Servers: r.servers, Peers: r.addrs, Index: r.index, Bytes: r.work.Bytes,
		Listens:  job.Role == worker.Publish || job.Role == worker.Respond,
		Far:      job.Role == worker.Subscribe || job.Role == worker.Respond,
		InFlight: r.work.InFlight, Window: r.window,
	}
	r.index++
	h, err := hire(r.build.Worker, job)
	if h != nil {
		r.workers = append(r.workers, h)
	}
	return h, err
}

// listens hires a worker that others look for, and waits for its address.
func (r *run) listens(job worker.Job) (*hand, error) {
	h, err := r.hire(job)
	if err != nil {
		return nil, err
	}
	word, err := h.hear("ready", joinTime)
	if err != nil {
		return nil, err
	}
	if word.Addr != "" {
		r.addrs = append(r.addrs, word.Addr)
	}
	if word.Credit != "" {
		r.credits = append(r.credits, word.Credit)
	}
	return h, nil
}

func (r *run) staffTopics() error {
	for i := range r.work.Publishers {
		h, err := r.listens(worker.Job{
			Role: worker.Publish, First: i * r.work.Streams, Streams: r.work.Streams, Idle: r.work.Idle,
		})
		if err != nil {
			return err
		}
		r.feeders = append(r.feeders, h)
	}
	publishers := r.work.Publishers * (r.work.Streams + r.work.Idle)
	for range r.work.Subscribers {
		h, err := r.hire(worker.Job{Role: worker.Subscribe, Publishers: publishers, Credits: r.credits})
		if err != nil {
			return err
		}
		r.drainers = append(r.drainers, h)
	}
	for _, word := range []string{"ready", "seen"} {
		for _, h := range r.drainers {
			if _, err := h.hear(word, joinTime); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) staffRequests() error {
	for i := range r.work.Responders {
		delay := r.work.Delay
		if i == 0 && r.work.Slow > 0 {
			delay = r.work.Slow
		}
		if _, err := r.listens(worker.Job{Role: worker.Respond, Handlers: r.work.Handlers, Delay: delay}); err != nil {
			return err
		}
	}
	h, err := r.hire(worker.Job{
		Role: worker.Request, Seats: r.work.Seats, InFlight: r.work.InFlight, Rate: r.work.Rate, Responders: r.work.Responders,
	})
	if err != nil {
		return err
	}
	r.feeders = append(r.feeders, h)
	_, err = h.hear("ready", joinTime)
	return err
}

// meter waits for the span and returns what was used in it.
func (r *run) meter(span worker.Span) usage {
	groups := map[string][]int{}
	for _, h := range r.workers {
		role := string(h.job.Role)
		groups[role] = append(groups[role], h.cmd.Process.Pid)
	}
	for _, cmd := range r.site.servers {
		groups["server"] = append(groups["server"], family(cmd.Process.Pid)...)
	}
	time.Sleep(time.Duration(span.From - worker.Now()))
	m := newMeter(groups)
	time.Sleep(time.Duration(span.To - worker.Now()))
	return m.read()
}

// account fills in what the counted messages cost.
func (r *run) account(s *Sample, used usage) {
	s.CPUOf = map[string]float64{}
	for group, d := range used.cpu {
		if r.count > 0 {
			s.CPUOf[group] = d.Seconds() / float64(r.count) * 1e6
			s.CPU += s.CPUOf[group]
		}
	}
	s.Peak, s.Others = used.peak, used.others
}

func (r *run) finishTopics(s *Sample) error {
	sent := make([]uint64, 0, r.work.Publishers)
	for _, h := range r.feeders {
		word, err := h.hear("done", drainTime)
		if err != nil {
			return err
		}
		s.Stalls += word.Result.Stalls
		sent = append(sent, word.Result.Sent...)
	}
	for _, h := range r.drainers {
		if err := h.order(worker.Order{Do: "expect", Expect: sent}); err != nil {
			return err
		}
	}
	for _, h := range r.drainers {
		word, err := h.hear("done", drainTime)
		if err != nil {
			return err
		}
		r.add(s, word.Result)
	}
	return nil
}

func (r *run) finishRequests(s *Sample) error {
	var err error
	for _, h := range r.feeders {
		word, heard := h.hear("done", drainTime)
		err = errors.Join(err, heard)
		r.add(s, word.Result)
	}
	if err != nil {
		return fmt.Errorf("requests: %w", err)
	}
	return nil
}
