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
	socket := filepath.Join(dir, "sock")
	write(t, file, "dev: true\nsocket: "+socket+"\nlog-format: json\n")
	p := harness.Command{Args: []string{"relay", "--config", file}}.Start(t, "arke relay ready ")
	harness.Run(t, "status", "--socket", socket).Ends(0)

	write(t, file, "dev: true\nsocket: "+socket+"\nlog-format: console\nlog-level: debug\n")
	p.Hangup()
	p.Tells(`"changed":["log-level"]`)
	p.Tells(`"settings":["log-format"]`)

	write(t, file, "dev: true\nsokcet: elsewhere\n")
	p.Hangup()
	p.Tells(`did you mean \"socket\"?`)
	harness.Run(t, "status", "--socket", socket).Ends(0)
	p.Terminate().Ends(0)
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
	request.Ends(0)
	serve.Tells("arke serve ready")
	serve.Terminate().Ends(0)
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
	write(t, file, "")
	b := nw.Relay("b", harness.Flags("--config", file))
	b.Ignores(a)
	reload := func(text, changed string) {
		t.Helper()
		write(t, file, text)
		b.Hangup()
		b.Tells(`"changed": ` + changed)
	}
	reload("seed: "+a.Addr()+"\n", `["seed"]`)
	harness.Eventually(t, harness.Patience, "that b joins", b.KnowsAnybody)

	write(t, policy, "user "+strconv.Itoa(os.Getuid())+" may call $status\n")
	reload("max-clients: 2\nseed: "+a.Addr()+"\npolicy: "+policy+"\n", `["max-clients", "policy"]`)
	b.Tells("policy read again")
	b.Requests("geo", "where?").Ends(8).Says("policy")
	reload("max-clients: 2\nzone: x\n", `["policy", "seed"]`)
	b.Tells("no policy holds any more")
	b.Tells(`"settings": ["zone"]`)
	one := b.Serves("geo", "--echo")
	b.Requests("geo", "where?").Ends(14).Says("is full: ", "at most 2", "--max-clients") // the test itself is one
	b.Does("status").Ends(0)
	one.Terminate()
	b.Does("status").Ends(0)

	a.Hangup()
	a.Tells("keys read again") // all that it has files of
	a.Does("status").Ends(0)

	socket := filepath.Join(dir, "sock")
	bare := harness.Command{Args: []string{"relay", "--dev", "--socket", socket}}.Start(t, "arke relay ready ")
	bare.Hangup()
	bare.Tells("there is nothing to read again")
	harness.Run(t, "status", "--socket", socket).Ends(0)
}
