// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Publish sends to every subscription that matches the topic. It is answered
// by a Published or a PublishFailed; a client sends the next one without
// waiting for that.
type Publish struct {
	// ID counts the publishes of a session: 1, 2, 3 …
	ID      uint64
	Timeout uint64 // µs; 0 = the default of the relay's node
	Topic   string
	Headers []Header
	Body    []byte
}

// Kind implements Frame.
func (*Publish) Kind() Kind { return KindPublish }

func (m *Publish) encode(e *encoder) {
	e.u64(m.ID)
	e.u64(m.Timeout)
	e.str("topic", m.Topic, MaxTopic)
	e.headers(m.Headers)
	e.rest(m.Body)
}

func (m *Publish) decode(d *decoder) {
	m.ID = d.u64()
	m.Timeout = d.u64()
	m.Topic = d.str("topic", MaxTopic)
	m.Headers = d.headers()
	m.Body = d.rest()
}

// Published says of publishes with Count ids from First on that they are done.
type Published struct {
	First uint64
	Count uint32 // at least 1
}

// Kind implements Frame.
func (*Published) Kind() Kind { return KindPublished }

func (m *Published) encode(e *encoder) {
	e.u64(m.First)
	e.u32(m.Count)
}

func (m *Published) decode(d *decoder) {
	m.First = d.u64()
	m.Count = d.u32()
	if m.Count == 0 {
		d.fail("count of publishes")
	}
}

// PublishFailed says why one publish was not done, or not for all.
type PublishFailed struct {
	ID uint64
	Failure
}

// Kind implements Frame.
func (*PublishFailed) Kind() Kind { return KindPublishFailed }

func (m *PublishFailed) encode(e *encoder) {
	e.u64(m.ID)
	m.Failure.encode(e)
}

func (m *PublishFailed) decode(d *decoder) {
	m.ID = d.u64()
	m.Failure.decode(d)
}
