// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package session

// Survey asks every member of a cluster. It is answered by SurveyReplies, as
// they come, and one SurveyEnd.
type Survey struct {
	ID         uint64 // as of a Request
	Timeout    uint64 // µs; 0 = the default of the relay's node
	MaxReplies uint32 // 0 = the default
	MaxBytes   uint64 // of bodies and headers of all replies; 0 = the default
	Cluster    string
	Headers    []Header
	Body       []byte
}

// Kind implements Frame.
func (*Survey) Kind() Kind { return KindSurvey }

func (m *Survey) encode(e *encoder) {
	e.u64(m.ID)
	e.u64(m.Timeout)
	e.u32(m.MaxReplies)
	e.u64(m.MaxBytes)
	e.str("cluster", m.Cluster, MaxCluster)
	e.headers(m.Headers)
	e.rest(m.Body)
}

func (m *Survey) decode(d *decoder) {
	m.ID = d.u64()
	m.Timeout = d.u64()
	m.MaxReplies = d.u32()
	m.MaxBytes = d.u64()
	m.Cluster = d.str("cluster", MaxCluster)
	m.Headers = d.headers()
	m.Body = d.rest()
}

// SurveyReply is what one member answered: a reply or a remote error.
type SurveyReply struct {
	ID uint64
	Failure
	Member  string
	Peer    string
	Headers []Header
	Body    []byte // where the outcome is a reply
}

// Kind implements Frame.
func (*SurveyReply) Kind() Kind { return KindSurveyReply }

func (m *SurveyReply) encode(e *encoder) {
	e.u64(m.ID)
	m.encodeHead(e)
	e.str("member", m.Member, MaxName)
	e.str("peer", m.Peer, MaxName)
	e.headers(m.Headers)
	m.encodeResult(e, m.Body)
}

func (m *SurveyReply) decode(d *decoder) {
	m.ID = d.u64()
	m.decodeHead(d)
	m.Member = d.str("member", MaxName)
	m.Peer = d.str("peer", MaxName)
	m.Headers = d.headers()
	m.Body = m.decodeResult(d)
}

// SurveyEnd is how a Survey ended; no reply follows it.
type SurveyEnd struct {
	ID uint64
	Failure
	Replies  uint32 // SurveyReplies that were sent
	Complete bool   // nobody is missing, and the list of members was whole
	Missing  []Missing
}

// Kind implements Frame.
func (*SurveyEnd) Kind() Kind { return KindSurveyEnd }

func (m *SurveyEnd) encode(e *encoder) {
	e.u64(m.ID)
	m.Failure.encode(e)
	e.u32(m.Replies)
	e.flag(m.Complete)
	e.missing(m.Missing)
}

func (m *SurveyEnd) decode(d *decoder) {
	m.ID = d.u64()
	m.Failure.decode(d)
	m.Replies = d.u32()
	m.Complete = d.flag("complete")
	m.Missing = d.missing()
}
