// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"os"
	"path/filepath"
	"strconv"
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

func TestSighupChangesSeedsLimitsAndPolicy(t *testing.T) {
	// This test checks that a relay takes new seeds, another limit of clients and
	// another policy from its file while it runs, and that a SIGHUP where there is no
	// file to read again ends nothing.
	scenario(t)
	nw := harness.NewNetwork(t)
	a := nw.Relay("a")
	dir := harness.Folder(t)
	file, policy := filepath.Join(dir, "relay.yaml"), filepath.Join(dir, "policy")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(file, "")
	b := nw.Relay("b", harness.Flags("--config", file))
	b.Ignores(a)
	reload := func(text, changed string) {
		t.Helper()
		write(file, text)
		b.Hangup()
		harness.Eventually(t, harness.Patience, "a reload", func() error { return b.Logs(`"changed": ` + changed) })
	}
	reload("seed: "+a.Addr()+"\n", `["seed"]`)
	harness.Eventually(t, harness.Patience, "that b joins", b.KnowsAnybody)

	write(policy, "user "+strconv.Itoa(os.Getuid())+" may call $status\n")
	reload("max-clients: 2\nseed: "+a.Addr()+"\npolicy: "+policy+"\n", `["max-clients", "policy"]`)
	harness.Eventually(t, harness.Patience, "the policy", func() error { return b.Logs("policy read again") })
	b.Requests("geo", "where?").Ends(8).Says("policy")
	reload("max-clients: 2\nzone: x\n", `["policy", "seed"]`)
	harness.Eventually(t, harness.Patience, "no policy", func() error { return b.Logs("no policy holds any more") })
	harness.Eventually(t, harness.Patience, "what stays", func() error { return b.Logs(`"settings": ["zone"]`) })
	one := b.Serves("geo", "--echo")
	b.Does("status").Ends(14).Says("as many clients as it may have") // the test itself is one
	one.Terminate()
	b.Does("status").Ends(0)

	a.Hangup()
	harness.Eventually(t, harness.Patience, "an answer", func() error { return a.Logs("keys read again") }) // all that it has files of
	a.Does("status").Ends(0)

	socket := filepath.Join(dir, "sock")
	bare := harness.Command{Args: []string{"relay", "--dev", "--socket", socket}}.Start(t, "arke relay ready ")
	bare.Hangup()
	harness.Eventually(t, harness.Patience, "an answer", func() error { return bare.Logs("there is nothing to read again") })
	harness.Run(t, "status", "--socket", socket).Ends(0)
}
