// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"

	"github.com/spf13/pflag"

	"github.com/arke-mesh/arke/cmd/arke/internal/settings"
	"github.com/arke-mesh/arke/gateway"
)

// lentTopics are the topics of a gateway's file.
type lentTopics struct {
	all   []gateway.TopicCrossing
	where []string // of each
}

// read reads one section of the list of what is lent: x, if it is a cluster, else it adds
// a topic.
func (l *lentTopics) read(s settings.Section, x *gateway.Crossing) (cluster bool, err error) {
	var topic string
	err = resolveSection(s, func(f *pflag.FlagSet) {
		declareCrossing(f, x)
		f.StringVar(&topic, "topic", "", "")
	})
	if topic == "" {
		return true, err
	}
	var problems settings.Problems
	if !errors.As(err, &problems) && err != nil {
		return false, err
	}
	wrong := func(is bool, key string) {
		if is {
			problems = append(problems, settings.Problem{Where: s.At(), Reason: key + " means nothing for topics"})
		}
	}
	wrong(x.Cluster != "", "cluster")
	wrong(x.Priority != 0, "priority")
	wrong(x.Transit, "transit")
	wrong(x.Finding != nil, "finding-key-file")
	wrong(x.Limits.InFlight != 0, "in-flight")
	wrong(x.Limits.Tunnels != 0, "tunnels")
	l.where = append(l.where, s.At())
	l.all = append(l.all, gateway.TopicCrossing{
		From: x.From, To: x.To, Topic: topic, As: x.As, Reseal: x.Reseal,
		Limits: gateway.TopicLimits{Messages: x.Limits.Messages, Bytes: x.Limits.Bytes},
	})
	if len(problems) > 0 {
		return false, problems
	}
	return false, nil
}

// cross has a gateway lend what a file says, or, if anything is wrong with it, what it lent
// before.
func (c *gatewayFile) cross(g *gateway.Gateway) error {
	var faults []error
	wish := g.Wish(c.crossings, c.topics.all)
	for i := range c.crossings {
		faults = append(faults, wish.CheckCrossing(i))
	}
	for i := range c.topics.all {
		faults = append(faults, wish.CheckTopic(i))
	}
	if err := errors.Join(faults...); err != nil {
		return err
	}
	return errors.Join(g.Cross(c.crossings), g.CrossTopics(c.topics.all))
}

// writeTopics prints the topics of a gateway's status.
func writeTopics(t table, s *gateway.Status) {
	if len(s.Topics) == 0 {
		return
	}
	t.gap()
	t.row("TOPIC", "FROM", "TO", "AS", "STATE", "MESSAGES", "BYTES", "MISSED", "REFUSED")
	for i := range s.Topics {
		x := &s.Topics[i]
		state := "no subscribers in " + x.To
		switch {
		case x.Error != "":
			state = "failing: " + x.Error
		case x.Lent:
			state = "lent"
		case x.Listened:
			state = "about to be lent"
		}
		t.row(x.Topic, x.From, x.To, x.As, state, x.Messages, x.Bytes, x.Missed, refusedText(x.Refused))
	}
}
