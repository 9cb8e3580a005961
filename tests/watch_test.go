// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

// admin returns the admin address of a relay that has one.
func admin(t *testing.T, r *harness.Relay) string {
	t.Helper()
	var ready struct{ Admin string }
	require.NoError(t, json.Unmarshal([]byte(r.Said()), &ready))
	require.NotEmpty(t, ready.Admin, "no admin address in %q", r.Said())
	return ready.Admin
}

// get returns status and body.
func get(t *testing.T, address string) (int, string) {
	t.Helper()
	resp, err := http.Get(address) //nolint:noctx // the test's own time bounds it
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(body)
}

func TestARelayCanBeWatched(t *testing.T) {
	// This test checks the admin address of a real relay: it is ready once it has
	// settled, says what arke status says, is small, is not ready while its seed is dead, and
	// an address off loopback is refused without a token.
	scenario(t)
	nw := harness.NewNetwork(t)
	a := nw.Relay("a", harness.Flags("--admin", ":0"))
	at := "http://" + admin(t, a)
	harness.Eventually(t, harness.Patience, "ready", func() error {
		if status, body := get(t, at+"/readyz"); status != http.StatusOK {
			return fmt.Errorf("%d %s", status, body)
		}
		return nil
	})
	_, body := get(t, at+"/status.json")
	require.Contains(t, body, a.Peer())
	require.Contains(t, body, `"relay":`)
	_, body = get(t, at+"/metrics")
	require.Contains(t, body, "arke_ready 1\n")
	require.LessOrEqual(t, a.RSS(), harness.RaceMemory*40_000_000, "an idle relay with an admin address")

	dead := harness.FreePort(t)
	lost := nw.Relay("lost", harness.Flags("--admin", ":0", "--seed", dead))
	time.Sleep(2 * time.Second) // longer than a node without seeds takes
	status, body := get(t, "http://"+admin(t, lost)+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status, "the seed is dead")
	require.Contains(t, body, "no seed could be joined yet")
	harness.Run(t, "relay", "--dev", "--admin", "0.0.0.0:0", "--socket", filepath.Join(harness.Folder(t), "s")).Ends(1).Says("--admin", "needs a token")
}

// program returns where a program of Prometheus is, or skips the test.
func program(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed: Debian's package prometheus has it", name)
	}
	return path
}

func TestTheAlertRulesAreValid(t *testing.T) {
	// This test has Prometheus' own tool read the rules and the configuration that
	// ship.
	scenario(t)
	tool := program(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "../deploy/alerts.yml"}, {"check", "config", "../deploy/prometheus.yml"}} {
		out, err := exec.Command(tool, args...).CombinedOutput()
		require.NoError(t, err, "promtool %v: %s", args, out)
	}
}

func TestPrometheusScrapesThreeRelays(t *testing.T) {
	// This test has a real Prometheus scrape three relays, and asks it what it has
	// read: that all are up, requests by cluster and outcome, and durations as a
	// native histogram.
	scenario(t)
	binary := program(t, "prometheus")
	nw := harness.NewNetwork(t)
	a := nw.Relay("a", harness.Flags("--admin", ":0"))
	b := nw.Relay("b", harness.Seed(a), harness.Flags("--admin", ":0"))
	c := nw.Relay("c", harness.Seed(a), harness.Flags("--admin", ":0"))
	b.Serves("geo", "--echo")
	a.Sees(1, "geo")
	for range 3 {
		a.Requests("geo", "where?").Ends(0)
	}
	dir := harness.Folder(t)
	config := fmt.Sprintf("global: {scrape_interval: 500ms}\nscrape_configs:\n  - job_name: arke\n    static_configs: [{targets: ['%s', '%s', '%s']}]\n",
		admin(t, a), admin(t, b), admin(t, c))
	write(t, filepath.Join(dir, "p.yml"), config)
	at := harness.FreePort(t)
	p := exec.Command(binary, "--config.file="+filepath.Join(dir, "p.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+at, "--enable-feature=native-histograms", "--log.level=warn")
	var log strings.Builder
	p.Stdout, p.Stderr = &log, &log
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
		if t.Failed() {
			t.Log(log.String())
		}
	})
	for query, want := range map[string]string{
		`sum(up{job="arke"})`: "3",
		`sum(arke_requests_total{cluster="geo",outcome="reply"})`:            "3",
		`histogram_count(sum(arke_request_duration_seconds{cluster="geo"}))`: "3",
		`count(arke_peers)`:                "3",
		`sum(arke_members{cluster="geo"})`: "1",
		`min(arke_ready)`:                  "1",
	} {
		harness.Eventually(t, harness.Patience, query, func() error { return answers(at, query, want) })
	}
}

// answers returns an error unless Prometheus answers the query with that number.
func answers(at, query, want string) error {
	resp, err := http.Get("http://" + at + "/api/v1/query?query=" + url.QueryEscape(query)) //nolint:noctx // the test's own time bounds it
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	var got struct {
		Data struct {
			Result []struct{ Value [2]any }
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		return err
	}
	if len(got.Data.Result) != 1 || got.Data.Result[0].Value[1] != want {
		return fmt.Errorf("%s is %v, want %s", query, got.Data.Result, want)
	}
	return nil
}

func TestNodesAreCalledByTheirNames(t *testing.T) {
	// This test checks that a node's name stands with the end of its peer id wherever
	// people read of the node: in the list of members, the status, the log, and where
	// a member is missing from a survey.
	scenario(t)
	nw := harness.NewNetwork(t)
	a := nw.Relay("a", harness.Flags("--name", "attic"))
	b := nw.Relay("b", harness.Seed(a), harness.Flags("--name", "shed"))
	b.Serves("geo", "--exec", "exec sleep 60")
	a.Sees(1, "geo")
	named := func(name string, r *harness.Relay) string {
		return name + " (" + r.Peer()[len(r.Peer())-8:] + ")"
	}
	shed := named("shed", b)
	for _, read := range []struct {
		at   *harness.Relay
		args []string
		want string
	}{
		{a, []string{"members", "geo"}, shed},
		{a, []string{"status"}, shed},
		{b, []string{"status"}, "reached for"},
		{b, []string{"status"}, ": " + named("attic", a)},
	} {
		require.Contains(t, read.at.Does(read.args[0], read.args[1:]...).Ends(0).Stdout, read.want)
	}
	a.Does("survey", "geo", "there?", "--timeout", "300ms").Ends(6).Says("missing: ", " of "+shed+": deadline")
	a.Tells(`"peer": "` + shed + `", "id": "` + b.Peer() + `"`)
	b.Kill()
	a.Tells(`peer lost  {"peer": "` + shed + `"`)
}

func TestTheStatusSaysWhoIsAttached(t *testing.T) {
	// This test checks that the status tells each program's process, user, name and
	// what it serves, and marks what is Arke's own among the clusters.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a")
	serving := a.Serves("geo", "--echo")
	a.Subscribes("weather.>")
	a.Does("publish", "weather.berlin", "rain").Ends(0)
	me, err := user.Current()
	require.NoError(t, err)
	status := a.Does("status").Ends(0).Stdout
	require.Regexp(t, `arke serve +`+strconv.Itoa(serving.PID())+` +`+regexp.QuoteMeta(me.Username)+` +geo `, status)
	require.Regexp(t, `topic:weather \(internal, for topics\) +1\n`, status)
}
