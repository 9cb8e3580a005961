// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/arke-mesh/arke/internal/match"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/verb"
)

// Verb is what a client may do with a name.
type Verb = verb.Verb

// The verbs.
const (
	Serve     = verb.Serve
	Call      = verb.Call
	Publish   = verb.Publish
	Subscribe = verb.Subscribe
	// Verbs is how many there are.
	Verbs = verb.Count
)

// The names that Arke keeps for itself. Clients may call them.
const (
	Members = "$members"
	Status  = "$status"
)

// Kind is what a subject is.
type Kind uint8

// The kinds.
const (
	User Kind = iota
	Group
	Token
	Anyone
)

var kinds = [...]string{"user", "group", "token", "anyone"}

// Subject is whom a rule is for.
type Subject struct {
	Kind Kind
	ID   int    // of a user or a group
	Name string // of a token; of others, how the rule names them
}

// String returns the subject as it is written in rules.
func (s Subject) String() string {
	switch {
	case s.Kind == Anyone:
		return kinds[Anyone]
	case s.Name != "":
		return kinds[s.Kind] + " " + s.Name
	}
	return kinds[s.Kind] + " " + strconv.Itoa(s.ID)
}

// is says whether a client is the subject.
func (s Subject) is(c Client) bool {
	switch s.Kind {
	case User:
		return c.Known && s.ID == c.User
	case Group:
		return c.Known && slices.Contains(c.Groups, s.ID)
	case Token:
		return c.Token != "" && s.Name == c.Token
	}
	return true
}

// Rule lets a subject do some things with some names.
type Rule struct {
	Line    int // in the policy's text; 0 = there is none
	Subject Subject
	Verbs   []Verb
	Names   []string // patterns
}

// check says what is wrong with a rule.
func (r Rule) check() error {
	if len(r.Verbs) == 0 || len(r.Names) == 0 {
		return errors.New("it needs a verb and a name: WHO may VERB, VERB NAME NAME")
	}
	if r.Subject.Kind == Token && r.Subject.Name == "" {
		return errors.New("a token has a name")
	}
	for _, n := range r.Names {
		switch {
		case n != Members && n != Status && strings.HasPrefix(n, name.Reserved):
			return fmt.Errorf("%q: of the names that begin with %s there are %s and %s", n, name.Reserved, Members, Status)
		case strings.HasPrefix(n, name.Reserved) && !slices.Equal(r.Verbs, []Verb{Call}):
			return fmt.Errorf("%s can be called only: give it a line of its own", n)
		case strings.HasPrefix(n, name.Reserved):
		default:
			if err := match.CheckPattern(n); err != nil {
				return errors.New(strings.TrimPrefix(err.Error(), "arke: "))
			}
		}
	}
	return nil
}

// Policy is a list of rules. It never changes; all methods may be called
// concurrently. The zero value allows nothing.
type Policy struct{ rules []Rule }

// maxRules bounds a policy.
const maxRules = 4096

// New returns the policy of these rules, which the caller must not change any more. Its
// error names the first one that makes no sense.
func New(rules ...Rule) (*Policy, error) {
	if len(rules) > maxRules {
		return nil, fmt.Errorf("policy: %d rules are more than %d", len(rules), maxRules)
	}
	for i, r := range rules {
		if err := r.check(); err != nil {
			return nil, fmt.Errorf("policy: rule %d: %w", i+1, err)
		}
	}
	return &Policy{rules}, nil
}

// Len is how many rules there are.
func (p *Policy) Len() int { return len(p.rules) }

// Tokens returns the names of the tokens that rules are for, each once.
func (p *Policy) Tokens() []string {
	var all []string
	for _, r := range p.rules {
		if r.Subject.Kind == Token {
			all = append(all, r.Subject.Name)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Client is who asks, as far as the relay knows.
type Client struct {
	Known  bool // the system has told user and groups
	User   int
	Groups []int
	Token  string // the name of the one that the client has proven; "" = none
}

// String names the client for people.
func (c Client) String() string {
	switch {
	case c.Known && c.Token != "":
		return fmt.Sprintf("user %d with token %s", c.User, c.Token)
	case c.Known:
		return fmt.Sprintf("user %d", c.User)
	case c.Token != "":
		return "token " + c.Token
	}
	return "a program without user and token"
}

// Same says whether both are the same client, with the same rights.
func (c Client) Same(d Client) bool {
	return c.Known == d.Known && c.User == d.User && c.Token == d.Token && slices.Equal(c.Groups, d.Groups)
}

// Decision says whether something is allowed, and why.
type Decision struct {
	Allowed bool
	Rule    *Rule // that allows it; nil = none does
}

// String gives the reason in words.
func (d Decision) String() string {
	switch {
	case d.Rule == nil:
		return "no rule of the policy allows it"
	case d.Rule.Line > 0:
		return fmt.Sprintf("line %d of the policy allows it, for %s", d.Rule.Line, d.Rule.Subject)
	}
	return fmt.Sprintf("a rule of the policy allows it, for %s", d.Rule.Subject)
}

// Rights are what a policy lets one client do.
type Rights struct {
	rules []*Rule // that are for the client
}

// Of returns the rights of a client.
func (p *Policy) Of(c Client) Rights {
	var r Rights
	for i := range p.rules {
		if p.rules[i].Subject.is(c) {
			r.rules = append(r.rules, &p.rules[i])
		}
	}
	return r
}

// Decide says whether the client may do something with a name: with a cluster, a
// topic, or all that a pattern stands for.
func (r Rights) Decide(v Verb, what string) Decision {
	for _, rule := range r.rules {
		if slices.Contains(rule.Verbs, v) && slices.ContainsFunc(rule.Names, func(n string) bool { return match.Stands(n, what) }) {
			return Decision{Allowed: true, Rule: rule}
		}
	}
	return Decision{}
}

// DecideList says whether the client may know who serves a cluster.
func (r Rights) DecideList(cluster string) Decision {
	if d := r.Decide(Call, cluster); d.Allowed {
		return d
	}
	return r.Decide(Call, Members)
}
