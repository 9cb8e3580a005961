// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	_ "embed"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"
	_ "time/tzdata"
)

const day = 24 * 60 * 60

// Oracle knows the answers without asking a Service. Tables are made when
// they are first needed. It may be used concurrently.
type Oracle struct {
	tables map[string]func() (*table, error) // each makes its table once; immutable after NewOracle
}

// table holds the rules of one zone.
type table struct {
	since []int64 // Unix seconds, ascending; the first is before FirstYear
	rules []rules // what holds from since[i] on
}

// NewOracle returns an oracle for these zones.
func NewOracle(names []string) *Oracle {
	o := &Oracle{tables: make(map[string]func() (*table, error), len(names))}
	for _, n := range names {
		o.tables[n] = sync.OnceValues(func() (*table, error) { return newTable(n) })
	}
	return o
}

// Answer returns what a member ought to reply to a question of Nth.
func (o *Oracle) Answer(q Question) (Answer, error) {
	if q.Transitions != "" {
		return o.transitions(q)
	}
	at, err := time.Parse(layout, q.Convert)
	if err != nil {
		return Answer{}, err
	}
	t, err := o.table(q.To)
	if err != nil {
		return Answer{}, err
	}
	r := t.at(at.Unix())
	return Answer{Instant: write(at.Unix(), r), Zone: r.name, DST: r.dst}, nil
}

func (o *Oracle) transitions(q Question) (Answer, error) {
	t, err := o.table(q.Transitions)
	if err != nil {
		return Answer{}, err
	}
	begin := time.Date(q.Year, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	end := time.Date(q.Year+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	var a Answer
	for i, since := range t.since {
		if since >= begin && since < end {
			r := t.rules[i]
			a.Transitions = append(a.Transitions, Transition{
				At: write(since, rules{}), Offset: r.offset, Zone: r.name, DST: r.dst,
			})
		}
	}
	return a, nil
}

// write gives the instant in the notation of a zone of the oracle.
func (o *Oracle) write(at int64, zone string) string {
	t, err := o.table(zone)
	if err != nil {
		return write(at, rules{}) // UTC will do: it is the same instant
	}
	return write(at, t.at(at))
}

// write gives the instant as a zone with these rules does.
func write(at int64, r rules) string {
	local := time.Unix(at+int64(r.offset), 0).UTC().Format("2006-01-02T15:04:05")
	if r.offset == 0 {
		return local + "Z"
	}
	sign, o := '+', r.offset
	if o < 0 {
		sign, o = '-', -o
	}
	return fmt.Sprintf("%s%c%02d:%02d:%02d", local, sign, o/3600, o/60%60, o%60)
}

func (o *Oracle) table(name string) (*table, error) {
	table, ok := o.tables[name]
	if !ok {
		return nil, fmt.Errorf("zones: the oracle does not know %q", name)
	}
	return table()
}

// newTable samples the zone once a day and finds each change by bisection.
func newTable(name string) (*table, error) {
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	sample := func(at int64) rules { return rulesAt(time.Unix(at, 0).In(zone)) }
	at := time.Date(FirstYear, 1, 1, 0, 0, 0, 0, time.UTC).Unix() - day
	end := time.Date(LastYear+1, 1, 1, 0, 0, 0, 0, time.UTC).Unix()
	last := sample(at)
	t := &table{[]int64{at}, []rules{last}}
	for ; at < end; at += day {
		for from, next := at, sample(at+day); next != last; {
			// The first second at which the last rules do not hold any more.
			n := sort.Search(int(at+day-from), func(i int) bool { return sample(from+int64(i)) != last })
			from += int64(n)
			last = sample(from)
			t.since, t.rules = append(t.since, from), append(t.rules, last)
		}
	}
	return t, nil
}

// at returns the rules at an instant after the table's beginning.
func (t *table) at(unix int64) rules {
	i := sort.Search(len(t.since), func(i int) bool { return t.since[i] > unix })
	return t.rules[max(i-1, 0)]
}

// layout is RFC 3339 with the seconds that old offsets have.
const layout = "2006-01-02T15:04:05Z07:00:00"

// The years that questions are about.
const (
	FirstYear = 1970
	LastYear  = 2037
)

// Question is what a caller asks. Either Convert and To, or Transitions and
// Year are set.
type Question struct {
	Convert     string `json:"convert,omitempty"` // an instant in any zone's notation
	To          string `json:"to,omitempty"`
	Transitions string `json:"transitions,omitempty"` // a zone
	Year        int    `json:"year,omitempty"`
}

// Answer is what a member replies.
type Answer struct {
	Instant     string       `json:"instant,omitempty"` // in the notation of the zone asked for
	Zone        string       `json:"zone,omitempty"`    // its abbreviation then
	DST         bool         `json:"dst,omitempty"`
	Transitions []Transition `json:"transitions,omitempty"`
}

// Transition is one change of a zone's rules.
type Transition struct {
	At     string `json:"at"`     // UTC
	Offset int    `json:"offset"` // seconds east of UTC from then on
	Zone   string `json:"zone"`   // abbreviation from then on
	DST    bool   `json:"dst"`
}

// Nth returns question n of an endless, fixed list that begins with every
// zone once. The oracle writes the instants in the notation of another zone.
func Nth(n int, names []string, o *Oracle) Question {
	here := names[n%len(names)]
	r := mix(uint64(n))
	if (n+n/len(names))%8 == 7 {
		return Question{Transitions: here, Year: FirstYear + int(r%(LastYear-FirstYear+1))}
	}
	first := time.Date(FirstYear, 1, 2, 0, 0, 0, 0, time.UTC).Unix()
	last := time.Date(LastYear, 12, 31, 0, 0, 0, 0, time.UTC).Unix()
	at := first + int64(r%uint64(last-first))
	there := names[mix(r)%uint64(len(names))]
	return Question{Convert: o.write(at, there), To: here}
}

// mix spreads n over 64 bits (the finalizer of SplitMix64).
func mix(n uint64) uint64 {
	n += 0x9e3779b97f4a7c15
	n = (n ^ n>>30) * 0xbf58476d1ce4e5b9
	n = (n ^ n>>27) * 0x94d049bb133111eb
	return n ^ n>>31
}

//go:generate go run ./names

//go:embed names.txt
var names string

// Names returns every zone of the database in alphabetical order. The caller
// owns the slice.
func Names() []string { return strings.Fields(names) }
