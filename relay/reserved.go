// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"strings"

	"github.com/arke-mesh/arke/internal/wire"
	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/policy"
)

// The clusters that the relay itself serves.
const (
	clusterMembers = policy.Members // the body is a cluster's name, the reply a JSON list of patterns.Member
	clusterStatus  = policy.Status  // the reply is a JSON object
	clusterNames   = "$names"       // the body is peer ids, one a line; the reply a JSON object of those with a name
)

// answer answers a call to a reserved cluster.
func (s *calls) answer(k *call) {
	work := s.list
	switch {
	case k.ask.Pattern != patterns.PatternRequest:
		k.fail(&patterns.RemoteError{Cluster: k.ask.Cluster, Code: patterns.CodeNoMethod, Message: "a relay answers requests only"})
		return
	case k.ask.Cluster == clusterStatus:
		work = s.describe
	case k.ask.Cluster == clusterNames:
		work = s.name
	case k.ask.Cluster != clusterMembers:
		k.fail(patterns.ErrNoMembers)
		return
	}
	if err := s.mayKnow(k); err != nil {
		k.fail(err)
		return
	}
	if err := s.c.work("relay/answer", func() { work(k) }); err != nil {
		k.fail(err)
	}
}

// mayKnow says why the client may not have the answer.
func (s *calls) mayKnow(k *call) error {
	switch k.ask.Cluster {
	case clusterStatus:
		return s.c.rights.refuse(policy.Call, clusterStatus)
	case clusterNames:
		return nil // it has the ids from what it may know
	}
	_, cluster, err := wire.SplitTail(k.ask.Tail)
	if err != nil {
		return nil // list says so
	}
	return s.c.rights.refuseList(string(cluster))
}

// describe tells about the node and the relay.
func (s *calls) describe(k *call) {
	k.finish(wire.Reply{ID: k.id, From: &wire.From{}}, wire.AppendTail(nil, nil, s.c.relay.Describe()))
}

// list says who serves a cluster.
func (s *calls) list(k *call) {
	headers, name, err := wire.SplitTail(k.ask.Tail)
	if err != nil {
		k.fail(patterns.ErrTooLarge)
		return
	}
	ctx, cancel := s.c.until(k.ask.Deadline)
	defer cancel()
	k.cancelWith(cancel)
	version := patterns.Headers(wire.ConvertHeaders[patterns.Header](headers)).Get(patterns.HeaderVersion)
	ref, err := s.c.conn.keys.cluster(string(name))
	var list []patterns.Member
	if err == nil {
		list, err = s.c.relay.cfg.Node.MembersAfter(ctx, ref, version)
	}
	if err != nil {
		k.fail(err)
		return
	}
	k.tell(list)
}

// maxNamed is how many peers are named in one answer.
const maxNamed = 1024

// name says what people call peers.
func (s *calls) name(k *call) {
	_, ids, err := wire.SplitTail(k.ask.Tail)
	if err != nil {
		k.fail(patterns.ErrTooLarge)
		return
	}
	names := map[string]string{}
	asked := strings.SplitN(string(ids), "\n", maxNamed+1)
	for _, id := range asked[:min(len(asked), maxNamed)] {
		if name := s.c.relay.cfg.Node.NameOf(id); name != "" {
			names[id] = name
		}
	}
	k.tell(names)
}

// tell answers with a value as JSON.
func (k *call) tell(v any) {
	k.finish(wire.Reply{ID: k.id, From: &wire.From{}}, wire.AppendTail(nil, nil, encoded(v)))
}
