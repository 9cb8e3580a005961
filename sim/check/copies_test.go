// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim/check"
)

// This test checks that the way of a publication is counted link by link, from
// what was sent, and the copies of its publisher apart from those of others.
func TestTheWayOfAPublicationIsMeasured(t *testing.T) {
	s := peace()
	market(s)
	for i := range 10 {
		s.copy(i, "c1", "m2")
		s.copy(i, "m2", "m1")
	}
	for _, to := range []string{"c2", "m3"} {
		s.copy(3, "c1", to)
	}
	s.copy(4, "m1", "m3") // behind two others
	v := claims(
		t, s, "tree_depth == 3", "publisher_copies == 3", "publisher_bytes == 450", "forwarder_copies == 1",
		"tree_depth{ticks} == 3", "tree_depth{desk} == 3", "publisher_copies{ticks} == 3",
	)
	require.Equal(t, 12, v.Metrics["tree_depth"].Samples, "where nobody heard how it came, nothing is made up")
	require.Equal(t, 10, v.Metrics["publisher_copies"].Samples)
}

// This test checks that a node that gets a publication on two ways counts for
// the first, and that what comes from nowhere is not followed.
func TestTheFirstWayCounts(t *testing.T) {
	s := peace()
	market(s)
	s.copy(0, "c1", "m1")
	s.copy(0, "m2", "m3") // which m2 can't have
	s.copy(0, "c1", "m2")
	s.copy(0, "m2", "m1")
	s.copy(0, "c1", "m1") // again, after the link broke
	claims(t, s, "tree_depth == 1", "publisher_copies == 2", "publisher_bytes == 450", "forwarder_copies == 2")
}

// This test checks that probes and what nobody published are left out, and that
// there is no figure where nobody listened.
func TestWhatWasNotHeardIsNotMeasured(t *testing.T) {
	s := peace()
	market(s)
	absent(t, s, "tree_depth", "publisher_copies", "publisher_bytes", "forwarder_copies")
	s.copy(2, "c1", "m1")
	s.Publications[2].Work = "probe"
	s.Copies = append(s.Copies, s.Copies[0])
	s.Copies[1].Publication = 99
	absent(t, s, "tree_depth", "publisher_copies", "publisher_bytes", "forwarder_copies")
	require.True(t, s.judge(check.Rules{}).OK)
}
