// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/arke-mesh/arke/tests/harness"
)

func TestARelayIsConfiguredByAFile(t *testing.T) {
	// This test checks that a relay starts from a file alone, that SIGHUP changes
	// what can change and names what can't, and that a file that makes no sense
	// leaves the relay as it is.
	scenario(t)
	dir := harness.Folder(t)
	file := filepath.Join(dir, "relay.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	socket := filepath.Join(dir, "sock")
	write("dev: true\nsocket: " + socket + "\nlog-format: json\n")
	p := harness.Command{Args: []string{"relay", "--config", file}}.Start(t, "arke relay ready ")
	harness.Run(t, "status", "--socket", socket).Ends(0)

	write("dev: true\nsocket: " + socket + "\nlog-format: console\nlog-level: debug\n")
	p.Hangup()
	harness.Eventually(t, harness.Patience, "a reload", func() error { return p.Logs(`"changed":["log-level"]`) })
	harness.Eventually(t, harness.Patience, "a reload", func() error { return p.Logs(`"settings":["log-format"]`) })

	write("dev: true\nsokcet: elsewhere\n")
	p.Hangup()
	harness.Eventually(t, harness.Patience, "a reload", func() error { return p.Logs(`did you mean \"socket\"?`) })
	harness.Run(t, "status", "--socket", socket).Ends(0)
	if code := p.Terminate(); code != 0 {
		t.Errorf("status %d", code)
	}
}

func TestProgramsMayStartBeforeTheirRelay(t *testing.T) {
	// This test checks that --wait-relay, as a flag or a variable, makes the order
	// irrelevant in which a relay and its programs start, and that the time-out of
	// a request begins only when the relay is there.
	scenario(t)
	dir := harness.Folder(t)
	env := []string{"XDG_RUNTIME_DIR=" + dir}
	serve := harness.Command{Args: []string{"serve", "echo", "--echo"}, Env: append(env, "ARKE_WAIT_RELAY=2m")}.Start(t, "")
	request := harness.Command{Args: []string{"request", "echo", "hello", "--wait", "--wait-relay", "1m30s", "--timeout", "30s"}, Env: env}.Start(t, "")
	time.Sleep(1500 * time.Millisecond) // longer than a command waits otherwise
	harness.Command{Args: []string{"relay", "--dev"}, Env: env}.Start(t, "arke relay ready ")
	if code := request.Wait(harness.Patience); code != 0 {
		t.Errorf("the request ended with %d: %s", code, request.Log())
	}
	harness.Eventually(t, harness.Patience, "the member", func() error { return serve.Logs("arke serve ready") })
	if code := serve.Terminate(); code != 0 {
		t.Errorf("the member ended with %d", code)
	}
}
