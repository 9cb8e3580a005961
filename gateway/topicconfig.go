// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"errors"
	"fmt"
	"strings"

	"github.com/arke-mesh/arke/internal/match"
)

// TopicCrossing is topics of one network that are lent to another one.
type TopicCrossing struct {
	// From and To are names of networks. Required.
	From, To string
	// Topic is which topics: a pattern whose first word is no wildcard. Required.
	Topic string
	// As is what the first word is called in To. Default: the same.
	As string
	// Reseal says that the gateway may open what crosses, and publishes it as its own in
	// the other network. Required to be true: there is no other way.
	Reseal bool
	// Limits bound what crosses. What is beyond them is dropped, and those who listen are
	// told of a gap.
	Limits TopicLimits
}

// TopicLimits bound what crosses by one TopicCrossing; zero means any number.
type TopicLimits struct {
	Messages int // each second
	Bytes    int // of bodies and headers each second
}

func (c TopicCrossing) withDefaults() TopicCrossing {
	if word, wild := match.Group(c.Topic); c.As == "" && !wild {
		c.As = word
	}
	return c
}

// key is what a crossing is, whatever its limits.
func (c TopicCrossing) key() TopicCrossing {
	c = c.withDefaults()
	c.Limits = TopicLimits{}
	return c
}

// there is what a topic or pattern of From is called in To.
func (c TopicCrossing) there(topic string) string {
	if i := strings.IndexByte(topic, '.'); i >= 0 {
		return c.As + topic[i:]
	}
	return c.As
}

// String names the crossing in logs and messages.
func (c TopicCrossing) String() string {
	s := fmt.Sprintf("topic %s of %s to %s", c.Topic, c.From, c.To)
	if c.As != "" && c.there(c.Topic) != c.Topic {
		s += " as " + c.there(c.Topic)
	}
	return s
}

// CheckTopic says everything that is wrong with the ith of Topics. Of two that have
// topics in common the later one is wrong: what is on those would cross twice.
func (c Config) CheckTopic(i int) error {
	x := c.Topics[i].withDefaults()
	err := x.check(c.wayFaults(x.From, x.To))
	for _, o := range c.Topics[:i] {
		if err == nil && o.From == x.From && o.To == x.To && match.CheckPattern(o.Topic) == nil && match.Meet(o.Topic, x.Topic) {
			err = errors.Join(err, fmt.Errorf("gateway: %s: so do some of the topics of %s: they would cross twice", x, o))
		}
	}
	return err
}

func (c TopicCrossing) check(way []error) error {
	var faults []error
	fault := func(err error) { faults = append(faults, fmt.Errorf("gateway: %s: %w", c, err)) }
	for _, err := range way {
		fault(err)
	}
	if err := match.CheckPattern(c.Topic); err != nil {
		fault(err)
	} else if _, wild := match.Group(c.Topic); wild {
		fault(errors.New("its first word must be a name: a pattern that begins with a wildcard stands for all topics there are"))
	} else if err := match.CheckTopic(c.As); err != nil {
		fault(err)
	} else if strings.Contains(c.As, ".") {
		fault(fmt.Errorf("as %s: it stands for the first word, and has no points", c.As))
	}
	if c.Limits.Messages < 0 || c.Limits.Bytes < 0 {
		fault(errors.New("a limit is negative"))
	}
	if !c.Reseal {
		fault(errors.New("topics can cross only if this gateway may read them: say reseal: true. A group of topics with a key of its own " +
			"crosses only where the gateway's nodes hold that key, too"))
	}
	return errors.Join(faults...)
}

// Explain says what the crossing does, in one line.
func (c TopicCrossing) Explain() string {
	return fmt.Sprintf("%s, while somebody there listens; each second %s and %s; opened and published again here",
		c, anyNumber(c.Limits.Messages, "messages"), anyNumber(c.Limits.Bytes, "bytes"))
}

func anyNumber(n int, what string) string {
	if n == 0 {
		return "any number of " + what
	}
	return fmt.Sprintf("%d %s", n, what)
}
