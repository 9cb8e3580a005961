// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package survey_test

import (
	"errors"
	"testing"

	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/patterns/internal/fake"
	"github.com/arke-mesh/arke/patterns/request"
	"github.com/arke-mesh/arke/patterns/survey"
)

func TestASurveyHandsOnAnswersAndNamesTheRest(t *testing.T) {
	// This test checks which outcomes are answers, a remote error among them,
	// and what is counted.
	no := &patterns.RemoteError{Cluster: "geo", Code: 100, Message: "no"}
	a := &fake.Asker{Outcomes: []fake.Member{
		{Node: "a", Reply: "one"}, {Node: "a", Err: no}, {Node: "b", Err: patterns.ErrInterrupted},
	}}
	e := survey.New(a)
	m := patterns.Message{Body: []byte("?")}
	var got []patterns.SurveyReply
	each := func(r patterns.SurveyReply) error {
		got = append(got, r)
		return nil
	}
	result, err := e.Survey(t.Context(), "geo", m, each, patterns.SurveyOptions{})
	require.NoError(t, err)
	require.Equal(t, patterns.SurveyResult{
		Replies: 2, Missing: []patterns.Missing{fake.Missing(3, "b", patterns.ErrInterrupted)},
	}, result)
	node := peer.ID("a").String()
	require.Equal(t, []patterns.SurveyReply{
		{Member: "0000000000000001", Peer: node, Message: patterns.Message{Body: []byte("one")}},
		{Member: "0000000000000002", Peer: node, Message: patterns.Message{Body: []byte{}}, Err: no},
	}, got)
	require.Equal(t, request.All{
		Cluster: "geo", Pattern: patterns.PatternSurvey, Message: m, MaxMembers: 4096, MaxBytes: 64 << 20,
	}, a.Seen, "the defaults")

	a.Outcomes = a.Outcomes[:2]
	result, err = e.Survey(t.Context(), "geo", m, each, patterns.SurveyOptions{})
	require.NoError(t, err)
	require.True(t, result.Complete)
	a.Partial = true
	result, err = e.Survey(t.Context(), "geo", m, each, patterns.SurveyOptions{MaxReplies: 7, MaxBytes: 8})
	require.NoError(t, err)
	require.False(t, result.Complete)
	require.Equal(t, 7, a.Seen.MaxMembers)
	require.Equal(t, 8, a.Seen.MaxBytes)
	require.Equal(t, survey.Status{Made: 3, Complete: 1, Replies: 6, Missing: 1}, e.Status())
}

func TestASurveyEndsWithTheErrorOfEach(t *testing.T) {
	// This test checks the ways to end with an error.
	a := &fake.Asker{Outcomes: []fake.Member{{Reply: "one"}, {Reply: "two"}}}
	e := survey.New(a)
	enough := errors.New("enough")
	each := func(patterns.SurveyReply) error { return enough }
	result, err := e.Survey(t.Context(), "geo", patterns.Message{}, each, patterns.SurveyOptions{})
	require.Equal(t, enough, err)
	require.Equal(t, patterns.SurveyResult{Replies: 1}, result)
	a.Err = patterns.ErrNoMembers
	_, err = e.Survey(t.Context(), "geo", patterns.Message{}, each, patterns.SurveyOptions{})
	require.Equal(t, patterns.ErrNoMembers, err)
	for _, o := range []patterns.SurveyOptions{{MaxReplies: -1}, {MaxBytes: -1}} {
		_, err = e.Survey(t.Context(), "geo", patterns.Message{}, each, o)
		require.ErrorContains(t, err, "survey: ")
	}
}
