// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"cmp"
	"encoding/json"
	"slices"

	"go.uber.org/zap"
)

// Status is what a relay says about itself, for people and tools.
type Status struct {
	Socket   string            `json:"socket,omitempty"`
	Listen   string            `json:"listen,omitempty"`
	Draining bool              `json:"draining,omitempty"`
	Sessions uint64            `json:"sessions"` // since the start
	Clients  []ClientStatus    `json:"clients"`  // by name
	Drops    map[string]uint64 `json:"drops"`    // "thing.reason" to count, since the start
}

// ClientStatus describes one client.
type ClientStatus struct {
	Name             string   `json:"name"`
	Clusters         []string `json:"clusters"`      // one for each registration, by name
	Requests         int      `json:"requests"`      // calls without a reply
	RequestBytes     int      `json:"request_bytes"` // of their frames
	Subscriptions    int      `json:"subscriptions"`
	PublicationBytes int      `json:"publication_bytes"` // that wait in them
	Deliveries       int      `json:"deliveries"`        // requests it has not answered
	Queued           int      `json:"queued"`            // bytes it has not read
	Tunnels          int      `json:"tunnels"`           // that are open
	TunnelBytes      int      `json:"tunnel_bytes"`      // credit it has in them, and what waits there
}

// Status describes the relay and its clients, not the node.
func (r *Relay) Status() Status {
	r.mu.Lock()
	clients := r.attached()
	s := Status{
		Socket:   r.cfg.Socket,
		Listen:   r.address,
		Draining: r.state == stateDraining,
		Sessions: r.count.sessions.Load(),
		Clients:  make([]ClientStatus, 0, len(clients)),
		Drops:    r.count.snapshot(),
	}
	r.mu.Unlock()
	for _, c := range clients {
		s.Clients = append(s.Clients, c.status())
	}
	slices.SortFunc(s.Clients, func(a, b ClientStatus) int { return cmp.Compare(a.Name, b.Name) })
	return s
}

func (c *client) status() ClientStatus {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := ClientStatus{
		Name:             c.name,
		Clusters:         make([]string, 0, len(c.members)),
		Requests:         c.quota.requests,
		RequestBytes:     c.quota.bytes,
		Subscriptions:    c.quota.subscriptions,
		PublicationBytes: int(c.topics.held.Load()),
		Deliveries:       len(c.deliveries),
		Queued:           c.sender.Queued(),
	}
	s.Tunnels, s.TunnelBytes = c.tunnels.count()
	for _, m := range c.members {
		s.Clusters = append(s.Clusters, m.cluster)
	}
	slices.Sort(s.Clusters)
	return s
}

// describe returns the node's status as one JSON object, with the relay's
// under "relay".
func (r *Relay) describe() []byte {
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
	own, err := json.Marshal(r.Status())
	if err != nil {
		panic("BUG: the status has no JSON: " + err.Error())
	}
	if fields == nil { // the node's status was null
		fields = map[string]json.RawMessage{}
	}
	fields["relay"] = own
	all, err := json.Marshal(fields)
	if err != nil {
		panic("BUG: raw JSON has no JSON: " + err.Error())
	}
	return all
}
