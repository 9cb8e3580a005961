// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"crypto/rand"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"github.com/arke-mesh/arke/cmd/arke/internal/settings"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/security"
)

// written returns a configuration file of that content.
func written(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "relay.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestEveryFlagOfTheRelayIsASetting(t *testing.T) {
	// This test checks that no flag is forgotten: one declaration makes the flag,
	// the key and the variable. Only --config itself is no key.
	var flags relayFlags
	f := pflag.NewFlagSet("relay", pflag.ContinueOnError)
	flags.declare(f)
	keys := settings.Keys(f)
	f.VisitAll(func(flag *pflag.Flag) {
		if flag.Name != "config" {
			require.Contains(t, keys, flag.Name)
		}
	})
}

func TestConfigCheckTellsAllThatIsWrong(t *testing.T) {
	// This test checks each kind of problem: of the file, of a value, of the files
	// it names, and of what only the layers below know.
	file := written(t, strings.Join([]string{
		"dev: true", "max-cleints: 3", "drain-timeout: 5", "seed: [nowhere]", "client-listen: 0.0.0.0:1",
		"listen: [/ip4/0.0.0.0/udp/7400, \"0.0.0.0:70000\"]", "advertise: relay-1.example", "zone: " + strings.Repeat("z", 100),
	}, "\n"))
	c := newConsole("")
	c.Environ = []string{"ARKE_MAX_CLIENT=3", "ARKE_WAIT_RELAY=3s"}
	c.runs(t, 1, "config", "check", "--config", file, "--max-clients", "0")
	require.Equal(t, []string{
		file + `:2: unknown key "max-cleints", did you mean "max-clients"?`,
		file + `:3: drain-timeout: "5" is not a time like 30s or 1m30s`,
		"--max-clients 0 is not between 1 and 2147483647",
		`--listen: "/ip4/0.0.0.0/udp/7400": it must be /ip4, /ip6, /dns, /dns4 or /dns6 with /tcp, or /dnsaddr`,
		`--listen: "0.0.0.0:70000": the port must be a number up to 65535`,
		`--advertise: "relay-1.example" is neither a multiaddr nor host:port`,
		`--seed: "nowhere" is neither a multiaddr nor host:port`,
		"--client-listen needs --token-file FILE or ARKE_TOKEN: every user of this machine can reach the port",
		"node: Config.Zone is longer than 64 bytes",
	}, strings.Split(strings.TrimSpace(c.out.String()), "\n"))
	require.Equal(t, "arke: warning: ARKE_MAX_CLIENT is no setting, did you mean ARKE_MAX_CLIENTS?\narke: the configuration has 9 problems\n", c.err.String())
}

func TestOneMistakeIsOneProblem(t *testing.T) {
	// This test checks that a value that can't be read is not judged as well, and that
	// files of the wrong kind are found before the relay starts.
	plain := written(t, "")
	for text, says := range map[string]string{
		"max-clients: many":  `:1: max-clients: "many" is not a whole number`,
		"data-dir: " + plain: plain + " is a file: name a directory",
	} {
		c := newConsole("")
		c.runs(t, 1, "config", "check", "--config", written(t, text), "--dev")
		require.Contains(t, c.out.String(), says)
		require.Equal(t, "arke: the configuration has 1 problem\n", c.err.String())
	}
}

func TestAKeyWithoutItsLineEndsIsNotCalledEmpty(t *testing.T) {
	// This test checks what a shell makes of $(cat FILE) without quotes.
	network, err := security.GenerateNetworkFile("prod", rand.Reader)
	require.NoError(t, err)
	c := newConsole("")
	c.Env.Network = strings.Join(strings.Fields(string(network.Encode())), " ")
	c.runs(t, 1, "relay")
	require.Contains(t, c.err.String(), `ARKE_NETWORK="$(cat FILE)"`)
}

func TestAGoodConfigurationIsInOrder(t *testing.T) {
	// This test checks that a file without problems is said to be in order, and
	// that ARKE_CONFIG names it as --config does.
	file := written(t, "dev: true\nseed:\n  - relay-1.example:7400\nlog-format: json\n")
	c := newConsole("")
	c.Environ = []string{"ARKE_CONFIG=" + file}
	c.runs(t, 0, "config", "check")
	require.Equal(t, "the configuration is in order\n", c.out.String())
}

func TestARelayWithAWrongFileDoesNotStart(t *testing.T) {
	// This test checks that the relay names the first problem, and how many more
	// there are.
	file := written(t, "dev: true\nsed: a\nfoo: b\n")
	c := ran(t, 1, "relay", "--config", file)
	require.Equal(t, "arke: "+file+`:2: unknown key "sed", did you mean "seed"? (and 1 more: arke config check names them)`+"\n", c.err.String())
}

func TestConfigShowSaysWhereEachValueComesFrom(t *testing.T) {
	// This test checks the origins, that secrets stay secret, and that what is
	// printed is a configuration file that means the same.
	file := written(t, "dev: true\nseed: [relay-1.example:7400, 'relay-2.example:7400']\nzone: \"1\"\n")
	c := newConsole("")
	c.Env.Token, c.Environ = "hunter2hunter2hunter2", []string{"ARKE_LOG_LEVEL=debug"}
	shown := c.runs(t, 0, "config", "show", "--config", file, "--max-clients", "7").out.String()
	for _, line := range []string{
		"dev: true  # " + file + ":1",
		"seed: ['relay-1.example:7400', 'relay-2.example:7400']  # " + file + ":2, reloads",
		"zone: 1  # " + file + ":3",
		"max-clients: 7  # --max-clients, reloads",
		"log-level: debug  # ARKE_LOG_LEVEL, reloads",
		"drain-timeout: 30s  # default, reloads",
		"# the variable ARKE_TOKEN is set: [redacted]",
	} {
		require.Contains(t, shown, line+"\n")
	}
	require.NotContains(t, shown, "hunter2")

	again := ran(t, 0, "config", "show", "--json", "--config", written(t, shown))
	values := map[string]any{}
	for _, o := range again.objects(t) {
		values[o["key"].(string)] = o["value"]
	}
	require.Equal(t, []any{"relay-1.example:7400", "relay-2.example:7400"}, values["seed"])
	require.Equal(t, "7", values["max-clients"])
	require.Equal(t, "1", values["zone"])
	require.Equal(t, "debug", values["log-level"])
}

func TestReloadingChangesTheLevelAndNamesWhatStays(t *testing.T) {
	// This test checks what SIGHUP does: a file that makes sense changes the log
	// level at once and names what waits for a new start, one that makes none
	// changes nothing.
	file := written(t, "log-level: info\nzone: a\n")
	flags := &relayFlags{}
	f := pflag.NewFlagSet("relay", pflag.ContinueOnError)
	flags.declare(f)
	flags.config = file
	a := newConsole("").App
	set, err := flags.resolve(a, f)
	require.NoError(t, err)
	core, logs := observer.New(zap.InfoLevel)
	r := &running{app: a, asked: flags, settings: set, log: zap.New(core), level: zap.NewAtomicLevelAt(zap.InfoLevel)}

	require.NoError(t, os.WriteFile(file, []byte("log-level: debug\nzone: b\ndrain-timeout: 1s\n"), 0o600))
	r.reload(t.Context())
	require.Equal(t, zapcore.DebugLevel, r.level.Level())
	require.Equal(t, "1s", r.asked.drainTimeout.String())
	require.Equal(t, "a", r.asked.zone)
	require.Equal(t, []any{"drain-timeout", "log-level"}, logs.All()[0].ContextMap()["changed"])
	require.Equal(t, []any{"zone"}, logs.All()[1].ContextMap()["settings"])
	require.Equal(t, zapcore.WarnLevel, logs.All()[1].Level)

	require.NoError(t, os.WriteFile(file, []byte("log-level: warn\nzoen: b\n"), 0o600))
	r.reload(t.Context())
	require.Equal(t, zapcore.DebugLevel, r.level.Level(), "half of a file is not taken")
	last := logs.All()[logs.Len()-1]
	require.Equal(t, zapcore.ErrorLevel, last.Level)
	require.Contains(t, last.ContextMap()["error"], `unknown key "zoen", did you mean "zone"?`)
}

func TestReloadingAnAuthorityAndWhatItHasSigned(t *testing.T) {
	// This test checks that one SIGHUP takes in a network file that names an authority,
	// and the list of revocations that it has signed; and that a list which counts for
	// nothing is told.
	dir := t.TempDir()
	file, list := filepath.Join(dir, "home.key"), filepath.Join(dir, "revocations")
	network, err := security.GenerateNetworkFile("home", rand.Reader)
	require.NoError(t, err)
	require.NoError(t, security.WriteNetworkFile(file, network))
	n, err := node.New(node.Config{Network: network, Listen: []string{"/ip4/127.0.0.1/tcp/0"}, NoMDNS: true})
	require.NoError(t, err)
	defer n.Close()
	require.NoError(t, n.Start(t.Context()))
	authority, err := security.GenerateAuthority(network.ID, rand.Reader)
	require.NoError(t, err)
	sign := func(number uint64) {
		signed, err := authority.SignRevocations(security.RevocationList{Number: number, Issued: time.Now()})
		require.NoError(t, err)
		require.NoError(t, security.WriteRevocationsFile(list, signed))
	}
	core, logs := observer.New(zap.ErrorLevel)
	flags := &relayFlags{nodeFlags: nodeFlags{keyFile: file, certificates: certificateFlags{revocations: list}}}
	r := &running{asked: flags, node: n, log: zap.New(core)}

	sign(2)
	require.NoError(t, security.EditNetworkFile(file, func(f *security.NetworkFile) error {
		f.Issuance.Authority = authority.ID()
		return nil
	}))
	r.reload(t.Context())
	require.EqualValues(t, 2, n.Credentials().Status().Revocations)
	require.Empty(t, logs.All())
	sign(1)
	r.reload(t.Context())
	require.Equal(t, 1, logs.Len())
	require.Contains(t, logs.All()[0].ContextMap()["error"], "number 2 counts")
}

func TestClientCommandsTakeVariables(t *testing.T) {
	// This test checks that a command which attaches reads its shared flags from
	// the environment, that flags stand above it, and that a wrong one is named.
	dir := t.TempDir()
	run := func(environ []string, args ...string) string {
		c := newConsole("")
		c.Env.Token, c.Environ = "a token of this test", environ
		require.NotZero(t, c.Run(t.Context(), args))
		return c.err.String()
	}
	require.Contains(t, run([]string{"ARKE_ADDRESS=127.0.0.1:1", "ARKE_WAIT_RELAY=20ms"}, "status"), "no relay at 127.0.0.1:1")
	require.Contains(t, run([]string{"ARKE_ADDRESS=127.0.0.1:1"}, "status", "--wait-relay", "20ms", "--socket", dir+"/s"), "no relay at "+dir+"/s")
	require.Contains(t, run([]string{"ARKE_WAIT_RELAY=soon"}, "status"), "ARKE_WAIT_RELAY: wait-relay: \"soon\" is not a time like 30s")
	require.Contains(t, run(nil, "status", "--wait-relay", "-1s"), "--wait-relay -1s is negative")
}

func TestATakenDefaultPortMakesRoomForTheNext(t *testing.T) {
	// This test checks that a relay whose port was not asked for takes the next one
	// that is free.
	l, err := net.Listen("tcp", ":"+strconv.Itoa(defaultPort))
	if err == nil { // else somebody has it, which is as well
		defer l.Close()
	}
	addrs, port := defaultListen()
	require.Greater(t, port, defaultPort)
	require.NotEmpty(t, addrs)
	require.Equal(t, "/ip4/0.0.0.0/tcp/"+strconv.Itoa(port), addrs[0])
	_, free := listenable(port)
	require.True(t, free)
}
