// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/verb"
	"github.com/arke-mesh/arke/relay/policy"
)

// people is the directory of the machine in these tests.
type people map[string]int

func (p people) find(name string) (int, error) {
	if id, ok := p[name]; ok {
		return id, nil
	}
	return 0, errors.New("unknown")
}

func (p people) User(name string) (int, error)  { return p.find(name) }
func (p people) Group(name string) (int, error) { return p.find(name) }

var machine = people{"root": 0, "alice": 1000, "bob": 1001, "ops": 27, "domain users": 5000}

// TestPolicies plays the stories in testdata: a policy, and what clients ask of it.
//
//	policy                          reads the text, or says what is wrong with it
//	ask user=N groups=(N,...) token=NAME
//	VERB NAME                       one question a line; "list NAME" asks who serves it
func TestPolicies(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		p := &policy.Policy{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "policy":
				next, err := policy.Parse(d.Input, machine)
				if err != nil {
					return err.Error() + "\n"
				}
				p = next
				return fmt.Sprintf("%d rules\n", p.Len())
			case "ask":
				return ask(t, p, d)
			}
			t.Fatalf("no step %q", d.Cmd)
			return ""
		})
	})
}

func ask(t *testing.T, p *policy.Policy, d *datadriven.TestData) string {
	var c policy.Client
	for _, a := range d.CmdArgs {
		for _, v := range a.Vals {
			switch a.Key {
			case "user":
				id, err := machine.User(v)
				require.NoError(t, err)
				c.Known, c.User = true, id
			case "groups":
				id, err := machine.Group(v)
				require.NoError(t, err)
				c.Groups = append(c.Groups, id)
			case "token":
				c.Token = v
			default:
				t.Fatalf("no %q", a.Key)
			}
		}
	}
	rights := p.Of(c)
	var b strings.Builder
	for line := range strings.SplitSeq(d.Input, "\n") {
		word, what, _ := strings.Cut(line, " ")
		var decision policy.Decision
		if word == "list" {
			decision = rights.DecideList(what)
		} else {
			v, err := verb.Parse(word)
			require.NoError(t, err)
			decision = rights.Decide(v, what)
		}
		answer := "no: "
		if decision.Allowed {
			answer = "yes: "
		}
		fmt.Fprintf(&b, "%s %s %s%v\n", word, what, answer, decision)
	}
	return b.String()
}

// TestAPolicyMayBeAValue proves that rules need no text, and that New refuses what
// Parse does.
func TestAPolicyMayBeAValue(t *testing.T) {
	p, err := policy.New(
		policy.Rule{Subject: policy.Subject{Kind: policy.User, ID: 7}, Verbs: []policy.Verb{policy.Call}, Names: []string{"geo.*"}},
		policy.Rule{Subject: policy.Subject{Kind: policy.Token, Name: "ci"}, Verbs: []policy.Verb{policy.Publish}, Names: []string{">"}},
	)
	require.NoError(t, err)
	require.Equal(t, []string{"ci"}, p.Tokens())
	d := p.Of(policy.Client{Known: true, User: 7}).Decide(policy.Call, "geo.eu")
	require.True(t, d.Allowed)
	require.Equal(t, "a rule of the policy allows it, for user 7", d.String())
	require.False(t, p.Of(policy.Client{User: 7}).Decide(policy.Call, "geo.eu").Allowed, "nobody has told the user")

	for _, r := range []policy.Rule{
		{},
		{Subject: policy.Subject{Kind: policy.Token}, Verbs: []policy.Verb{policy.Call}, Names: []string{"a"}},
		{Verbs: []policy.Verb{policy.Call}, Names: []string{"a*"}},
		{Verbs: []policy.Verb{policy.Call}},
	} {
		_, err := policy.New(r)
		require.Error(t, err, "%+v", r)
	}
	_, err = policy.New(make([]policy.Rule, 4097)...)
	require.ErrorContains(t, err, "more than 4096")
	_, err = policy.Parse(strings.Repeat("#", 1<<20+1), machine)
	require.ErrorContains(t, err, "bytes")
}

// TestWhoAClientIs proves how clients are told apart and named.
func TestWhoAClientIs(t *testing.T) {
	seen := map[string]bool{}
	all := []policy.Client{{}, {Known: true}, {Known: true, User: 7}, {Token: "ci"}, {Known: true, User: 7, Token: "ci"}}
	for i, c := range all {
		require.False(t, seen[c.String()], c)
		seen[c.String()] = true
		for j, d := range all {
			require.Equal(t, i == j, c.Same(d), strconv.Itoa(i)+" "+strconv.Itoa(j))
		}
	}
	require.False(t, policy.Client{Groups: []int{1}}.Same(policy.Client{Groups: []int{1, 2}}))
}

// FuzzParse proves that no text makes the parser panic, and that what it takes for a
// policy without a rule for somebody allows nobody anything.
func FuzzParse(f *testing.F) {
	f.Add("user alice may serve, call geo geo.> # comment\ngroup \"domain users\" may call $status")
	f.Add("anyone may subscribe \"a b\"")
	f.Fuzz(func(t *testing.T, text string) {
		p, err := policy.Parse(text, machine)
		if err != nil {
			return
		}
		if p.Len() == 0 {
			require.False(t, p.Of(policy.Client{}).Decide(policy.Call, "a").Allowed)
		}
	})
}
