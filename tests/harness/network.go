// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Network is one network under test: a folder with its key.
type Network struct {
	t   TB
	dir string
	key string // path of the network file
}

// NewNetwork makes a network file with a key of its own.
func NewNetwork(t TB) *Network {
	t.Helper()
	return newNetwork(t, "arke")
}

func newNetwork(t TB, name string) *Network {
	t.Helper()
	n := &Network{t: t, dir: Folder(t)}
	n.key = filepath.Join(n.dir, "key")
	Run(t, "keygen", "--network", name, "--out", n.key).Ends(0)
	return n
}

// Key returns the path of the network file.
func (n *Network) Key() string { return n.key }

// Folder makes a folder of a short name that lives as long as the test.
func Folder(t TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ak")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// FreePort returns a loopback HOST:PORT on which nobody listens.
func FreePort(t TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer l.Close()
	return l.Addr().String()
}

// Relays starts that many relays, named a, b, c …; the first one is the
// others' seed. It returns when they know each other.
func (n *Network) Relays(count int, options ...RelayOption) []*Relay {
	n.t.Helper()
	relays := []*Relay{n.Relay("a", options...)}
	for i := 1; i < count; i++ {
		with := append([]RelayOption{Seed(relays[0])}, options...)
		relays = append(relays, n.Relay(fmt.Sprintf("%c", 'a'+i), with...))
	}
	Together(n.t, relays...)
	return relays
}

// Together waits until each relay knows of the others.
func Together(t TB, relays ...*Relay) {
	t.Helper()
	Eventually(t, Patience, fmt.Sprintf("that %d relays know each other", len(relays)), func() error {
		for _, r := range relays {
			if err := knows(r, len(relays)-1); err != nil {
				return err
			}
		}
		return nil
	})
}

// Namespace is a network namespace: a machine of its own as far as the
// network goes, with nothing but a loopback device that does multicast.
type Namespace struct {
	name string
}

// NewNamespace makes a network namespace, or skips the test where that is
// not possible.
func NewNamespace(t TB) *Namespace {
	t.Helper()
	n := &Namespace{name: fmt.Sprintf("arke-%d", os.Getpid())}
	newNamespace(t, n.name, "ip")
	setUp(t, n.name,
		"link set lo up",
		"link set lo multicast on",
		"route add 224.0.0.0/4 dev lo",
		"addr add 10.77.0.1/24 dev lo",
	)
	return n
}

// newNamespace makes an empty one of that name for as long as the test lasts, or skips
// the test without root, these commands, or the right to make one.
func newNamespace(t TB, name string, tools ...string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skipf("making network namespaces takes root")
	}
	for _, tool := range tools {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("making network namespaces takes the command %s (packages iproute2, util-linux, mount)", tool)
		}
	}
	if err := ip("netns", "add", name); err != nil {
		t.Skipf("network namespaces are not allowed here: %v", err)
	}
	t.Cleanup(func() { removeNamespace(t, name) })
}

func removeNamespace(t TB, name string) {
	if err := ip("netns", "delete", name); err != nil {
		t.Logf("%v", err)
	}
}

// setUp runs `ip` with each of these lines in a namespace.
func setUp(t TB, namespace string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		must(t, ip(append([]string{"-n", namespace}, strings.Fields(line)...)...))
	}
}

// wrap returns the command line that runs argv inside.
func (n *Namespace) wrap(argv []string) []string {
	return append([]string{"ip", "netns", "exec", n.name}, argv...)
}

func ip(args ...string) error {
	out, err := exec.Command("ip", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// Main is what TestMain of a package of scenarios calls: it runs the tests
// and removes the binary afterwards.
func Main(m interface{ Run() int }) int {
	defer RemoveBinary()
	return m.Run()
}

// RemoveBinary removes what Binary has built.
func RemoveBinary() {
	shared.remove()
	shifted.remove()
}

// Binary returns the path of the arke binary under test.
func Binary(t TB) string {
	t.Helper()
	path, err := shared.build(nil)
	must(t, err)
	return path
}

// shared are the things that all tests of a run share.
var shared, shifted built

// built is a binary that is built when it is first asked for.
type built struct {
	once sync.Once
	path string
	err  error
}

// build builds it, with other sources if prepare says so: it is given a folder, and
// returns more arguments for `go build`.
func (b *built) build(prepare func(dir string) ([]string, error)) (string, error) {
	b.once.Do(func() {
		var dir string
		if dir, b.err = os.MkdirTemp("", "arke-bin-"); b.err != nil {
			return
		}
		b.path = filepath.Join(dir, "arke")
		args := []string{"build", "-o", b.path}
		if prepare != nil {
			var more []string
			if more, b.err = prepare(dir); b.err != nil {
				return
			}
			args = append(args, more...)
		}
		if raced {
			args = append(args, "-race")
		}
		out, err := exec.Command("go", append(args, "github.com/arke-mesh/arke/cmd/arke")...).CombinedOutput()
		if err != nil {
			b.err = fmt.Errorf("building arke: %w\n%s", err, out)
		}
	})
	return b.path, b.err
}

func (b *built) remove() {
	if b.path != "" {
		os.RemoveAll(filepath.Dir(b.path))
	}
}

// TB is what the harness needs of a test; *testing.T is one, and so is a
// program that measures.
type TB interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
	Skipf(format string, args ...any)
	Cleanup(f func())
	Failed() bool
}

// must ends the test where something fails that no test is about.
func must(t TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v", err)
	}
}

// Patience is how long a story waits for one thing before it says that it hangs:
// the tests share a small machine, and no promise is about it.
const Patience = time.Minute

// Look is the pause between two looks of Eventually and Never; more of them
// would be a load. Looks are the time of a machine that has nothing else to do.
const Look = 20 * time.Millisecond

// Eventually polls f until it returns nil, and fails the test with f's last
// error if that takes longer than limit.
func Eventually(t TB, limit time.Duration, what string, f func() error) {
	t.Helper()
	if err := poll(limit, f); err != nil {
		t.Fatalf("%s did not come true within %s: %v", what, limit, err)
	}
}

// AtLeast waits until there are that many of what is counted.
func AtLeast(t TB, many int, what string, count func() int) {
	t.Helper()
	Eventually(t, Patience, fmt.Sprintf("%d %s", many, what), func() error {
		if n := count(); n < many {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
}

// Never polls f for the whole time, and fails the test when it returns nil.
func Never(t TB, limit time.Duration, what string, f func() error) {
	t.Helper()
	if poll(limit, f) == nil {
		t.Fatalf("%s came true, but never should", what)
	}
}

func poll(limit time.Duration, f func() error) error {
	deadline := time.Now().Add(limit)
	for {
		err := f()
		if err == nil {
			return nil
		}
		if !time.Now().Before(deadline) {
			return fmt.Errorf("at last: %w", err)
		}
		time.Sleep(Look)
	}
}
