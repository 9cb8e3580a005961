// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tests

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/tests/harness"
)

func TestExitCodeTellsTheOutcome(t *testing.T) {
	// This test checks the exit status of arke request for each outcome that
	// one relay can bring about, and that each failure is explained in a line.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a")
	a.Serves("echo", "--echo")
	a.Serves("fails", "--exec", "echo no such zone >&2; exit 3")
	a.Serves("slow", "--exec", "sleep 600")
	started := filepath.Join(harness.Folder(t), "started")
	a.Serves("busy", "--exec", "touch "+started+"; sleep 600", "--concurrency", "1", "--queue", "-1")
	for _, cluster := range []string{"echo", "fails", "slow", "busy"} {
		a.Sees(1, cluster)
	}

	a.Requests("echo", "hello").Gets("hello")
	a.Requests("echo").Gets("")
	a.Requests("fails", "x").Ends(2).Says("fails", "code 2", "no such zone")
	a.Requests("nobody", "x").Ends(3).Says("nobody serves nobody", "arke serve")
	a.Requests("slow", "x", "--timeout", "300ms").Ends(6).Says("deadline", "may have run", "--timeout")

	first := a.Asks("busy", "x", "--timeout", "1m")
	exists(t, started)
	a.Requests("busy", "x").Ends(4).Says("busy", "no handler ran")
	first.Interrupt()
	first.Ends(1)

	large := strings.Repeat("x", 2<<20)
	a.Reads(large, "request", "echo", "-").Ends(9).Says("2 MiB is too large for echo", "takes 1 MiB", "--message-bytes", "arke tunnel echo")
	a.Reads("from standard input\n", "request", "echo", "-").Gets("from standard input\n")
	a.Reads("from standard input\n", "request", "echo").Gets("from standard input\n") // a pipe is read without "-", too

	harness.Run(t, "request", "echo", "x", "--socket", filepath.Join(harness.Folder(t), "none")).
		Ends(5).Says("no relay at", "arke relay", "--socket", "ARKE_SOCKET")
}

func TestInterruptedRequestHasItsExitCode(t *testing.T) {
	// This test checks status 7: the member's relay is killed while the
	// request is handled.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	_, request := occupied(t, a, b, "sleep 600")
	b.Kill()
	request.Ends(7)
	request.Tells("may have run")
}

func TestWaitingForAFirstMember(t *testing.T) {
	// This test checks --wait: the request is held until somebody serves.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a")
	a.Requests("late", "x", "--wait", "--timeout", "200ms").Ends(6)
	request := a.Asks("late", "hello", "--wait", "--timeout", "1m")
	a.Serves("late", "--echo")
	request.Ends(0)
	request.Tells("hello")
}

func TestJSONIsOneObjectPerLine(t *testing.T) {
	// This test checks that every command with --json prints objects that a
	// program can read, and nothing else on standard output.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a", harness.Flags("--zone", "north"))
	a.Serves("echo", "--echo")
	a.Serves("echo", "--echo")
	a.Serves("fails", "--exec", "echo because >&2; exit 1")
	a.Sees(2, "echo")
	a.Sees(1, "fails")

	reply := object(t, a.Requests("echo", "hi", "--json", "--header", "k=v=w", "--header", "k=2").Ends(0))
	require.True(t, reply["outcome"] == "reply" && reply["body"] == "hi" && reply["member"] != "", reply)
	text, _ := json.Marshal(reply["headers"])
	require.Equal(t, `[{"key":"k","value":"v=w"},{"key":"k","value":"2"}]`, string(text))

	refusal := object(t, a.Requests("fails", "--json").Ends(2))
	require.Equal(t, "remote_error", refusal["outcome"])
	text, _ = json.Marshal(refusal["remote"])
	require.Equal(t, `{"code":2,"message":"because"}`, string(text))
	require.Equal(t, "no_members", object(t, a.Requests("nobody", "--json").Ends(3))["outcome"])

	binary := object(t, a.Reads("\xff\x00", "request", "echo", "-", "--json").Ends(0))
	require.Equal(t, "/wA=", binary["body_base64"])

	members := objects(t, a.Does("members", "echo", "--json").Ends(0).Stdout)
	require.Len(t, members, 2)
	for _, m := range members {
		require.True(t, m["member"] != "" && m["peer"] == a.Peer() && m["zone"] == "north" && m["state"] == "live", m)
	}
	for _, command := range []string{"members", "survey", "broadcast", "push"} {
		failed := a.Does(command, "nobody", "--json").Ends(3).Says("nobody")
		require.Equal(t, "no_members", object(t, failed)["outcome"], failed)
	}

	status := object(t, a.Does("status", "--json").Ends(0))
	for _, key := range []string{"peer", "addrs", "links", "clusters", "queues", "drops"} {
		require.Contains(t, status, key)
	}
	measured := object(t, a.Does("bench", "request", "echo", "--rate", "200", "--duration", "500ms", "--json").Ends(0))
	require.True(t, measured["sent"] == 100.0 && measured["ok"] == 100.0, measured)
	require.Len(t, measured["members"], 2)
	object(t, harness.Run(t, "version", "--json").Ends(0))

	short := a.Peer()[len(a.Peer())-8:]
	for _, command := range [][]string{{"members", "echo"}, {"status"}} {
		plain := a.Does(command[0], command[1:]...).Ends(0).Stdout
		require.Contains(t, plain, short)
		require.NotContains(t, plain, "{")
	}
}

// object returns the one line on standard output as an object.
func object(t *testing.T, r harness.Result) map[string]any {
	t.Helper()
	all := objects(t, r.Stdout)
	require.True(t, len(all) == 1 && strings.HasSuffix(r.Stdout, "\n"), "%s: not one object", r)
	return all[0]
}

func TestWrongUsageSaysWhatToDo(t *testing.T) {
	// This test checks that senseless arguments end with status 1 and one
	// line that names the problem and the way out, never with a page of help.
	scenario(t)
	dir := harness.Folder(t)
	file := func(name, content string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), mode))
		return path
	}
	key := filepath.Join(dir, "key")
	harness.Run(t, "keygen", "--out", key).Ends(0)
	good := read(t, key)
	vault, prices := filepath.Join(dir, "vault"), filepath.Join(dir, "prices")
	harness.Run(t, "keygen", "--cluster", "vault", "--out", vault).Ends(0)
	harness.Run(t, "keygen", "--cluster", "topic:prices", "--out", prices).Ends(0)
	loose := file("loose", good, 0o644)
	short := file("short", good[:len(good)-8], 0o600)
	empty := file("empty", "", 0o600)
	plain := file("plain", "not a socket", 0o600)
	shortToken, token := file("short-token", "too short", 0o600), file("token", "sixteen bytes or more", 0o600)
	open := filepath.Join(dir, "open")
	require.NoError(t, errors.Join(os.Mkdir(open, 0o700), os.Chmod(open, 0o777)))

	for _, tc := range []struct {
		args []string
		says []string
	}{
		{[]string{"rilay"}, []string{"unknown command", "rilay", "arke --help"}},
		{[]string{"relay", "--nonsense"}, []string{"--nonsense", "arke relay --help"}},
		{[]string{"relay", "extra"}, []string{"extra", "arke relay --help"}},
		{[]string{"relay"}, []string{"which network", "arke keygen", "--key-file", "--dev"}},
		{[]string{"relay", "--key-file", filepath.Join(dir, "none")}, []string{"none", "arke keygen"}},
		{[]string{"relay", "--key-file", dir}, []string{"directory"}},
		{[]string{"relay", "--key-file", loose}, []string{"0600", "chmod 600 " + loose}},
		{[]string{"relay", "--key-file", short}, []string{short, "line"}},
		{[]string{"relay", "--key-file", empty}, []string{empty}},
		{[]string{"relay", "--dev", "--log-level", "loud"}, []string{"--log-level", "loud", "debug"}},
		{[]string{"relay", "--dev", "--listen", "here"}, []string{"here"}},
		{[]string{"relay", "--dev", "--advertise", "there", "--socket", filepath.Join(dir, "s1")}, []string{"there"}},
		{[]string{"relay", "--dev", "--seed", "", "--socket", filepath.Join(dir, "s2")}, []string{"--seed is empty"}},
		{[]string{"relay", "--dev", "--seed", "there", "--socket", filepath.Join(dir, "s2")}, []string{"--seed", "there", "host:port"}},
		{[]string{"relay", "--dev", "--client-listen", "127.0.0.1:0"}, []string{"--token-file", "ARKE_TOKEN"}},
		{[]string{"relay", "--dev", "--max-clients", "0"}, []string{"--max-clients"}},
		{[]string{"relay", "--dev", "--client-listen", "127.0.0.1:0", "--token-file", shortToken}, []string{"9 bytes", "16"}},
		{[]string{"relay", "--dev", "--token-file", shortToken}, []string{"--client-listen"}},
		{[]string{"relay", "--dev", "--client-listen", "0.0.0.0:0", "--token-file", token, "--socket", filepath.Join(dir, "s3")}, []string{"loopback"}},
		{[]string{"relay", "--dev", "--key-file", key}, []string{"--dev", "--key-file", "choose one"}},
		{[]string{"relay", "--dev", "--data-dir", plain, "--socket", filepath.Join(dir, "s4")}, []string{plain + " is a file"}},
		{[]string{"request", "x", "--address", "127.0.0.1:1"}, []string{"--address", "--token-file", "ARKE_TOKEN"}},
		{[]string{"request", "x", "--address", "127.0.0.1:1", "--token-file", token}, []string{"no relay", "127.0.0.1:1", "refused"}},
		{[]string{"relay", "--dev", "--data-dir", open, "--socket", filepath.Join(dir, "s4")}, []string{"chmod go-w " + open}},
		{[]string{"request", "x", "--address", "127.0.0.1:1", "--token-file", dir + "/none"}, []string{"no token file"}},
		{[]string{"serve", "valut", "--echo", "--cluster-key-file", vault}, []string{vault, "keys of vault", "uses valut"}},
		{[]string{"publish", "prizes.a", "1", "--cluster-key-file", prices}, []string{prices, "keys of topic:prices", "uses topic:prizes"}},
		{[]string{"serve", "x", "--echo", "--env", "ARKE_NETWORK"}, []string{"--env", "never"}},
		{[]string{"relay", "--dev", "--socket", plain}, []string{plain}},
		{[]string{"relay", "--dev", "--socket", filepath.Join(dir, strings.Repeat("long", 40))}, []string{"long"}},
		{[]string{"keygen", "--out", key}, []string{key, "exists"}},
		{[]string{"keygen", "--network", "a b"}, []string{"name"}},
		{[]string{"serve"}, []string{"missing CLUSTER", "arke serve --help"}},
		{[]string{"serve", "x"}, []string{"--echo", "--exec"}},
		{[]string{"serve", "x", "--echo", "--exec", "cat"}, []string{"--echo", "--exec"}},
		{[]string{"serve", "x", "--echo", "--socket", filepath.Join(dir, "none"), "--log-level", "warn"}, []string{"no relay"}},
		{[]string{"request"}, []string{"missing CLUSTER"}},
		{[]string{"request", "x", "y", "z"}, []string{`"z"`}},
		{[]string{"request", "x", "--timeout", "5"}, []string{"timeout"}},
		{[]string{"request", "x", "--timeout", "-5s"}, []string{"--timeout"}},
		{[]string{"request", "x", "--header", "novalue"}, []string{"--header", "novalue", "KEY=VALUE"}},
		{[]string{"request", "x", "--socket", "a", "--address", "b"}, []string{"--socket", "--address"}},
		{[]string{"members"}, []string{"missing CLUSTER"}},
		{[]string{"status", "--socket", plain}, []string{"no relay", plain, "no socket"}},
		{[]string{"bench", "request", "x", "--duration", "1s"}, []string{"--rate"}},
		{[]string{"bench", "request", "x", "--rate", "1"}, []string{"--duration"}},
		{[]string{"bench", "tunnel"}, []string{"missing CLUSTER", "arke bench tunnel --help"}},
		{[]string{"bench", "nonsense"}, []string{"nonsense"}},
		{[]string{"bench", "tunnel", "x", "--rate", "1", "--duration", "1s", "--tunnels", "0"}, []string{"--tunnels"}},
		{[]string{"bench", "publish", "x", "--rate", "1", "--duration", "1s", "--size", "3"}, []string{"--size", "16"}},
		{[]string{"bench", "survey", "x", "--rate", "1"}, []string{"--duration"}},
		{[]string{"serve", "x", "--tunnel-echo", "--tunnel-exec", "cat"}, []string{"--tunnel-echo", "--tunnel-exec"}},
		{[]string{"survey"}, []string{"missing CLUSTER", "arke survey --help"}},
		{[]string{"survey", "x", "--timeout", "0s"}, []string{"--timeout"}},
		{[]string{"push"}, []string{"missing CLUSTER"}},
		{[]string{"push", "x", "y", "--header", "z"}, []string{"--header", "KEY=VALUE"}},
		{[]string{"broadcast", "x", "y", "z"}, []string{`"z"`}},
		{[]string{"publish"}, []string{"missing TOPIC and BODY"}},
		{[]string{"publish", "a.b"}, []string{"missing BODY"}},
		{[]string{"publish", "a.b", "x", "--count", "0"}, []string{"--count must be greater than 0"}},
		{[]string{"publish", "a.b", "x", "--rate", "0"}, []string{"--rate must be greater than 0"}},
		{[]string{"publish", "a.b", "x", "--count", "-1"}, []string{"--count"}},
		{[]string{"publish", "a.b", "x", "--rate", "-1"}, []string{"--rate"}},
		{[]string{"subscribe"}, []string{"missing PATTERN", "arke subscribe --help"}},
		{[]string{"subscribe", "a", "--count", "-1"}, []string{"--count"}},
		{[]string{"tunnel"}, []string{"missing CLUSTER"}},
		{[]string{"tunnel", ""}, []string{"CLUSTER has 0 bytes", "1 to 255"}},
		{[]string{"request", strings.Repeat("x", 256)}, []string{"CLUSTER has 256 bytes", "1 to 255"}},
		{[]string{"serve", "x", "--echo", "--concurrency", "0"}, []string{"--concurrency must be greater than 0"}},
		{[]string{"expose", "x", "--to", "tcp://127.0.0.1:65536"}, []string{"a port is between 1 and 65535"}},
		{[]string{"forward", "x", "--listen", ":65536"}, []string{"a port is between 0 and 65535"}},
		{[]string{"expose", "x"}, []string{"--to tcp://HOST:PORT"}},
		{[]string{"expose", "x", "--to", "127.0.0.1:5432"}, []string{"127.0.0.1:5432", "tcp://HOST:PORT"}},
		{[]string{"forward", "x", "--listen", "5432"}, []string{"--listen", "HOST:PORT"}},
		{[]string{"forward", "x", "--socket", filepath.Join(dir, "none"), "--log-level", "warn"}, []string{"no relay"}},
	} {
		t.Run(strings.Join(tc.args[:min(len(tc.args), 3)], " "), func(t *testing.T) {
			result := harness.Run(t, tc.args...)
			require.True(t, result.Code != 0 && result.Stdout == "", "%s: want a failure and nothing on standard output", result)
			result.Says(tc.says...)
		})
	}
}

func TestNamesThatNobodyMayHaveAreRefused(t *testing.T) {
	// This test checks that a name is refused with what is wrong with it, also in
	// a topic and in a pattern, where a wildcard in a word is a mistake.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a")
	for _, tc := range []struct{ args, says []string }{
		{[]string{"serve", "geo@eu", "--echo"}, []string{"@ is reserved"}},
		{[]string{"serve", "$status", "--echo"}, []string{"names that begin with"}},
		{[]string{"request", " geo", "x"}, []string{"begins with a blank"}},
		{[]string{"survey", "geo\x1b[2J", "x"}, []string{`"geo\x1b[2J"`, "control character"}},
		{[]string{"publish", "geo*", "x"}, []string{"whole words", "a topic has none"}},
		{[]string{"publish", "geo@eu", "x"}, []string{"@ is reserved"}},
		{[]string{"publish", "$geo", "x"}, []string{"begin with $ are reserved"}},
		{[]string{"subscribe", "a.b*"}, []string{"whole words", "write a.*"}},
	} {
		a.Does(tc.args[0], tc.args[1:]...).Ends(1).Says(tc.says...)
	}
	a.Does("request", "geo@eu", "x").Ends(3).Says("nobody serves geo in the network eu", "gateway")
}

func TestKeyFromTheEnvironment(t *testing.T) {
	// This test checks that ARKE_NETWORK holds what keygen prints, and that a
	// malformed one is refused by name without showing the key.
	scenario(t)
	text := harness.Run(t, "keygen").Ends(0).Stdout
	dir := harness.Folder(t)
	relay := func(value string) harness.Command {
		return harness.Command{
			Args: []string{"relay", "--listen", "/ip4/127.0.0.1/tcp/0", "--no-mdns", "--socket", filepath.Join(dir, "sock")},
			Env:  []string{"ARKE_NETWORK=" + value},
		}
	}
	p := relay(text).Start(t, "arke relay ready ")
	p.Terminate().Ends(0)
	broken := strings.Replace(text, "key 1 ", "key 1 zz", 1)
	result := relay(broken).Run(t).Ends(1).Says("ARKE_NETWORK", "line")
	secret := strings.Fields(text[strings.Index(text, "\nkey 1 "):])[2]
	require.NotContains(t, result.Stderr, secret, "the key is in the message")
}

func TestSocketInUseIsRefused(t *testing.T) {
	// This test checks that a second relay does not take over the socket of a
	// live one, but does that of a dead one.
	scenario(t)
	net := harness.NewNetwork(t)
	a := net.Relay("a")
	harness.Run(t, "relay", "--dev", "--socket", a.Socket()).Ends(1).Says(a.Socket(), "in use")
	harness.Run(t, "relay", "--dev", "--listen", a.HostPort(), "--socket", filepath.Join(harness.Folder(t), "s")).
		Ends(1).Says("already in use", "choose another address")
	a.Serves("echo", "--echo")
	a.Sees(1, "echo")
	a.Requests("echo", "unharmed").Gets("unharmed")
	a.Kill()
	a.Restart()
	a.Serves("echo", "--echo")
	a.Requests("echo", "again").Gets("again")
}

func TestTokenGuardsTheTCPAddress(t *testing.T) {
	// This test checks that a program can attach over loopback TCP with the
	// token of the relay, and with no other, and that no command line has it.
	scenario(t)
	port, token := harness.FreePort(t), secret(t, "open sesame, please\n")
	a := harness.NewNetwork(t).Relay("a", harness.Flags("--client-listen", port, "--token-file", token))
	a.Serves("echo", "--echo")
	a.Sees(1, "echo")
	ask := func(token string) harness.Result {
		return harness.Command{
			Args: []string{"request", "echo", "hi", "--address", port},
			Env:  []string{"ARKE_TOKEN=" + token},
		}.Run(t)
	}
	ask("open sesame, please").Gets("hi")
	ask("open sesame, now!!!").Ends(8).Says("token")
	ask("").Ends(8).Says("token")
	harness.Run(t, "request", "echo", "hi", "--address", port, "--token-file", token).Gets("hi")
	require.NoError(t, os.Chmod(token, 0o644))
	harness.Run(t, "request", "echo", "hi", "--address", port, "--token-file", token).Ends(1).Says("open to others", "chmod 600")
}

// secret makes a file that only we may read.
func secret(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(harness.Folder(t), "token")
	write(t, file, text)
	return file
}

func TestCommandsOfMembersGetNoSecrets(t *testing.T) {
	// This test serves with a command in whose reach the network's key and the
	// token once were, and looks at all that it can see of its environment.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a")
	serve := harness.Command{
		Args: []string{"serve", "env", "--exec", "env", "--env", "MODE=fast", "--env", "DB", "--socket", a.Socket()},
		Env:  []string{"ARKE_NETWORK=the key", "ARKE_TOKEN=open sesame, please", "AWS_SECRET=x", "DB=postgres"},
	}
	serve.Start(t, "arke serve ready")
	a.Sees(1, "env")
	got := a.Requests("env", "x", "--header", "content-type=text/plain", "--timeout", "20s").Ends(0).Stdout
	member := object(t, a.Does("members", "env", "--json").Ends(0))
	for _, want := range []string{
		"MODE=fast\n", "DB=postgres\n", "PATH=", "ARKE_PATTERN=request\n", "ARKE_HEADER_CONTENT_TYPE=text/plain\n", "ARKE_DEADLINE_MS=1",
		"ARKE_MEMBER=" + member["member"].(string), "ARKE_CALLER=" + member["peer"].(string),
	} {
		require.Contains(t, got, want)
	}
	for _, never := range []string{"ARKE_NETWORK", "ARKE_TOKEN", "AWS_SECRET", "the key", "sesame"} {
		require.NotContains(t, got, never)
	}
}

func TestSecondSignalEndsAtOnce(t *testing.T) {
	// This test checks that the first SIGTERM lets a handler finish and the
	// second one does not.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a")
	member, request := occupied(t, a, a, "sleep 600")
	member.Interrupt()
	a.Sees(0, "slow")
	require.True(t, member.Alive(), "the first signal did not wait for the handler")
	harness.Eventually(t, harness.Patience, "that another signal ends it", func() error {
		if member.Alive() {
			member.Interrupt()
			return errors.New("it lives")
		}
		return nil
	})
	request.Ends(7)
}

func TestDevRelayNeedsNothing(t *testing.T) {
	// This test checks the first commands a new user types.
	scenario(t)
	env := []string{"XDG_RUNTIME_DIR=" + harness.Folder(t)}
	harness.Command{Args: []string{"relay", "--dev"}, Env: env}.Start(t, "arke relay ready ")
	harness.Command{Args: []string{"serve", "greeting", "--exec", "echo hello, $(cat)"}, Env: env}.Start(t, "arke serve ready")
	harness.Command{Args: []string{"request", "greeting", "world", "--wait"}, Env: env}.Run(t).Gets("hello, world\n")
}

func TestHelpHasAnExample(t *testing.T) {
	// This test checks that each command explains itself.
	scenario(t)
	harness.Run(t).Ends(0)
	for _, command := range []string{"keygen", "authority", "authority init", "authority request", "authority sign", "authority renew", "authority revoke", "authority show", "authority delegate", "authority serve", "relay", "config", "config check", "config show", "serve", "request", "members", "status", "bench", "bench request", "bench survey", "bench tunnel", "bench publish", "survey", "push", "broadcast", "publish", "subscribe", "tunnel", "expose", "forward", "demo", "version", "sim", "sim run", "sim replay", "sim shrink", "sim diff", "sim explain", "sim list", "sim format"} {
		help := harness.Run(t, append(strings.Fields(command), "--help")...).Ends(0).Stdout
		require.Regexp(t, "Examples:\n  (arke |ARKE_)", help, command)
	}
}

func TestNamesOfClustersAreCompleted(t *testing.T) {
	// This test checks what the shell offers after arke request: the clusters
	// that are served or called through the relay, and no topics.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a")
	a.Serves("geo", "--echo")
	a.Serves("other", "--tunnel-echo")
	a.Does("publish", "weather.berlin", "1").Ends(0)
	a.Requests("nobody", "x").Ends(3)
	offered := harness.Run(t, "__complete", "request", "--socket", a.Socket(), "").Ends(0)
	require.Equal(t, "geo\nnobody\nother\n:4\n", offered.Stdout)
}

func TestPublishingToNobodyIsTold(t *testing.T) {
	// This test checks that publish says so when nobody listens, that --need
	// makes it a failure, and that a negative number is a message.
	scenario(t)
	a, b := together(harness.NewNetwork(t))
	a.Does("publish", "sea.level", "-5").Ends(0).Says("sea.level: no node acknowledged the message", "wildcard")
	a.Does("publish", "sea.level", "-5", "--need", "1").Ends(3).Says("0 nodes took message 1 of sea.level", "arke subscribe sea.level")
	listener := harness.Command{Args: []string{"subscribe", "sea.*", "--raw=false", "--socket", b.Socket()}}.Start(t, "arke subscribe ready")
	a.Does("publish", "sea.level", "-5", "--need", "1").Gets("")
	listener.Tells("sea.level: -5")
	a.Does("publish", "sea.level", "-6", "--need", "2").Ends(3).Says("1 node took", "--need is 2")
}

func TestServiceOutlivesTheReaderOfItsOutput(t *testing.T) {
	// This test checks that a member goes on when the program that
	// waited for their first line has ended, though it prints more.
	scenario(t)
	a := harness.NewNetwork(t).Relay("a")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	serve := exec.Command(harness.Binary(t), "serve", "log", "--echo", "--socket", a.Socket())
	serve.Stdout, serve.Stderr = w, w
	require.NoError(t, serve.Start())
	defer func() { _ = serve.Process.Kill(); _ = serve.Wait() }()
	w.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	require.Equal(t, "arke serve ready\n", line, err)
	r.Close()
	a.Sees(1, "log")
	for range 3 {
		a.Does("push", "log", "nobody reads this").Ends(0)
	}
	a.Requests("log", "still there?").Gets("still there?")
}
