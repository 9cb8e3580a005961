// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package history

import "strings"

// Fits says whether a topic fits a pattern.
func Fits(pattern, topic string) bool {
	p, t := strings.Split(pattern, "."), strings.Split(topic, ".")
	for i, word := range p {
		switch {
		case word == ">":
			return len(t) > i
		case i >= len(t) || word != "*" && word != t[i]:
			return false
		}
	}
	return len(p) == len(t)
}

// There is what a topic that a crossing lends is called where it is lent to; "" = the
// crossing does not lend it.
func (c *Crossing) There(topic string) string {
	if c.Topic == "" || !Fits(c.Topic, topic) {
		return ""
	}
	if i := strings.IndexByte(topic, '.'); i >= 0 {
		return c.As + topic[i:]
	}
	return c.As
}

// Abroad is how a publisher is named where its topics are lent to.
func (p *Publication) Abroad() string { return p.Peer + "@" + p.Network }
