// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package examples

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// build compiles a program of this module.
func build(t *testing.T, pkg string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(pkg))
	out, err := exec.Command("go", "build", "-o", program, pkg).CombinedOutput()
	require.NoError(t, err, string(out))
	return program
}

// TestProgramOfTheReadmeCompiles checks that what people copy first compiles, and
// still does when the call that attaches becomes the one that the README names
// for a node.
func TestProgramOfTheReadmeCompiles(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, rest, _ := strings.Cut(string(readme), "```go\n")
	body, rest, found := strings.Cut(rest, "```")
	require.True(t, found)
	const join = `node.Join(ctx, node.NetworkFile("prod.arke"))`
	require.Contains(t, rest, join)
	require.Contains(t, body, "arke.Attach(ctx)")
	for _, in := range []struct{ imports, body string }{
		{`"context"; "fmt"; "github.com/arke-mesh/arke"`, body},
		{`"context"; "fmt"; "github.com/arke-mesh/arke"; "github.com/arke-mesh/arke/node"`, strings.Replace(body, "arke.Attach(ctx)", join, 1)},
	} {
		program := "package main\nimport (" + in.imports + ")\nfunc run(ctx context.Context) error {\n" + in.body + "return err\n}\nfunc main() { _ = run(context.Background()) }\n"
		file := filepath.Join(t.TempDir(), "main.go")
		require.NoError(t, os.WriteFile(file, []byte(program), 0o600))
		build(t, file)
	}
}

// command is a program, or `arke`, with its runtime directory: there it looks for a relay,
// as nothing else tells it.
func command(ctx context.Context, program, runtimeDir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Env = append(os.Environ(), "ARKE_SOCKET=", "XDG_RUNTIME_DIR="+runtimeDir)
	return cmd
}

// starts starts a server; when the test ends it is told to stop, drains, and exits 0.
func starts(t *testing.T, server *exec.Cmd) {
	t.Helper()
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		require.NoError(t, server.Process.Signal(syscall.SIGTERM))
		require.NoError(t, server.Wait())
	})
}

// run runs a program to its end and returns what it printed.
func run(t *testing.T, program, runtimeDir string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	out, err := command(ctx, program, runtimeDir, args...).CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// devRelay starts `arke relay --dev` until the test ends, and returns its runtime
// directory: the examples find it there without being told, as they say.
func devRelay(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "arke") // short: a socket's path has at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	relay := command(context.Background(), build(t, "../cmd/arke"), dir, "relay", "--dev")
	out, err := relay.StdoutPipe()
	require.NoError(t, err)
	starts(t, relay)
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(line, "arke relay ready "), line)
	return dir
}

// TestEmbeddedGreetsAndIsRefused checks that the example does what it says.
func TestEmbeddedGreetsAndIsRefused(t *testing.T) {
	require.Equal(t, "hello, world\nrefused: whom shall I greet?\n", run(t, build(t, "./embedded"), ""))
}

// TestHTTPIsServedByName checks that two web servers share a cluster, and that a
// client finds one of them by its name.
func TestHTTPIsServedByName(t *testing.T) {
	dir, program := devRelay(t), build(t, "./http")
	for range 2 {
		starts(t, command(context.Background(), program, dir, "serve"))
	}
	require.Regexp(t, `^process \d+ says: GET /some/path\n$`, run(t, program, dir, "get", "/some/path"))
}

// TestEveryPatternBesideARelay checks that the examples that attach do what they say, one
// after the other beside the same relay.
func TestEveryPatternBesideARelay(t *testing.T) {
	dir := devRelay(t)
	for _, example := range []struct{ name, prints string }{
		{"attached", "2026-01-01T00:00:00Z\nmembers tried: 1\n"},
		{"survey", "not here: sold out\nbest of 3 answers: south asks 9\neverybody answered: true\n"},
		{"topics", "house.ground.kitchen heard 100, missed 0\nhouse.ground.* heard 200, missed 0\nhouse.> heard 300, missed 0\n"},
		{"workqueue", "jobs done: 200\n"},
		{"chat", "welcome, Ann\nwelcome, Ben\nAnn: is anybody here?\n"},
		{"tcpforward", "is anybody there?\n"},
	} {
		t.Run(example.name, func(t *testing.T) {
			require.Equal(t, example.prints, run(t, build(t, "./"+example.name), dir))
		})
	}
}

// TestEitherDoesTheSameBothWays checks that a program can't tell whether it
// embeds a node or is attached.
func TestEitherDoesTheSameBothWays(t *testing.T) {
	program := build(t, "./either")
	require.Equal(t, "tick tick \n", run(t, program, ""))
	require.Equal(t, "tick tick \n", run(t, program, devRelay(t), "-attach"))
}
