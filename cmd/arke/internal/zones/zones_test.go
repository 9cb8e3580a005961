// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package zones_test

import (
	"archive/zip"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cmd/arke/internal/zones"
	"github.com/arke-mesh/arke/patterns"
)

func ask(t *testing.T, s *zones.Service, q zones.Question) (patterns.Message, error) {
	t.Helper()
	body, err := json.Marshal(q)
	require.NoError(t, err)
	return s.ServeRequest(t.Context(), &patterns.Request{Cluster: "zones", Body: body})
}

// agrees checks that the service and the oracle answer alike, and returns the reply.
func agrees(t *testing.T, s *zones.Service, o *zones.Oracle, q zones.Question) patterns.Message {
	t.Helper()
	reply, err := ask(t, s, q)
	require.NoError(t, err)
	want, err := o.Answer(q)
	require.NoError(t, err)
	text, err := json.Marshal(want)
	require.NoError(t, err)
	require.Equal(t, string(text), string(reply.Body), "%+v", q)
	return reply
}

func TestEveryZoneIsListedAndLoads(t *testing.T) {
	// This test checks that the generated list has exactly the zones of the
	// toolchain's database, and that each of them can be loaded.
	names := zones.Names()
	for _, name := range names {
		_, err := time.LoadLocation(name)
		require.NoError(t, err)
	}
	root, err := exec.Command("go", "env", "GOROOT").Output()
	require.NoError(t, err)
	file, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Skip("no toolchain to compare with: ", err)
	}
	defer file.Close()
	var want []string
	for _, f := range file.File {
		want = append(want, f.Name)
	}
	require.ElementsMatch(t, want, names, "run go generate in this folder")
}

func TestOracleAgreesWithTheServiceOnEveryZoneAndYear(t *testing.T) {
	// This test checks both computations against each other: the transitions
	// of every zone in every year.
	names := zones.Names()
	service, oracle := new(zones.Service), zones.NewOracle(names)
	for _, name := range names {
		for year := zones.FirstYear; year <= zones.LastYear; year++ {
			agrees(t, service, oracle, zones.Question{Transitions: name, Year: year})
		}
	}
}

func TestQuestionsBeginWithEveryZone(t *testing.T) {
	// This test checks that the list of questions is fixed, covers every
	// zone, has both kinds, and that service and oracle agree on it.
	names := zones.Names()
	service, oracle := &zones.Service{Name: "z1"}, zones.NewOracle(names)
	zonesSeen, kinds := map[string]bool{}, map[bool]int{}
	for n := range 2 * len(names) {
		q := zones.Nth(n, names, oracle)
		require.Equal(t, q, zones.Nth(n, names, oracle))
		if n < len(names) {
			zonesSeen[q.To+q.Transitions] = true
		}
		kinds[q.Convert != ""]++
		require.Equal(t, "z1", agrees(t, service, oracle, q).Headers.Get(zones.HeaderMember))
	}
	require.Len(t, zonesSeen, len(names))
	require.Greater(t, kinds[true], kinds[false])
	require.Greater(t, kinds[false], len(names)/8)
}

func TestKnownAnswers(t *testing.T) {
	// This test checks both computations against facts from elsewhere.
	oracle := zones.NewOracle(zones.Names())
	for _, tc := range []struct {
		question zones.Question
		answer   zones.Answer
	}{
		{
			zones.Question{Convert: "2024-03-31T12:00:00+02:00:00", To: "Asia/Tokyo"},
			zones.Answer{Instant: "2024-03-31T19:00:00+09:00:00", Zone: "JST"},
		},
		{ // Liberia was 44 minutes and 30 seconds behind until 1972.
			zones.Question{Convert: "1971-06-01T00:00:00Z", To: "Africa/Monrovia"},
			zones.Answer{Instant: "1971-05-31T23:15:30-00:44:30", Zone: "MMT"},
		},
		{
			zones.Question{Transitions: "America/New_York", Year: 2024},
			zones.Answer{Transitions: []zones.Transition{
				{At: "2024-03-10T07:00:00Z", Offset: -14400, Zone: "EDT", DST: true},
				{At: "2024-11-03T06:00:00Z", Offset: -18000, Zone: "EST"},
			}},
		},
		{zones.Question{Transitions: "Asia/Kolkata", Year: 2024}, zones.Answer{}},
	} {
		got, err := oracle.Answer(tc.question)
		require.NoError(t, err)
		require.Equal(t, tc.answer, got)
		reply, err := ask(t, new(zones.Service), tc.question)
		require.NoError(t, err)
		var said zones.Answer
		require.NoError(t, json.Unmarshal(reply.Body, &said))
		require.Equal(t, tc.answer, said)
	}
}

func TestSenselessQuestionsAreRefused(t *testing.T) {
	// This test checks that a member says what is wrong with a question.
	for _, q := range []zones.Question{
		{},
		{Convert: "yesterday", To: "UTC"},
		{Convert: "2024-01-01T00:00:00Z", To: "Middle/Earth"},
		{Transitions: "Middle/Earth", Year: 2000},
		{Transitions: "UTC", Year: 1492},
	} {
		_, err := ask(t, new(zones.Service), q)
		var remote *patterns.RemoteError
		require.ErrorAs(t, err, &remote)
		require.NotEmpty(t, remote.Message)
	}
	_, err := new(zones.Service).ServeRequest(t.Context(), &patterns.Request{Body: []byte("{")})
	require.ErrorContains(t, err, "not a question")
}
