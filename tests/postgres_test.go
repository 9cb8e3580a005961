// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"flag"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

// pgbenchTime is how long each measurement of `make pgbench` takes.
var pgbenchTime = flag.Duration("pgbench", 0, "measure pgbench through Arke beside direct, for so long each")

// database exposes a fresh PostgreSQL beside one relay and forwards a port
// beside another one to it.
func database(t *testing.T, settings ...string) (db *harness.Postgres, port string) {
	t.Helper()
	db = harness.NewPostgres(t, settings...)
	a, b := together(harness.NewNetwork(t))
	b.Exposes("db", db.HostPort())
	a.Sees(1, "db")
	return db, a.Forwards("db").Said()
}

// carriesMuch has PostgreSQL read and take megabytes through the port, and refuse what
// makes no sense.
func carriesMuch(t *testing.T, db *harness.Postgres, port string) {
	t.Helper()
	began := time.Now()
	got, err := db.Psql(port, "select repeat('x', 8000000)")
	require.NoError(t, err)
	require.True(t, got == strings.Repeat("x", 8_000_000)+"\n", "%d bytes", len(got))
	t.Logf("8 MB are read in %s", time.Since(began).Round(time.Millisecond))
	_, err = db.Psql(port, "select * from missing")
	require.ErrorContains(t, err, `relation "missing" does not exist`)

	var rows strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&rows, "%d\tnumber %d\n", i, i)
	}
	_, err = db.Psql(port, "create table numbers (n int, name text)")
	require.NoError(t, err)
	began = time.Now()
	_, err = db.PsqlReads(port, "copy numbers from stdin", rows.String())
	require.NoError(t, err)
	t.Logf("100,000 rows are copied in %s", time.Since(began).Round(time.Millisecond))
	got, err = db.Psql(port, "select count(*), sum(n) from numbers where name = 'number ' || n")
	require.NoError(t, err)
	require.Equal(t, "100000|4999950000\n", got)
}

func TestPostgreSQLWorksThroughTunnels(t *testing.T) {
	// This test checks real software, psql and pgbench, against a PostgreSQL
	// server that is a member of a cluster: results of megabytes, bulk input,
	// errors, and a load of eight clients without one failure.
	alone(t)
	db, port := database(t, "fsync=off")

	got, err := db.Psql(port, "select 6*7, current_user")
	require.NoError(t, err)
	require.Equal(t, "42|arke\n", got)
	carriesMuch(t, db, port)

	_, err = db.Pgbench(port, "-i", "-s", "1", "-q")
	require.NoError(t, err)
	load, err := db.Pgbench(port, "-c", "8", "-j", "2", "-T", "5")
	require.True(t, err == nil && load.Failed == 0 && load.Transactions > 0, "%s %v", load.Text, err)
	t.Logf("pgbench, 8 clients: %d transactions, %.0f per second", load.Transactions, load.PerSecond)
	// A last look with other eyes: every transaction is there, once.
	got, err = db.Psql(db.HostPort(), "select count(*) from pgbench_history")
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintln(load.Transactions), got, load.Text)
}

func TestPgbenchThroughArkeBesideDirect(t *testing.T) {
	// This test measures: scale 10, eight clients, with pgbench's own mix and
	// with reads only, direct and through two relays in turns. It fails only if
	// a transaction does.
	if *pgbenchTime == 0 {
		t.Skip("it measures for minutes: run 'make pgbench'")
	}
	db, port := database(t)
	_, err := db.Pgbench(port, "-i", "-s", "10", "-q")
	require.NoError(t, err)
	seconds := fmt.Sprint(max(int(pgbenchTime.Round(time.Second).Seconds()), 1))
	for _, mix := range []struct {
		name string
		args []string
	}{{"TPC-B-like (pgbench's default)", nil}, {"reads only (-S)", []string{"-S"}}} {
		var rate [2]float64
		for i, where := range []string{db.HostPort(), port} {
			load, err := db.Pgbench(where, append([]string{"-c", "8", "-j", "2", "-T", seconds}, mix.args...)...)
			require.True(t, err == nil && load.Failed == 0 && load.Transactions > 0, fmt.Sprint(load.Text, err))
			rate[i] = load.PerSecond
		}
		t.Logf("%s, scale 10, 8 clients, %s s: direct %.0f transactions/s, through Arke %.0f, ratio %.2f", mix.name, seconds, rate[0], rate[1], rate[1]/rate[0])
	}
}
