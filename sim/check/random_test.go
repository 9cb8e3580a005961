// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"cmp"
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
	"github.com/arke-mesh/arke/sim/history"
)

// nonsense makes histories in which nothing fits together. It fills whatever
// fields there are, so that none is forgotten.
type nonsense struct{ *rand.Rand }

// words are what texts are, by the names of their fields; "-" is none.
var words = map[string]string{
	"Cluster": "echo echo geo", "Request.Cluster": "echo echo echo echo geo echo@us geo@eu echo@", "As": "echo geo",
	"Network": "- us eu", "View.Network": "- - us eu", "Publication.Network": "- - - us", "Subscription.Network": "- - - us", "Passed": "us eu asia -",
	"Crossing.From": "us eu asia", "Crossing.To": "us eu asia", "Crossing.Topic": "- - - - a.>",
	"Member": "1 2 3 4 -", "Key": "- - - - - k", "Relay": "- - - - - - - - - a", "How": "- stopped crashed",
	"Kind": "- - push survey broadcast", "Work": "load probe", "State": "live live suspect ejected unreachable - x",
	"Subscription.Name": "x y", "Pattern": "a.> > * a.* - . a", "Queue": "- - q", "Topic": "a a.b b -",
	"Delivery.Wrong": "- - w", "Reason": "slow lost border x",
	"Do":                  "crash crash silence stop restart start cut mend pause slow skew router heal degrade x",
	"Outcome":             "reply refused accepted complete partial no_members deadline interrupted wrong_reply - x",
	"Publication.Outcome": "published published published deadline -",
	"Tunnel.Outcome":      "done reset -",
}

// nobody is what all other texts are: the names and the peers of nodes.
const nobody = "a b c d -"

func (n nonsense) text(owner, field string) string {
	all := strings.Fields(cmp.Or(words[owner+"."+field], words[field], nobody))
	return strings.TrimSuffix(all[n.IntN(len(all))], "-")
}

func (n nonsense) time() time.Duration {
	switch n.IntN(20) {
	case 0:
		return -1
	case 1:
		return math.MaxInt64
	case 2:
		return math.MinInt64
	default:
		return time.Duration(n.IntN(20)) * sec
	}
}

// fill fills a field of a type, and all that is in it.
func (n nonsense) fill(owner, field string, v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			n.fill(v.Type().Name(), v.Type().Field(i).Name, v.Field(i))
		}
	case reflect.Slice:
		most := 3
		if owner == "History" {
			most = cmp.Or(map[string]int{"Nodes": 7, "Faults": 5, "Crossings": 5, "Views": 20, "Samples": 20, "Deliveries": 20}[field], 12)
		}
		v.Set(reflect.MakeSlice(v.Type(), n.IntN(most), most))
		fallthrough
	case reflect.Array:
		for i := range v.Len() {
			n.fill(owner, field, v.Index(i))
		}
	case reflect.Map: // by the names of networks or clusters
		if field == "Gateway" && n.IntN(3) == 0 || n.IntN(9) == 0 {
			v.Set(reflect.ValueOf(map[string]string{
				n.text("Crossing", "To"): n.text("", ""), n.text("Crossing", "From"): n.text("", ""), n.text("", "Cluster"): n.text("", "Key"),
			}))
		}
	case reflect.String:
		v.SetString(n.text(owner, field))
	case reflect.Bool:
		v.SetBool(n.IntN(2) == 0)
		if field == "Adversary" || field == "Lost" || field == "Wrong" { // else hardly anything is promised
			v.SetBool(n.IntN(15) == 0)
		}
	case reflect.Uint64:
		v.SetUint(n.Uint64N(12))
		if owner == "Sample" {
			v.SetUint(n.Uint64())
		}
	default:
		v.SetInt(int64(n.IntN(12) - 1))
		if v.Type() == reflect.TypeFor[time.Duration]() {
			v.SetInt(int64(n.time()))
		}
	}
}

func (n nonsense) history() *history.History {
	h := &history.History{}
	n.fill("", "", reflect.ValueOf(h).Elem())
	return h
}

// This test checks that no history, however absurd, makes Judge panic, that the
// verdict can be written as JSON, and that it is always the same one.
func TestRandomHistoriesAreJudgedTheSameTwice(t *testing.T) {
	for seed := range uint64(1000) {
		h := nonsense{rand.New(rand.NewPCG(seed, 1))}.history()
		r := check.Rules{Assert: []string{"lost == 0"}, Converge: time.Duration(seed%3) * sec}
		first, err := json.Marshal(check.Judge(h, r))
		require.NoError(t, err, "seed %d", seed)
		second, err := json.Marshal(check.Judge(h, r))
		require.NoError(t, err)
		require.Equal(t, string(first), string(second), "seed %d", seed)
	}
}

// This test checks that violations come in order, and not without bound.
func TestViolationsAreOrderedAndBounded(t *testing.T) {
	s := peace()
	for i := range s.Requests {
		s.Requests[i].Outcomes = 2
	}
	s.unrun(20)
	v := s.judge(check.Rules{})
	require.Len(t, v.Violations, 101)
	require.Equal(t, map[string]int{"outcome": 400, "belongs": 1}, v.Counts)
	for i := range v.Violations[1:] {
		require.LessOrEqual(t, v.Violations[i].At, v.Violations[i+1].At)
	}
	require.Equal(t, s.Requests[0].Ended, v.Violations[0].At)
	var names []string
	for _, c := range check.Checkers() {
		require.NotEmpty(t, c.Promise)
		names = append(names, c.Name)
	}
	require.Contains(t, names, v.Violations[0].Checker)
}

// FuzzJudge feeds histories as JSON.
func FuzzJudge(f *testing.F) {
	for seed := range uint64(5) {
		data, err := json.Marshal(nonsense{rand.New(rand.NewPCG(seed, 2))}.history())
		require.NoError(f, err)
		f.Add(data)
	}
	f.Fuzz(func(_ *testing.T, data []byte) {
		var h history.History
		if json.Unmarshal(data, &h) == nil {
			check.Judge(&h, check.Rules{})
		}
	})
}
