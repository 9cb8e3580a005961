// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Namespace is a network namespace: a machine of its own as far as the
// network goes, with nothing but a loopback device that does multicast.
type Namespace struct {
	name string
}

// NewNamespace makes a network namespace, or skips the test where that is
// not possible.
func NewNamespace(t TB) *Namespace {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skipf("making a network namespace takes root")
	}
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("making a network namespace takes the ip command (package iproute2)")
	}
	n := &Namespace{name: fmt.Sprintf("arke-%d", os.Getpid())}
	if err := ip("netns", "add", n.name); err != nil {
		t.Skipf("network namespaces are not allowed here: %v", err)
	}
	t.Cleanup(func() {
		if err := ip("netns", "delete", n.name); err != nil {
			t.Logf("%v", err)
		}
	})
	for _, command := range []string{
		"link set lo up",
		"link set lo multicast on",
		"route add 224.0.0.0/4 dev lo",
		"addr add 10.77.0.1/24 dev lo",
	} {
		if err := ip(append([]string{"-n", n.name}, strings.Fields(command)...)...); err != nil {
			t.Fatalf("%v", err)
		}
	}
	return n
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
