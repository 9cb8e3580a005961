// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
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

// Counts is a range of whole numbers, which files write as "3..8" or "5".
type Counts struct{ Min, Max int }

// Durations is a range of durations: "1s..5s".
type Durations struct{ Min, Max Duration }

// Shares is a range of shares: "0%..5%".
type Shares struct{ Min, Max Share }

// Sizes is a range of sizes: "16B..4KiB".
type Sizes struct{ Min, Max Bytes }

// The text forms of ranges.
var (
	_ encoding.TextUnmarshaler = (*Counts)(nil)
	_ encoding.TextUnmarshaler = (*Durations)(nil)
	_ encoding.TextUnmarshaler = (*Shares)(nil)
	_ encoding.TextUnmarshaler = (*Sizes)(nil)
)

// MarshalText implements encoding.TextMarshaler.
func (c Counts) MarshalText() ([]byte, error) {
	return []byte(fmt.Sprintf("%d..%d", c.Min, c.Max)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (c *Counts) UnmarshalText(text []byte) error {
	number := func(n *int) func([]byte) error {
		return func(text []byte) (err error) {
			*n, err = strconv.Atoi(string(text))
			if err != nil || *n < 0 || *n > math.MaxInt32 {
				return fmt.Errorf("%q is not a range of numbers; write it like 3..8", text)
			}
			return nil
		}
	}
	if err := ends(text, number(&c.Min), number(&c.Max)); err != nil {
		return err
	}
	return inOrder(text, c.Min <= c.Max)
}

// MarshalText implements encoding.TextMarshaler.
func (d Durations) MarshalText() ([]byte, error) {
	return []byte(fmt.Sprintf("%v..%v", d.Min, d.Max)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Durations) UnmarshalText(text []byte) error {
	if err := ends(text, d.Min.UnmarshalText, d.Max.UnmarshalText); err != nil {
		return err
	}
	if d.Min < 0 || d.Max > MaxDuration {
		return fmt.Errorf("%q is not between 0 and %v", text, MaxDuration)
	}
	return inOrder(text, d.Min <= d.Max)
}

// MarshalText implements encoding.TextMarshaler.
func (s Shares) MarshalText() ([]byte, error) {
	return []byte(fmt.Sprintf("%v..%v", s.Min, s.Max)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Shares) UnmarshalText(text []byte) error {
	if err := ends(text, s.Min.UnmarshalText, s.Max.UnmarshalText); err != nil {
		return err
	}
	return inOrder(text, s.Min <= s.Max)
}

// MarshalText implements encoding.TextMarshaler.
func (s Sizes) MarshalText() ([]byte, error) {
	return []byte(fmt.Sprintf("%v..%v", s.Min, s.Max)), nil
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *Sizes) UnmarshalText(text []byte) error {
	if err := ends(text, s.Min.UnmarshalText, s.Max.UnmarshalText); err != nil {
		return err
	}
	return inOrder(text, s.Min <= s.Max)
}

// ends reads "A..B", or "A" for both.
func ends(text []byte, low, high func([]byte) error) error {
	a, b, ok := strings.Cut(string(text), "..")
	if !ok {
		b = a
	}
	if err := low([]byte(a)); err != nil {
		return err
	}
	return high([]byte(b))
}

func inOrder(text []byte, ok bool) error {
	if !ok {
		return fmt.Errorf("%q ends before it begins", text)
	}
	return nil
}

// withDefaults fills in what is left out.
func (r Ranges) withDefaults() Ranges {
	const ms = Duration(time.Millisecond)
	or(&r.Members, Counts{3, 8})
	or(&r.Callers, Counts{2, 5})
	or(&r.Bystanders, Counts{2, 10})
	or(&r.Zones, Counts{1, 3})
	or(&r.Duration, Durations{20_000 * ms, 40_000 * ms})
	or(&r.Rate, Counts{50, 400})
	or(&r.Size, Sizes{16, 4 << 10})
	or(&r.Work, Durations{0, 20 * ms})
	or(&r.Latency, Durations{ms / 2, 30 * ms})
	or(&r.Jitter, Durations{0, 20 * ms})
	or(&r.Loss, Shares{0, Whole / 20})
	or(&r.Strikes, Counts{2, 8})
	or(&r.Lasting, Durations{500 * ms, 5000 * ms})
	or(&r.Calm, 2000*ms)
	if len(r.Faults) == 0 {
		r.Faults = FaultKinds()
	}
	if len(r.Kinds) == 0 {
		r.Kinds = WorkKinds()[:1]
	}
	return r
}

// or sets what is zero.
func or[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
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
	if r.Size.Min < 8 || r.Size.Max > 1<<20 {
		c.add("generate.size", "%v..%v is not within 8B..1MiB", r.Size.Min, r.Size.Max)
	}
	if r.Duration.Min < Duration(time.Second) {
		c.add("generate.duration", "%v is less than 1s", r.Duration.Min)
	}
}
