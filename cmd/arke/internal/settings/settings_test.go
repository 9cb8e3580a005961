// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/cmd/arke/internal/settings"
)

// daemon is what the flags of a command are bound to.
type daemon struct {
	seeds   []string
	clients int
	quiet   bool
	drain   time.Duration
	level   string
	socket  string
	json    bool
}

func (d *daemon) declare() *pflag.FlagSet {
	f := pflag.NewFlagSet("daemon", pflag.ContinueOnError)
	f.StringArrayVar(&d.seeds, "seed", nil, "")
	f.IntVar(&d.clients, "max-clients", 256, "")
	f.BoolVar(&d.quiet, "quiet", false, "")
	f.DurationVar(&d.drain, "drain-timeout", 30*time.Second, "")
	f.StringVar(&d.level, "log-level", "info", "")
	f.StringVar(&d.socket, "socket", "", "")
	f.BoolVar(&d.json, "json", false, "")
	settings.Reloads(f, "log-level", "drain-timeout")
	settings.FlagOnly(f, "json")
	return f
}

// parsed is the file of that content.
func parsed(t *testing.T, text string) settings.File {
	t.Helper()
	file, err := settings.Parse("d.yaml", []byte(text))
	require.NoError(t, err)
	return file
}

func TestAFlagStandsAboveTheEnvironmentAndThatAboveTheFile(t *testing.T) {
	// This test checks the precedence for each pair of sources, and that each
	// value says where it came from.
	var d daemon
	f := d.declare()
	require.NoError(t, f.Parse([]string{"--max-clients", "1", "--seed", "flag:1"}))
	set, err := settings.Resolve(f,
		[]string{"ARKE_MAX_CLIENTS=2", "ARKE_LOG_LEVEL=debug", "ARKE_SEED=env:1,env:2", "ARKE_QUIET=", "HOME=/root"},
		parsed(t, "max-clients: 3\nlog-level: warn\nquiet: true\nseed: [file:1]\ndrain-timeout: 500ms1m\n"))
	require.NoError(t, err)
	require.Equal(t, daemon{seeds: []string{"flag:1"}, clients: 1, quiet: true, drain: time.Minute + 500*time.Millisecond, level: "debug"}, d)
	require.Equal(t, settings.Origin{Source: settings.FromFlag, Where: "--max-clients"}, set.Origin("max-clients"))
	require.Equal(t, settings.Origin{Source: settings.FromFlag, Where: "--seed"}, set.Origin("seed"))
	require.Equal(t, settings.Origin{Source: settings.FromEnvironment, Where: "ARKE_LOG_LEVEL"}, set.Origin("log-level"))
	require.Equal(t, settings.Origin{Source: settings.FromFile, Where: "d.yaml:3"}, set.Origin("quiet"), "an empty variable is not set")
	require.Equal(t, settings.Origin{Source: settings.FromDefault, Where: "default"}, set.Origin("socket"))
}

func TestListsAreReplacedAsAWhole(t *testing.T) {
	// This test checks that what may be repeated is a list in the file, or one
	// value, and that commas separate the values of a variable.
	for name, tc := range map[string]struct {
		environ []string
		file    string
		seeds   []string
	}{
		"a list":         {nil, "seed:\n  - a:1\n  - b:2\n", []string{"a:1", "b:2"}},
		"one value":      {nil, "seed: a:1\n", []string{"a:1"}},
		"an empty list":  {nil, "seed: []\n", []string{}},
		"a variable":     {[]string{"ARKE_SEED=c:3, d:4,"}, "seed: [a:1, b:2]\n", []string{"c:3", "d:4"}},
		"nothing at all": {nil, "# nothing\n", []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			var d daemon
			_, err := settings.Resolve(d.declare(), tc.environ, parsed(t, tc.file))
			require.NoError(t, err)
			require.ElementsMatch(t, tc.seeds, d.seeds)
		})
	}
}

func TestEachProblemHasItsLine(t *testing.T) {
	// This test checks that nothing in a file is passed over, and what is said.
	for name, tc := range map[string]struct {
		file string
		says []string
	}{
		"a typing error":          {"log-level: info\nmax-cleints: 3\n", []string{`d.yaml:2: unknown key "max-cleints", did you mean "max-clients"?`}},
		"underscores":             {"Max_Clients: 3\n", []string{`d.yaml:1: unknown key "Max_Clients", did you mean "max-clients"?`}},
		"nothing near":            {"xyzzy: 3\n", []string{`d.yaml:1: unknown key "xyzzy"`}},
		"a flag that is no key":   {"json: true\n", []string{`d.yaml:1: unknown key "json"`}},
		"no number":               {"\n\nmax-clients: many\n", []string{`d.yaml:3: max-clients: "many" is not a whole number`}},
		"no truth":                {"quiet: sometimes\n", []string{`d.yaml:1: quiet: "sometimes" is not true or false`}},
		"a time without a unit":   {"drain-timeout: 30\n", []string{`d.yaml:1: drain-timeout: "30" is not a time like 30s or 1m30s`}},
		"a list of one-offs":      {"max-clients: [1, 2]\n", []string{"d.yaml:1: max-clients has one value, not a list"}},
		"no value":                {"seed:\n", []string{"d.yaml:1: seed has no value"}},
		"an empty value":          {"seed: [a:1, '']\n", []string{"d.yaml:1: seed has an empty value"}},
		"twice":                   {"quiet: true\nlog-level: info\nquiet: false\n", []string{"d.yaml:3: quiet stands in line 1 already"}},
		"a mapping":               {"log:\n  level: info\n", []string{"d.yaml:1: log is a value or a list of values"}},
		"an alias":                {"log-level: &l info\nsocket: *l\n", []string{"d.yaml:2: socket: write the value itself, not an alias"}},
		"no mapping":              {"- seed\n", []string{"d.yaml:1: not a mapping: each line is KEY: VALUE"}},
		"two documents":           {"quiet: true\n---\nquiet: false\n", []string{"d.yaml:2: the file ends here, a second document begins"}},
		"no YAML":                 {"quiet: true\n\tseed: [\n", []string{"d.yaml:2: found a tab character that violates indentation"}},
		"several, in their order": {"a: 1\nb: 2\nmax-clients: x\n", []string{`d.yaml:1: unknown key "a"`, `d.yaml:2: unknown key "b"`, `d.yaml:3: max-clients: "x" is not a whole number`}},
	} {
		t.Run(name, func(t *testing.T) {
			var d daemon
			file, err := settings.Parse("d.yaml", []byte(tc.file))
			if err == nil {
				_, err = settings.Resolve(d.declare(), nil, file)
			}
			var problems settings.Problems
			require.ErrorAs(t, err, &problems)
			var said []string
			for _, p := range problems {
				said = append(said, p.Error())
			}
			require.Equal(t, tc.says, said)
		})
	}
}

func TestAWrongVariableIsNamed(t *testing.T) {
	// This test checks that what is wrong with a variable is told with its name.
	var d daemon
	_, err := settings.Resolve(d.declare(), []string{"ARKE_MAX_CLIENTS=ten"}, settings.File{})
	require.EqualError(t, err, `ARKE_MAX_CLIENTS: max-clients: "ten" is not a whole number`)
	f := d.declare()
	require.EqualError(t, settings.FromVariables(f, []string{"ARKE_QUIET=perhaps"}, "quiet", "absent"), `ARKE_QUIET: quiet: "perhaps" is not true or false`)
	require.NoError(t, settings.FromVariables(f, []string{"ARKE_QUIET=true", "ARKE_LOG_LEVEL=warn"}, "quiet"))
	require.True(t, d.quiet)
	require.Equal(t, "info", d.level, "only what is named is a variable")
	list := pflag.NewFlagSet("", pflag.ContinueOnError)
	files := list.StringArray("cluster-key-file", nil, "")
	require.NoError(t, settings.FromVariables(list, []string{"ARKE_CLUSTER_KEY_FILE=a.key, b.key"}, "cluster-key-file"))
	require.Equal(t, []string{"a.key", "b.key"}, *files, "commas separate what a flag would repeat")
}

func TestStrayVariablesAreRecognised(t *testing.T) {
	// This test checks that a mistyped variable is found, and that those of others
	// are left alone: Kubernetes sets some that begin with the name of a service.
	var d daemon
	require.Equal(t, []string{"ARKE_MAXCLIENTS is no setting, did you mean ARKE_MAX_CLIENTS?", "ARKE_SERVICE_HOST is no setting"},
		settings.Stray(d.declare(), []string{"ARKE_MAXCLIENTS=3", "ARKE_SEED=a:1", "ARKE_TOKEN=x", "ARKE_SERVICE_HOST=10.0.0.1", "PATH=/bin"}, "ARKE_TOKEN"))
}

func TestReloadingTellsWhatCanChangeAndWhatCanNot(t *testing.T) {
	// This test checks a second resolution of the same flags: those of the command
	// line stand, what can change is adopted, and the rest is told each time.
	var d, again daemon
	f := d.declare()
	require.NoError(t, f.Parse([]string{"--quiet", "--seed", "a:1", "--seed", "b:2"}))
	set, err := settings.Resolve(f, nil, parsed(t, "log-level: info\nmax-clients: 10\n"))
	require.NoError(t, err)

	file := parsed(t, "log-level: debug\nmax-clients: 20\nquiet: false\nseed: [c:3]\n")
	for range 2 {
		g := again.declare()
		require.NoError(t, set.Repeat(g))
		now, err := settings.Resolve(g, nil, file)
		require.NoError(t, err)
		reloaded, fixed := settings.Changes(set, now)
		require.Equal(t, []string{"max-clients"}, fixed)
		if d.level == "info" {
			require.Equal(t, []string{"log-level"}, reloaded)
		} else {
			require.Empty(t, reloaded)
		}
		set.Adopt(now)
		require.Equal(t, daemon{seeds: []string{"a:1", "b:2"}, clients: 10, quiet: true, drain: 30 * time.Second, level: "debug"}, d)
		require.Equal(t, "d.yaml:1", set.Origin("log-level").Where)
		require.Equal(t, settings.FromFlag, now.Origin("quiet").Source)
	}
}

func TestFilesThatCanNotBeRead(t *testing.T) {
	// This test checks that a missing file, a directory, one that is too large, and
	// one that others may change are told as such.
	dir := t.TempDir()
	_, err := settings.Read(filepath.Join(dir, "none.yaml"))
	require.ErrorContains(t, err, "there is no configuration file")
	_, err = settings.Read(dir)
	require.ErrorContains(t, err, "directory")
	large := filepath.Join(dir, "large.yaml")
	require.NoError(t, os.WriteFile(large, make([]byte, 1<<20+1), 0o600))
	_, err = settings.Read(large)
	require.ErrorContains(t, err, "more than 1048576 bytes")
	loose := filepath.Join(dir, "loose.yaml")
	require.NoError(t, os.WriteFile(loose, nil, 0o600))
	require.NoError(t, os.Chmod(loose, 0o666))
	_, err = settings.Read(loose)
	require.ErrorContains(t, err, "chmod go-w "+loose)
}

func FuzzParse(f *testing.F) {
	// This test checks that no file makes the parser panic, and that every value it
	// returns is one line.
	f.Add([]byte("seed: [a, b]\nmax-clients: 3\n"))
	f.Add([]byte("a: &x [*x]\n"))
	f.Add([]byte("? [a]\n: b\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := settings.Parse("f", text)
		if err == nil {
			var d daemon
			_, _ = settings.Resolve(d.declare(), nil, file)
		}
	})
}
