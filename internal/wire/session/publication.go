// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Publication is one message for a subscription.
type Publication struct {
	Subscription uint64
	// Number counts the messages of the subscription, those included that a
	// Gap says are missing.
	Number  uint64
	From    string // the peer id of the publisher's node
	Topic   string
	Headers []Header
	Body    []byte
}

// Kind implements Frame.
func (*Publication) Kind() Kind { return KindPublication }

func (m *Publication) encode(e *encoder) {
	e.u64(m.Subscription)
	e.u64(m.Number)
	e.str("from", m.From, MaxName)
	e.str("topic", m.Topic, MaxTopic)
	e.headers(m.Headers)
	e.rest(m.Body)
}

func (m *Publication) decode(d *decoder) {
	m.Subscription = d.u64()
	m.Number = d.u64()
	m.From = d.str("from", MaxName)
	m.Topic = d.str("topic", MaxTopic)
	m.Headers = d.headers()
	m.Body = d.rest()
}

// GapReason says why messages are missing. Closed list; do not reorder.
type GapReason uint8

// The reasons.
const (
	GapSlow  GapReason = 1 // the subscription's queue was full
	GapLane  GapReason = 2 // a lane on the way was full
	GapLost  GapReason = 3 // a link or a forwarder on the way was lost
	GapRelay GapReason = 4 // the session or the relay was lost, or had no room

	gapReasonCount = 5
)

// String returns the reason's name.
func (r GapReason) String() string {
	switch r {
	case GapSlow:
		return "slow"
	case GapLane:
		return "lane"
	case GapLost:
		return "lost"
	case GapRelay:
		return "relay"
	}
	return "unknown"
}

// Gap stands where messages of a subscription are missing.
type Gap struct {
	Subscription uint64
	Number       uint64 // of the last that is missing
	Missed       uint64
	Exact        bool // else at most so many; 0 = nobody knows
	Reason       GapReason
	From         string // the peer id of the publisher's node; "" = of several
}

// Kind implements Frame.
func (*Gap) Kind() Kind { return KindGap }

func (m *Gap) encode(e *encoder) {
	e.u64(m.Subscription)
	e.u64(m.Number)
	e.u64(m.Missed)
	e.flag(m.Exact)
	e.u8(uint8(m.Reason))
	e.str("from", m.From, MaxName)
}

func (m *Gap) decode(d *decoder) {
	m.Subscription = d.u64()
	m.Number = d.u64()
	m.Missed = d.u64()
	m.Exact = d.flag("exact")
	m.Reason = GapReason(d.u8())
	if m.Reason == 0 || m.Reason >= gapReasonCount {
		d.fail("reason of a gap")
	}
	m.From = d.str("from", MaxName)
}

// Taken says that the client's handler has had everything of a subscription up
// to Number, so that more may be sent.
type Taken struct {
	Subscription uint64
	Number       uint64
}

// Kind implements Frame.
func (*Taken) Kind() Kind { return KindTaken }

func (m *Taken) encode(e *encoder) {
	e.u64(m.Subscription)
	e.u64(m.Number)
}

func (m *Taken) decode(d *decoder) {
	m.Subscription = d.u64()
	m.Number = d.u64()
}
