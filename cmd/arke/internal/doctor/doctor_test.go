// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package doctor

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/relay"
	"github.com/arke-mesh/arke/security"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place makes a directory or a file with these permissions, and returns its path.
func place(t *testing.T, mode os.FileMode) string {
	path := filepath.Join(t.TempDir(), "data")
	require.NoError(t, os.Mkdir(path, 0o700))
	require.NoError(t, os.Chmod(path, mode))
	return path
}

func TestADataDirectoryIsNeitherMissingNorOpenToOthers(t *testing.T) {
	// This test grades data directories as a relay could use them.
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for name, c := range map[string]struct {
		dir     string
		running bool
		want    Grade
		text    string
	}{
		"good":                     {dir: place(t, 0o700), want: OK},
		"not there yet":            {dir: filepath.Join(t.TempDir(), "new"), want: OK},
		"nothing above it":         {dir: filepath.Join(t.TempDir(), "no", "where"), want: Problem},
		"writable by others":       {dir: place(t, 0o777), want: Problem, text: "chmod go-w"},
		"a file":                   {dir: file, want: Problem, text: "is none"},
		"none":                     {want: Warning, text: "a new peer id"},
		"none, and a relay has it": {running: true, want: Skipped},
	} {
		f := dataDir(Config{DataDir: c.dir}, c.running)
		require.Equal(t, c.want, f.Grade, name)
		require.Contains(t, f.Text, c.text, name)
		require.Equal(t, f.Grade == Warning || f.Grade == Problem, f.Do != "", "%s: what to do goes with what is wrong", name)
	}
}

func TestADataDirectoryOfSomebodyElseIsAProblem(t *testing.T) {
	// This test gives the directory to another user, as only root can.
	if os.Geteuid() != 0 {
		t.Skip("only root can give a directory away")
	}
	dir := place(t, 0o700)
	require.NoError(t, os.Chown(dir, 65534, -1))
	f := dataDir(Config{DataDir: dir}, false)
	require.Equal(t, Problem, f.Grade)
	require.Contains(t, f.Text, "belongs to user 65534")
}

func TestASocketsPathIsAsShortAsTheRelayTakesIt(t *testing.T) {
	// This test measures paths by what the relay itself takes.
	for n, want := range map[int]Grade{relay.MaxSocketPath: OK, relay.MaxSocketPath + 1: Problem} {
		require.Equal(t, want, socket(Config{Socket: strings.Repeat("s", n)}, nil).Grade, n)
	}
}

func TestASeedIsLookedAtByNameAndPort(t *testing.T) {
	// This test looks at seeds that listen, refuse, and can't be understood.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	good := []string{"127.0.0.1:" + port, "/ip4/127.0.0.1/tcp/" + port, "/ip4/127.0.0.1/tcp/" + port + "/p2p/12D3KooWEbJ618shC1HKcFHFSCQLSg4FfX3aVpJUhbABdY4WisyM"}
	for _, s := range good {
		require.Equal(t, OK, seed(t.Context(), s, time.Second).Grade, s)
	}
	require.NoError(t, l.Close())
	for text, says := range map[string]string{
		good[0]:                "connection refused",
		"127.0.0.1":            "missing port",
		"/ip4/127.0.0.1":       "tcp",
		"/unix/tmp":            "no host",
		"nowhere.invalid:7400": "does not resolve",
	} {
		f := seed(t.Context(), text, time.Second)
		require.Equal(t, Problem, f.Grade, text)
		require.Contains(t, f.Text, says, text)
		require.NotEmpty(t, f.Do)
	}
}

func TestANodeTellsHowItsNetworkIs(t *testing.T) {
	// This test reads what a node says about its seeds, peers, clock and versions.
	s := node.Status{
		Network: "home", Peers: 2,
		Seeds: []overlay.SeedStatus{
			{Addr: "a:1", State: overlay.SeedReached},
			{Addr: "b:1", State: overlay.SeedSelf},
			{Addr: "c:1", State: overlay.SeedFailing, Error: "closed without a word: another network key, or not Arke"},
			{Addr: "d:1", State: overlay.SeedTrying},
		},
		Clock: overlay.ClockStatus{State: overlay.ClockWrong, Ahead: 8 * time.Hour, Differ: 2, Of: 2},
		Links: []overlay.LinkStatus{{Agent: "arke/1"}, {Agent: "arke/2"}, {Agent: "arke/2"}},
	}
	grades := map[string]Grade{}
	texts := map[string]string{}
	for _, f := range network(s, "the relay") {
		grades[f.Check], texts[f.Check] = f.Grade, f.Text
	}
	require.Equal(t, map[string]Grade{
		"admission by a:1": OK, "admission by b:1": OK, "admission by c:1": Problem, "admission by d:1": Warning,
		"peers": OK, "clock": Problem, "versions": Warning,
	}, grades)
	require.Contains(t, texts["clock"], "8h0m0s")
	require.Equal(t, "different ones: arke/1 (1), arke/2 (2)", texts["versions"])
	require.Contains(t, network(node.Status{Doubt: "this node has lost all others"}, "the relay"),
		warning("views", "see to the seeds and the network: until then calls of unknown services are unreachable", "%s", "this node has lost all others"))
	require.Equal(t, Skipped, clock(node.Status{}).Grade)
	require.Equal(t, Warning, drops(node.Status{Drops: map[string]uint64{"a": 0, "b": 3}}).Grade)
}

func TestTheDoctorVisitsTheNetworkItself(t *testing.T) {
	// This test examines a configuration beside which no relay runs: the doctor joins by
	// its seed, compares clocks, and leaves; with another key it is not let in.
	file, err := security.GenerateNetworkFile("home", rand.Reader)
	require.NoError(t, err)
	other, err := security.GenerateNetworkFile("home", rand.Reader)
	require.NoError(t, err)
	n, err := node.New(node.Config{Network: file, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, NoMDNS: true})
	require.NoError(t, err)
	defer n.Close()
	require.NoError(t, n.Start(t.Context()))
	examine := func(network security.NetworkFile) (problems int, found map[string]Finding) {
		found = map[string]Finding{}
		problems = Examine(t.Context(), Config{
			Network: network, DataDir: t.TempDir(), Socket: filepath.Join(t.TempDir(), "s"), Listen: []string{"/ip4/127.0.0.1/tcp/0"},
			Seeds: n.Addrs(), NoMDNS: true,
			Running: func(context.Context) (Running, error) { return Running{}, errors.New("no relay") },
		}, func(f Finding) { found[strings.Fields(f.Check)[0]] = f })
		return problems, found
	}
	problems, found := examine(file)
	require.Zero(t, problems, "%v", found)
	require.Equal(t, OK, found["admission"].Grade)
	require.Equal(t, OK, found["clock"].Grade)
	problems, found = examine(other)
	require.Equal(t, 1, problems)
	require.Contains(t, found["admission"].Text, "another network key")
}

func TestAProgramThatHangsIsFound(t *testing.T) {
	// This test checks what the doctor says of the programs of a relay that runs.
	require.Equal(t, OK, clients(relay.Status{Clients: []relay.ClientStatus{{Name: "a"}, {Name: "b", Away: true}}}).Grade)
	found := clients(relay.Status{Clients: []relay.ClientStatus{{Name: "a"}, {Name: "arke serve", Silent: true}}})
	require.Equal(t, Warning, found.Grade)
	require.Contains(t, found.Text, "arke serve")
}

func TestAFullRelayIsFound(t *testing.T) {
	// This test checks that the doctor says whose places are taken, and what to do.
	found := clients(relay.Status{Full: []relay.FullStatus{{From: "user 7", Clients: 3, Limit: 3}}})
	require.Equal(t, Problem, found.Grade)
	require.Equal(t, "the relay is full: user 7 has 3 of 3 clients", found.Text)
	require.Contains(t, found.Do, "--max-clients")
}
