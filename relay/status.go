// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/internal/wire"
)

// Status is what a relay says about itself, for people and tools.
type Status struct {
	Socket   string            `json:"socket,omitempty"`
	Listen   string            `json:"listen,omitempty"`
	Draining bool              `json:"draining,omitempty"`
	Sessions uint64            `json:"sessions"` // since the start
	Policy   *PolicyStatus     `json:"policy,omitempty"`
	Clients  []ClientStatus    `json:"clients"` // by name
	Drops    map[string]uint64 `json:"drops"`   // "thing.reason" to count, since the start
	Held     Totals            `json:"held"`    // by all clients, beyond what is each one's own
	Full     []FullStatus      `json:"full,omitempty"`
}

// FullStatus describes a user or an address that may attach no further client.
type FullStatus struct {
	From    string `json:"from"`
	Clients int    `json:"clients"` // of it
	Limit   int    `json:"limit"`   // for one; less while others have many
}

// full returns those that may attach no further client, by name. The caller holds mu.
func (r *Relay) full() (all []FullStatus) {
	clients := map[source]int{}
	for _, c := range r.clients {
		if c.seat.taken && !c.seat.spare {
			clients[c.seat.from]++
		}
	}
	for from, n := range clients {
		if !r.shares.seats.Fits(from, 1) {
			all = append(all, FullStatus{from.String(), n, r.shares.clients()})
		}
	}
	slices.SortFunc(all, func(a, b FullStatus) int { return cmp.Compare(a.From, b.From) })
	return all
}

// PolicyStatus describes the policy, if there is one. Decisions are made once for each
// client, verb and name; how often something was refused is under Status.Drops.
type PolicyStatus struct {
	Rules   int    `json:"rules"`
	Allowed uint64 `json:"allowed"` // decisions since the start
	Refused uint64 `json:"refused"` // the same
}

// ClientStatus describes one client.
type ClientStatus struct {
	Name             string   `json:"name"`
	Who              string   `json:"who"`             // its user and token, as far as they are known
	PID              int      `json:"pid,omitempty"`   // of its process, if the system tells
	User             *int     `json:"user,omitempty"`  // of its process, if the system tells
	Token            string   `json:"token,omitempty"` // the name of the one that it has proven
	Clusters         []string `json:"clusters"`        // one for each registration, by name
	Requests         int      `json:"requests"`        // calls without a reply
	RequestBytes     int      `json:"request_bytes"`   // of their frames
	Keys             []string `json:"keys,omitempty"`  // it has brought: cluster, a blank, and the id of the set
	Subscriptions    int      `json:"subscriptions"`
	PublicationBytes int      `json:"publication_bytes"` // that it has not read
	Deliveries       int      `json:"deliveries"`        // requests it has not answered
	Queued           int      `json:"queued"`            // bytes that were not sent to it yet
	Kept             int      `json:"kept"`              // bytes that it has not acknowledged
	Away             bool     `json:"away,omitempty"`    // no connection carries its session
	Silent           bool     `json:"silent,omitempty"`  // it leaves beats unanswered
	Tunnels          int      `json:"tunnels"`           // that are open
}

// Status describes the relay and its clients, not the node.
func (r *Relay) Status() Status {
	clients := r.attached()
	r.mu.Lock()
	s := Status{
		Socket:   r.cfg.Socket,
		Listen:   r.address,
		Draining: r.state == stateDraining,
		Sessions: r.count.sessions.Load(),
		Clients:  make([]ClientStatus, 0, len(clients)),
		Drops:    r.count.snapshot(),
		Held:     r.shares.held(),
		Full:     r.full(),
	}
	r.mu.Unlock()
	if p := r.law.policy.Load(); p != nil {
		s.Policy = &PolicyStatus{Rules: p.Len(), Allowed: r.law.allowed.Load(), Refused: r.law.refused.Load()}
	}
	for _, c := range clients {
		s.Clients = append(s.Clients, c.status())
	}
	slices.SortFunc(s.Clients, func(a, b ClientStatus) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

func (c *client) status() ClientStatus {
	s := ClientStatus{
		Name: c.name, Who: c.rights.who.String(), Clusters: []string{}, Subscriptions: len(c.claims.all(subscription)),
		Deliveries: c.deliveries.count(), Away: !c.sess.Attached(), Silent: c.sess.Silent(),
	}
	for _, k := range c.claims.all(registration) {
		s.Clusters = append(s.Clusters, k.place.(*member).cluster)
	}
	slices.Sort(s.Clusters)
	s.PID, s.Token = c.conn.pid(), c.rights.who.Token
	if c.rights.who.Known {
		s.User = &c.rights.who.User
	}
	for cluster, id := range c.conn.keys.ids {
		s.Keys = append(s.Keys, cluster+" "+id)
	}
	slices.Sort(s.Keys)
	s.Requests, s.RequestBytes = c.calls.status()
	s.Tunnels = c.tunnels.hop.Status()
	for lane := range wire.Lane(wire.Lanes) {
		queued, kept := c.sess.Load(lane)
		s.Queued += queued
		s.Kept += kept
		if lane == wire.LanePub {
			s.PublicationBytes = queued + kept
		}
	}
	return s
}

// Describe returns the node's status as one JSON object, with the relay's under
// "relay": what Client.Status gets. The caller owns it.
func (r *Relay) Describe() []byte {
	fields := map[string]json.RawMessage{}
	if r.cfg.Status != nil {
		node, err := json.Marshal(r.cfg.Status())
		if err == nil {
			err = json.Unmarshal(node, &fields)
		}
		if err != nil {
			r.log.Warn("the node's status is no JSON object", zap.Error(err))
		}
	}
	if fields == nil { // the node's status was null
		fields = map[string]json.RawMessage{}
	}
	fields["relay"] = encoded(r.Status())
	return encoded(fields)
}

// encoded is v as JSON.
func encoded(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("BUG: %T has no JSON: %v", v, err))
	}
	return b
}
