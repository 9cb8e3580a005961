// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/patterns"
	"github.com/arke-mesh/arke/relay/client"
	"github.com/arke-mesh/arke/security"
)

func TestFailureWithJSONIsAnObject(t *testing.T) {
	// This test runs every command that talks to a relay and has --json where
	// there is none: programs read how it failed where they read the rest.
	none := filepath.Join(t.TempDir(), "none.sock")
	commands := []string{
		"request x", "survey x", "push x", "broadcast x", "publish a b", "subscribe a", "members x", "status",
		"bench request x --rate 1 --duration 1s", "bench survey x --rate 1 --duration 1s",
		"bench tunnel x --rate 1 --duration 1s", "bench publish a --rate 1 --duration 1s",
	}
	// All at once: each waits for a relay that may just be starting.
	plain, asJSON := make([]*console, len(commands)), make([]*console, len(commands))
	codes := make([]int, 2*len(commands))
	var all sync.WaitGroup
	for i, command := range commands {
		plain[i], asJSON[i] = newConsole(""), newConsole("")
		args := append(strings.Fields(command), "--socket", none)
		all.Go(func() { codes[2*i] = plain[i].Run(t.Context(), args) })
		all.Go(func() { codes[2*i+1] = asJSON[i].Run(t.Context(), append(slices.Clone(args), "--json")) })
	}
	all.Wait()
	for i, command := range commands {
		require.Equal(t, []int{5, 5}, codes[2*i:2*i+2], command)
		require.Empty(t, plain[i].out.String(), command)
		objects := asJSON[i].objects(t)
		require.Len(t, objects, 1, command)
		require.Equal(t, "unreachable", objects[0]["outcome"], command)
		require.Contains(t, objects[0]["error"], none, command)
		require.Contains(t, asJSON[i].err.String(), "arke: no relay at", command)
	}
}

func TestRelayThatHangsIsNotCalledMissing(t *testing.T) {
	// This test checks what is said of a socket at which nobody answers, and that
	// the time-out holds for that, too.
	socket := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	defer l.Close()
	slow := make(chan struct{})
	go func() {
		defer close(slow)
		newConsole("").Run(t.Context(), []string{"request", "x", "--socket", socket})
	}()
	for _, command := range []string{"request x", "publish a b"} {
		c := ran(t, 5, append(strings.Fields(command), "--timeout", "50ms", "--socket", socket)...)
		require.Contains(t, c.err.String(), "does not answer", command)
		require.NotContains(t, c.err.String(), "start one", command)
	}
	select {
	case <-slow:
		t.Error("attaching may take 3 s: it was not the time-out that ended them")
	default:
	}
	<-slow
}

func TestAdviceNamesFlagsThatTheCommandHas(t *testing.T) {
	// This test checks that what is said to do next can be done.
	for err, flag := range map[error]string{patterns.ErrNoMembers: "--wait", patterns.ErrInterrupted: "--idempotent"} {
		require.Contains(t, explain(&clusterError{cluster: "geo", err: err, one: true}), flag)
		require.NotContains(t, explain(&clusterError{cluster: "geo", err: err}), flag)
	}
	gone := fmt.Errorf("%w: %w: it was here", patterns.ErrUnreachable, client.ErrNoRelay)
	for _, err := range []error{&clusterError{cluster: "geo", err: gone}, &topicError{topic: "a.b", err: gone}} {
		require.Equal(t, 5, exitCode(err))
		require.Contains(t, explain(err), "start it again with 'arke relay'")
	}
}

func TestHelpSaysHowACommandEnds(t *testing.T) {
	// This test reads the help of each command that speaks a pattern: it has an
	// example and the exit statuses, that of a full relay among them, and --json where
	// there is something to print.
	for command, printsJSON := range map[string]bool{
		"request": true, "survey": true, "push": true, "broadcast": true, "publish": true, "subscribe": true, "members": true, "status": true,
		"relay": false, "serve": false, "tunnel": false, "expose": false, "forward": false,
		"bench request": true, "bench survey": true, "bench publish": true, "bench tunnel": true,
	} {
		help := ran(t, 0, append(strings.Fields(command), "--help")...).out.String()
		require.Contains(t, help, "Exit status", command)
		if command != "relay" && !strings.HasPrefix(command, "bench") { // of a benchmark it is the commonest outcome
			require.Regexp(t, `\b14 too many ([a-z]+ or )?clients, `, strings.Join(strings.Fields(help), " "), command)
		}
		require.Contains(t, help, "Examples:\n  arke ", command)
		require.Equal(t, printsJSON, strings.Contains(help, "\n      --json "), command)
	}
}

func TestHelpAndTableAgreeOnExitStatuses(t *testing.T) {
	// This test compares what people read of exit statuses, in the package's
	// documentation and in the help of each command, with the one table of
	// outcomes, and with those of the simulator: every status is told, and none
	// that does not exist.
	doc, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	_, list, found := strings.Cut(string(doc), "# Exit status\n")
	require.True(t, found)
	told := map[int]string{}
	for _, line := range regexp.MustCompile(`(?m)^//\t(\d+) +(.*)$`).FindAllStringSubmatch(list, -1) {
		status, err := strconv.Atoi(line[1])
		require.NoError(t, err)
		told[status] = line[2]
	}
	statuses := map[int]bool{simFailed: true, simFile: true, simLevel: true, simDiffers: true}
	for o := range patterns.OutcomeCount {
		statuses[patterns.ExitStatus(patterns.Outcome(o))] = true
	}
	require.ElementsMatch(t, slices.Collect(maps.Keys(statuses)), slices.Collect(maps.Keys(told)))
	for o, means := range meanings() {
		first, _, _ := strings.Cut(means, " ")
		require.Contains(t, told[patterns.ExitStatus(o)], first, "status %d", patterns.ExitStatus(o))
	}

	var walk func(cmd *cobra.Command)
	number := regexp.MustCompile(`(?:status:? |, |; )(\d+) `)
	walk = func(cmd *cobra.Command) {
		if _, said, ok := strings.Cut(cmd.Long, "Exit status"); ok {
			for _, m := range number.FindAllStringSubmatch("status"+strings.ReplaceAll(said, "\n", " "), -1) {
				status, err := strconv.Atoi(m[1])
				require.NoError(t, err)
				require.True(t, statuses[status], "%s: status %d", cmd.CommandPath(), status)
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(rootCommand(App{}))
	require.Equal(t, "Exit status: 0 done, 3 no member, 6 cut off, 1 anything else.", exits("done", end{patterns.OutcomeNoMembers, ""}, end{patterns.OutcomeDeadline, "cut off"}))
}

func TestWhoseRightIsMissingIsSaid(t *testing.T) {
	// This test puts refusals into words: what the certificate of the relay's own node does
	// not allow, with the command that helps; what the relay's policy does not; and what
	// somebody else refuses, for which the key may be the wrong one.
	certificate := fmt.Errorf("%w: the certificate of \"web-1\" does not let it call \"geo\": have another one made with `arke authority sign --call geo`", patterns.ErrUnauthorized)
	none := fmt.Errorf("%w: %w: have one made with `arke authority sign`", patterns.ErrUnauthorized, security.ErrNoCertificate)
	for err, says := range map[error][2]string{
		certificate:              {`the certificate of "web-1"`, "arke authority sign --call geo"},
		none:                     {"certificate", "arke authority sign"},
		patterns.ErrUnauthorized: {"no right to", "--cluster-key-file"},
	} {
		for _, said := range []string{explain(&clusterError{cluster: "geo", err: err}), explain(&topicError{topic: "a.b", err: err})} {
			require.Contains(t, said, says[0])
			require.Contains(t, said, says[1])
			require.Equal(t, err == patterns.ErrUnauthorized, strings.Contains(said, "key-file"), said)
		}
	}
}
