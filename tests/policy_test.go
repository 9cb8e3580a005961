// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

// A user and a group that have no name on any machine.
const (
	guest      = 54321
	guestGroup = 54322
)

func TestARelayIsSharedUnderAPolicy(t *testing.T) {
	// This test has programs of another user attach to a relay of root's that is
	// shared with a group, and checks that they may do what the policy says and
	// nothing else; that who is refused hears so, and not that there is no relay; and
	// that SIGHUP changes the policy, unless the new one makes no sense.
	scenario(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	dir := harness.Folder(t)
	require.NoError(t, os.Chmod(dir, 0o755))
	socket, file := filepath.Join(dir, "run", "relay.sock"), filepath.Join(dir, "policy")
	write(t, file, "user root may serve, call, publish, subscribe >\nuser root may call $status\ngroup "+strconv.Itoa(guestGroup)+" may call greeting\n")
	harness.Run(t, "policy", file).Gets(file + ": 3 rules\n")
	relay := harness.Command{Args: []string{
		"relay", "--dev", "--socket", socket, "--allow-group", strconv.Itoa(guestGroup), "--policy", file,
	}}.Start(t, "arke relay ready ")
	for _, cluster := range []string{"greeting", "secret"} {
		harness.Command{Args: []string{"serve", cluster, "--echo", "--socket", socket}}.Start(t, "arke serve ready")
	}
	as := func(user, group int, args ...string) harness.Result {
		return harness.Command{Args: append(args, "--socket", socket), User: user, Group: group}.Run(t)
	}
	as(guest, guestGroup, "request", "greeting", "hi").Gets("hi")
	as(guest, guestGroup, "request", "secret", "hi").Ends(8).Says("the policy of this relay does not let user 54321 call")
	as(guest, guestGroup, "publish", "news", "hi").Ends(8).Says("policy")
	as(guest, guestGroup, "status").Ends(8).Says("policy")
	as(guest, guest, "request", "greeting", "hi").Ends(8).Says("does not take programs of this user")

	write(t, file, "user root may call $status\nuser root may cal secret\n")
	relay.Hangup()
	relay.Tells("the old one still holds")
	as(guest, guestGroup, "request", "greeting", "hi").Gets("hi")
	write(t, file, "user root may serve, call, publish, subscribe >\nuser 54321 may call secret\n")
	relay.Hangup()
	relay.Tells("policy read again")
	as(guest, guestGroup, "request", "secret", "hi").Gets("hi")
	as(guest, guestGroup, "request", "greeting", "hi").Ends(8)
	require.NoError(t, relay.Logs(`"who": "user 54321"`))
}

func TestAForeignRelayIsNotTrusted(t *testing.T) {
	// This test has somebody else listen where a program looks for its relay, and
	// checks that the program refuses that relay, and uses it once its user is trusted.
	scenario(t)
	if os.Geteuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	dir := harness.Folder(t)
	require.NoError(t, os.Chown(dir, guest, guestGroup))
	env := []string{"XDG_RUNTIME_DIR=" + dir}
	harness.Command{Args: []string{"relay", "--dev"}, Env: env, User: guest, Group: guestGroup}.Start(t, "arke relay ready ")
	ask := func(args ...string) harness.Result {
		return harness.Command{Args: append([]string{"status"}, args...), Env: env}.Run(t)
	}
	ask().Ends(8).Says("is not trusted", "54321", "--trust-user")
	ask("--trust-user", strconv.Itoa(guest)).Ends(0)
	ask("--socket", filepath.Join(dir, "arke", "relay.sock")).Ends(0)
}

func TestThePolicyCommandAnswers(t *testing.T) {
	// This test asks a policy without a relay, as who writes one does.
	scenario(t)
	file := filepath.Join(harness.Folder(t), "policy")
	write(t, file, "user 7 may call geo.>\ntoken ci may publish build.*\n")
	harness.Run(t, "policy", file).Gets(file + ": 2 rules\n")
	harness.Run(t, "policy", file, "--user", "7", "call", "geo.eu").Gets("line 1 of the policy allows it, for user 7\n")
	harness.Run(t, "policy", file, "--user", "8", "call", "geo.eu").Ends(8).Says("no rule")
	harness.Run(t, "policy", file, "--token", "ci", "publish", "build.done").Gets("line 2 of the policy allows it, for token ci\n")
	harness.Run(t, "policy", file, "--user", "7", "read", "geo").Ends(1).Says("no verb")
	require.NoError(t, os.Chmod(file, 0o666))
	harness.Run(t, "policy", file).Ends(1).Says("chmod go-w")
}
