// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// checked runs arke gateway check on a file of that text.
func checked(t *testing.T, text string) (out string, status int) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"eu", "prod"} {
		ran(t, 0, "keygen", "--network", name, "--out", filepath.Join(dir, name+".key"))
	}
	ran(t, 0, "keygen", "--cluster", "vault", "--out", filepath.Join(dir, "vault.key"))
	made := ran(t, 0, "keygen", "--finding-key-of", filepath.Join(dir, "vault.key"), "--out", filepath.Join(dir, "vault.finding"))
	require.Equal(t, dir+"/vault.finding: finding key of the cluster vault\n", made.out.String())
	file := filepath.Join(dir, "g.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(text, "DIR", dir)), 0o600))
	c := newConsole("")
	status = c.Run(t.Context(), []string{"gateway", "check", "--config", file})
	return strings.ReplaceAll(c.out.String(), dir+"/", "") + c.err.String(), status
}

func TestGatewayCheckSaysWhatCrossesAndWhatNot(t *testing.T) {
	// This test checks a file that is in order, and one that has a mistake of each kind:
	// each has its line, and what is right is still shown.
	const networks = `networks:
  eu:
    key-file: DIR/eu.key
    seed: [relay.eu:7400]
  us: {key-file: DIR/prod.key, no-mdns: true}
`
	out, status := checked(t, networks+`lend:
  - {cluster: geo, from: eu, to: us, reseal: true, priority: 7, messages-per-second: 50}
`)
	require.Zero(t, status, out)
	require.Equal(t, `g.yaml:7: crosses: geo of eu to us, priority 7; each second 50 messages and any number of bytes; at once 4096 requests and 1024 tunnels; opened and sealed again here
note: the network us calls itself prod: callers there say geo@prod, all others geo@us
the configuration is in order; nothing else crosses
`, out)

	for name, tc := range map[string]struct {
		file string
		says []string
	}{
		"finding keys": {networks + `lend:
  - {cluster: vault, from: eu, to: us, finding-key-file: DIR/vault.finding}
  - {cluster: safe, from: eu, to: us, finding-key-file: DIR/vault.finding}
  - {cluster: vault, from: us, to: eu, finding-key-file: DIR/vault.finding, as: safe}
  - {cluster: vault, from: us, to: eu, finding-key-file: DIR/vault.finding, reseal: true}
  - {cluster: vault, from: us, to: eu, finding-key-file: DIR/vault.key}
`, []string{
			"g.yaml:7: crosses: vault of eu to us, priority 100;", "; passed on sealed, up to 256 members: this gateway can't open it\n",
			"g.yaml:8: does not cross: safe of eu to us\n", "its finding key is that of the cluster vault",
			"g.yaml:9: does not cross", "it can't be called safe there", "g.yaml:10: does not cross", "says reseal: true",
			"g.yaml:11: does not cross", "arke-finding",
		}},
		"clusters": {networks + `lend:
  - {cluster: geo, from: eu, to: us, reseal: true}
  - {cluster: vault, from: eu, to: us}
  - {cluster: geo, from: eu, to: mars, reseal: true}
  - {cluster: "maps.*", as: "eu-maps.*", from: eu, to: us, reseal: true, transit: true}
  - {cluster: "maps.*", as: eu-maps, from: eu, to: us, reseal: true}
`, []string{
			"g.yaml:7: crosses: geo of eu to us,", "g.yaml:8: does not cross: vault of eu to us\n", "say reseal: true",
			"g.yaml:9: does not cross: geo of eu to mars\n", `there is no network "mars" here`,
			"g.yaml:10: crosses: each cluster maps.* of eu to us as eu-maps.* that somebody asks for, with what is lent to eu, priority 100;",
			"g.yaml:11: does not cross: maps.* of eu to us as eu-maps\n", "maps.* and eu-maps: both end with *, or neither does", "3 problems",
		}},
		"topics": {networks + `lend:
  - {topic: quotes.*, from: eu, to: us, as: rates, reseal: true, bytes-per-second: 9}
  - {topic: quotes.a, from: eu, to: us, reseal: true}
  - {topic: ">", from: eu, to: us, reseal: true}
`, []string{
			"g.yaml:7: crosses: topic quotes.* of eu to us as rates.*, while somebody there listens; each second any number of messages and 9 bytes;",
			"g.yaml:8: does not cross: topic quotes.a of eu to us\n", "they would cross twice", "its first word must be a name", "2 problems",
		}},
		"a topic with a cluster's keys": {networks + "lend:\n  - {topic: a, cluster: b, from: eu, to: us, reseal: true, tunnels: 3}\n", []string{
			"g.yaml:7: cluster means nothing for topics\n", "g.yaml:7: tunnels means nothing for topics\n",
		}},
		"a network without its file is there": {`networks:
  eu: {key-file: DIR/eu.key}
  us: {key-file: DIR/nowhere.key}
lend:
  - {cluster: geo, from: eu, to: us, reseal: true}
`, []string{"nowhere.key", "g.yaml:5: crosses: geo of eu to us,", "1 problem\n"}},
		"unknown keys": {`networks:
  eu: {key-fil: DIR/eu.key}
  us: {key-file: DIR/nowhere.key}
land:
  - {cluster: geo}
lend:
  - {cluster: geo, prioriti: 3}
`, []string{
			`g.yaml:4: unknown key "land", did you mean "lend"?`, `unknown key "key-fil", did you mean "key-file"?`,
			`unknown key "prioriti", did you mean "priority"?`, "nowhere.key",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			out, status := checked(t, tc.file)
			require.NotZero(t, status)
			for _, want := range tc.says {
				require.Contains(t, out, want)
			}
		})
	}
}

func TestAGatewaysFlagsStandAboveItsFileWhenItIsReadAgain(t *testing.T) {
	// This test checks that what the command line gave is not taken back by a reload,
	// and that a level of the file that is none is refused.
	file := filepath.Join(t.TempDir(), "g.yaml")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	read := func(args ...string) *gatewayFile {
		c, f := new(gatewayFile), pflag.NewFlagSet("gateway", pflag.ContinueOnError)
		c.declare(f)
		require.NoError(t, f.Parse(append(args, "--config", file)))
		require.NoError(t, c.read(f))
		return c
	}
	write("log-level: warn\ndrain-timeout: 1s\n")
	first := read("--log-level", "debug")

	write("log-level: error\ndrain-timeout: 2s\n")
	now, err := first.again()
	require.NoError(t, err)
	require.Equal(t, "debug", now.log.level)
	require.Equal(t, 2*time.Second, now.drainTimeout)

	write("log-format: console\nlog-level: loud\n")
	_, err = read().again()
	require.ErrorContains(t, err, "loud")
}
