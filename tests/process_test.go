// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/tests/harness"
)

// shell runs a relay for trial below a shell that prepares its process.
func shell(t *testing.T, prepare, socket string, flags ...string) *harness.Process {
	t.Helper()
	return harness.Command{
		Inside: []string{"sh", "-c", prepare + `; exec "$@"`, "sh"},
		Args:   append([]string{"relay", "--dev", "--socket", socket}, flags...),
	}.Start(t, "arke relay ready ")
}

// echoes sends a request to the cluster echo through a relay's socket.
func echoes(t *testing.T, socket string) {
	t.Helper()
	harness.Run(t, "request", "echo", "hi", "--socket", socket, "--wait", "--timeout", "20s").Gets("hi")
}

// serving returns once a member of the cluster echo is attached.
func serving(t *testing.T, socket string) {
	t.Helper()
	harness.Command{Args: []string{"serve", "echo", "--echo", "--socket", socket}}.Start(t, "arke serve ready")
}

func TestARelayWhoseLogIsNotReadServesOnAndEnds(t *testing.T) {
	// This test lets a relay log at level debug into a pipe that is full: requests go on,
	// and SIGTERM ends it with status 0.
	scenario(t)
	folder := harness.Folder(t)
	socket, fifo := filepath.Join(folder, "a.sock"), filepath.Join(folder, "log")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	log, err := os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer log.Close()
	relay := shell(t, `exec 2>"`+fifo+`"`, socket, "--log-level", "debug")
	serving(t, socket)
	for size := 4096; size > 0; size /= 2 { // to the last byte
		for {
			require.NoError(t, log.SetWriteDeadline(time.Now().Add(50*time.Millisecond)))
			if _, err := log.Write(make([]byte, size)); err != nil {
				require.ErrorIs(t, err, os.ErrDeadlineExceeded)
				break
			}
		}
	}
	for range 3 { // several lines each
		echoes(t, socket)
	}
	relay.Interrupt()
	relay.Ends(0)
}

func TestSecretsAreNotInTheEnvironmentThatOthersRead(t *testing.T) {
	// This test looks for the network's key and the token in /proc, as a command of a
	// member, which runs as the same user, could.
	scenario(t)
	socket := filepath.Join(harness.Folder(t), "a.sock")
	text := harness.Run(t, "keygen").Ends(0).Stdout
	key := strings.Fields(text[strings.Index(text, "\nkey 1 "):])[2]
	relay := harness.Command{
		Args: []string{"relay", "--no-mdns", "--listen", "/ip4/127.0.0.1/tcp/0", "--socket", socket, "--client-listen", harness.FreePort(t)},
		Env:  []string{"ARKE_NETWORK=" + text, "ARKE_TOKEN=open sesame, please", "HARMLESS=yes"},
	}.Start(t, "arke relay ready ")
	serve := harness.Command{
		Args: []string{"serve", "echo", "--echo", "--socket", socket},
		Env:  []string{"ARKE_TOKEN=open sesame, please", "HARMLESS=yes"},
	}.Start(t, "arke serve ready")
	for _, p := range []*harness.Process{relay, serve} {
		seen := read(t, fmt.Sprintf("/proc/%d/environ", p.PID()))
		require.Contains(t, seen, "HARMLESS=yes", "the file is not what this test takes it for")
		require.NotContains(t, seen, key)
		require.NotContains(t, seen, "sesame")
	}
}

func TestACommandMayLeaveAChildBehind(t *testing.T) {
	// This test serves with a command that prints its reply and leaves a child that holds
	// its standard output open: the reply comes, and is no error.
	scenario(t)
	socket := filepath.Join(harness.Folder(t), "a.sock")
	shell(t, "true", socket)
	harness.Command{Args: []string{"serve", "left", "--exec", "sleep 600 & echo $!", "--socket", socket}}.Start(t, "arke serve ready")
	result := harness.Run(t, "request", "left", "", "--socket", socket, "--wait", "--timeout", "20s").Ends(0)
	var pid int
	_, err := fmt.Sscan(result.Stdout, &pid)
	require.NoError(t, err, result.Stdout)
	defer func() { _ = syscall.Kill(pid, syscall.SIGKILL) }()
	require.Empty(t, result.Stderr)
}

func TestARelayWithoutDescriptorsServesOnAndLogsSeldom(t *testing.T) {
	// This test uses up a relay's descriptors with connections: attached programs go on,
	// the log says it once, and new programs get in when connections have ended.
	scenario(t)
	socket := filepath.Join(harness.Folder(t), "a.sock")
	relay := shell(t, "ulimit -n 64", socket, "--max-clients", "1000")
	serving(t, socket)
	app := harness.Attach(t, client.Config{Socket: socket})
	var many []net.Conn
	for range 150 {
		c, err := net.Dial("unix", socket)
		if err != nil {
			require.True(t, errors.Is(err, syscall.EAGAIN), err) // the kernel's queue is full
			break
		}
		defer c.Close()
		many = append(many, c)
	}
	const said = "too many open files"
	relay.Tells(said)
	for range 100 {
		require.NoError(t, harness.Echoed(app, harness.Patience, "echo", "still here"))
	}
	require.Equal(t, 1, strings.Count(relay.Log(), said), relay.Log())
	for _, c := range many {
		c.Close()
	}
	echoes(t, socket)
}
