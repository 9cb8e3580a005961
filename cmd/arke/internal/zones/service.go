// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package zones

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/arke-mesh/arke/patterns"
)

// HeaderMember is the header of a reply that names the member.
const HeaderMember = "member"

// codeQuestion is the code of a refusal of a senseless question.
const codeQuestion patterns.Code = 100

// Service is one member. It may be used concurrently.
type Service struct {
	// Name is told in every reply; immutable.
	Name string

	locations sync.Map // zone name -> *time.Location; as many as there are zones
}

var _ patterns.Handler = (*Service)(nil)

// ServeRequest implements patterns.Handler.
func (s *Service) ServeRequest(_ context.Context, r *patterns.Request) (patterns.Message, error) {
	var q Question
	if err := json.Unmarshal(r.Body, &q); err != nil {
		return patterns.Message{}, refuse(r.Cluster, "this is not a question: %v", err)
	}
	var a Answer
	var err error
	switch {
	case q.Convert != "":
		a, err = s.convert(q)
	case q.Transitions != "":
		a, err = s.transitions(q)
	default:
		err = fmt.Errorf("ask to convert an instant, or for the transitions of a zone")
	}
	if err != nil {
		return patterns.Message{}, refuse(r.Cluster, "%v", err)
	}
	body, err := json.Marshal(a)
	return patterns.Message{Headers: patterns.Headers{{Key: HeaderMember, Value: s.Name}}, Body: body}, err
}

func refuse(cluster, format string, args ...any) error {
	return &patterns.RemoteError{Cluster: cluster, Code: codeQuestion, Message: fmt.Sprintf(format, args...)}
}

func (s *Service) convert(q Question) (Answer, error) {
	at, err := time.Parse(layout, q.Convert)
	if err != nil {
		return Answer{}, err
	}
	zone, err := s.location(q.To)
	if err != nil {
		return Answer{}, err
	}
	at = at.In(zone)
	abbreviation, _ := at.Zone()
	return Answer{Instant: at.Format(layout), Zone: abbreviation, DST: at.IsDST()}, nil
}

func (s *Service) transitions(q Question) (Answer, error) {
	if q.Year < FirstYear || q.Year > LastYear {
		return Answer{}, fmt.Errorf("year %d is not between %d and %d", q.Year, FirstYear, LastYear)
	}
	zone, err := s.location(q.Transitions)
	if err != nil {
		return Answer{}, err
	}
	var a Answer
	at := time.Date(q.Year, 1, 1, 0, 0, 0, 0, time.UTC).Add(-time.Second).In(zone)
	for {
		_, next := at.ZoneBounds()
		if next.IsZero() || next.UTC().Year() > q.Year {
			return a, nil
		}
		// The database also has entries at which nothing changes.
		if was, is := rulesAt(next.Add(-time.Second)), rulesAt(next); was != is {
			a.Transitions = append(a.Transitions, Transition{
				At: next.UTC().Format(layout), Offset: is.offset, Zone: is.name, DST: is.dst,
			})
		}
		at = next
	}
}

func (s *Service) location(name string) (*time.Location, error) {
	if l, ok := s.locations.Load(name); ok {
		return l.(*time.Location), nil
	}
	l, err := time.LoadLocation(name)
	if err != nil {
		return nil, err
	}
	s.locations.Store(name, l)
	return l, nil
}

// rules are what holds in a zone at a time.
type rules struct {
	offset int // seconds east of UTC
	name   string
	dst    bool
}

func rulesAt(t time.Time) rules {
	name, offset := t.Zone()
	return rules{offset, name, t.IsDST()}
}
