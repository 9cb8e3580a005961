// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"cmp"
	"encoding"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Ranges are what Generate draws a scenario from: swarm mode. The zero value
// of a field is the default named beside it.
type Ranges struct {
	Members    Counts    `yaml:"members,omitempty" json:"members,omitzero"`       // nodes that serve; default 3..8
	Callers    Counts    `yaml:"callers,omitempty" json:"callers,omitzero"`       // nodes that ask; default 2..5
	Bystanders Counts    `yaml:"bystanders,omitempty" json:"bystanders,omitzero"` // other nodes; default 2..10
	Clients    Counts    `yaml:"clients,omitempty" json:"clients,omitzero"`       // attached to bystanders, half of them serve; default none
	Kinds      []string  `yaml:"kinds,omitempty" json:"kinds,omitempty"`          // of work, a random subset of them; default request
	Zones      Counts    `yaml:"zones,omitempty" json:"zones,omitzero"`           // over which they are spread; default 1..3
	Duration   Durations `yaml:"duration,omitempty" json:"duration,omitzero"`     // default 20s..40s
	Rate       Counts    `yaml:"rate,omitempty" json:"rate,omitzero"`             // requests per second; default 50..400
	Size       Sizes     `yaml:"size,omitempty" json:"size,omitzero"`             // of a request; default 16B..4KiB
	Work       Durations `yaml:"work,omitempty" json:"work,omitzero"`             // of a handler; default 0s..20ms
	Latency    Durations `yaml:"latency,omitempty" json:"latency,omitzero"`       // of links; default 500µs..30ms
	Jitter     Durations `yaml:"jitter,omitempty" json:"jitter,omitzero"`         // of links; default 0s..20ms
	Loss       Shares    `yaml:"loss,omitempty" json:"loss,omitzero"`             // of links; default 0%..5%
	Mbps       Counts    `yaml:"mbps,omitempty" json:"mbps,omitzero"`             // of links; default 0 = unbounded
	Faults     []string  `yaml:"faults,omitempty" json:"faults,omitempty"`        // kinds to choose from; default FaultKinds
	Strikes    Counts    `yaml:"strikes,omitempty" json:"strikes,omitzero"`       // how many faults; default 2..8
	Lasting    Durations `yaml:"lasting,omitempty" json:"lasting,omitzero"`       // how long one lasts; default 500ms..5s
	Calm       Duration  `yaml:"calm,omitempty" json:"calm,omitempty"`            // without faults at the beginning and at the end; default 2s
}

// Range is a range of values, which files write as "1s..5s", or as one of them.
type Range[T int | Duration | Share | Bytes] struct{ Min, Max T }

// The ranges that there are.
type (
	Counts    = Range[int]
	Durations = Range[Duration]
	Shares    = Range[Share]
	Sizes     = Range[Bytes]
)

// MarshalText implements encoding.TextMarshaler.
func (r Range[T]) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%v..%v", r.Min, r.Max), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (r *Range[T]) UnmarshalText(text []byte) error {
	low, high, ok := strings.Cut(string(text), "..")
	if !ok {
		high = low
	}
	if err := readEnd(&r.Min, low); err != nil {
		return err
	}
	if err := readEnd(&r.Max, high); err != nil {
		return err
	}
	if r.Min > r.Max {
		return fmt.Errorf("%q ends before it begins", text)
	}
	return nil
}

// readEnd reads one end of a range: a whole number, or a value with a unit.
func readEnd(v any, text string) (err error) {
	n, whole := v.(*int)
	if !whole {
		return v.(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
	}
	*n, err = strconv.Atoi(text)
	if err != nil || *n < 0 || *n > math.MaxInt32 {
		return fmt.Errorf("%q is not a range of numbers; write it like 3..8", text)
	}
	return nil
}

// draw returns a value of a range.
func draw[T int | Share | Bytes](s stream, r Range[T]) T {
	return T(s.between(int64(r.Min), int64(r.Max)))
}

// withDefaults fills in what is left out.
func (r Ranges) withDefaults() Ranges {
	const ms = Duration(time.Millisecond)
	r.Members = cmp.Or(r.Members, Counts{3, 8})
	r.Callers = cmp.Or(r.Callers, Counts{2, 5})
	r.Bystanders = cmp.Or(r.Bystanders, Counts{2, 10})
	r.Zones = cmp.Or(r.Zones, Counts{1, 3})
	r.Duration = cmp.Or(r.Duration, Durations{20_000 * ms, 40_000 * ms})
	r.Rate = cmp.Or(r.Rate, Counts{50, 400})
	r.Size = cmp.Or(r.Size, Sizes{16, 4 << 10})
	r.Work = cmp.Or(r.Work, Durations{0, 20 * ms})
	r.Latency = cmp.Or(r.Latency, Durations{ms / 2, 30 * ms})
	r.Jitter = cmp.Or(r.Jitter, Durations{0, 20 * ms})
	r.Loss = cmp.Or(r.Loss, Shares{0, Whole / 20})
	r.Strikes = cmp.Or(r.Strikes, Counts{2, 8})
	r.Lasting = cmp.Or(r.Lasting, Durations{500 * ms, 5000 * ms})
	r.Calm = cmp.Or(r.Calm, 2000*ms)
	if len(r.Faults) == 0 {
		r.Faults = FaultKinds()
	}
	if len(r.Kinds) == 0 {
		r.Kinds = WorkKinds()[:1]
	}
	return r
}

// ranges checks what a file wants to be drawn.
func (c *checker) ranges() {
	if c.s.Generate == nil {
		return
	}
	r := c.s.Generate.withDefaults()
	for i, f := range r.Faults {
		c.word(fmt.Sprintf("generate.faults[%d]", i), "kind of fault", f, FaultKinds())
	}
	for i, k := range r.Kinds {
		c.word(fmt.Sprintf("generate.kinds[%d]", i), "kind", k, WorkKinds())
	}
	c.span("generate.calm", r.Calm)
	for _, f := range []struct {
		name string
		Counts
		least, most int
	}{
		{"members", r.Members, 1, 10_000},
		{"callers", r.Callers, 1, 10_000},
		{"bystanders", r.Bystanders, 0, 100_000 - 20_000},
		{"clients", r.Clients, 0, 1000},
		{"zones", r.Zones, 1, 100},
		{"rate", r.Rate, 1, MaxRate},
		{"mbps", r.Mbps, 0, 1_000_000},
		{"strikes", r.Strikes, 0, 1000},
	} {
		if f.Min < f.least || f.Max > f.most {
			c.add("generate."+f.name, "%d..%d is not within %d..%d", f.Min, f.Max, f.least, f.most)
		}
	}
	for _, f := range []struct {
		name string
		Durations
	}{
		{"duration", r.Duration}, {"work", r.Work}, {"latency", r.Latency}, {"jitter", r.Jitter}, {"lasting", r.Lasting},
	} {
		if f.Min < 0 || f.Max > MaxDuration {
			c.add("generate."+f.name, "\"%v..%v\" is not between 0 and %v", f.Min, f.Max, MaxDuration)
		}
	}
	if r.Size.Min < 8 || r.Size.Max > 1<<20 {
		c.add("generate.size", "%v..%v is not within 8B..1MiB", r.Size.Min, r.Size.Max)
	}
	if r.Duration.Min < Duration(time.Second) {
		c.add("generate.duration", "%v is less than 1s", r.Duration.Min)
	}
}
