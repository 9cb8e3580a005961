// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package sim_test

import (
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/sim"
)

// stuckRun says, in a test's child process, which of the stories it must run.
const stuckRun = "ARKE_SIM_STUCK"

var stuck = map[string]struct {
	watchdog time.Duration // 0 = one that does not take a busy machine for a stuck run
	says     string
	run      func(t *testing.T, n *sim.Network)
}{
	"limit": {0, "beyond Config.Limit", func(*testing.T, *sim.Network) { select {} }},
	"watchdog": {300 * time.Millisecond, "is a mutex held across a wait?", func(_ *testing.T, n *sim.Network) {
		var mu sync.Mutex
		mu.Lock()
		n.Go("waits for the mutex", mu.Lock)
		time.Sleep(time.Second)
	}},
}

// This test checks that a run that never ends does end: one in which virtual
// time goes on at its limit, one in which it does not by the watchdog, each with
// a word about the cause.
func TestStuckRunsEnd(t *testing.T) {
	if name := os.Getenv(stuckRun); name != "" {
		sim.Run(t, sim.Config{Limit: time.Minute, Watchdog: stuck[name].watchdog}, func(t *testing.T, n *sim.Network) {
			start(t, n, "a") // refreshes for ever
			start(t, n, "b").connect(start(t, n, "c"))
			stuck[name].run(t, n)
		})
		return
	}
	for name, story := range stuck {
		t.Run(name, func(t *testing.T) {
			child := exec.Command(os.Args[0], "-test.run=^TestStuckRunsEnd$", "-test.timeout=5m")
			child.Env = append(os.Environ(), stuckRun+"="+name)
			out, err := child.CombinedOutput()
			require.Error(t, err)
			require.Contains(t, string(out), story.says)
			require.Contains(t, string(out), "goroutine ")
		})
	}
}
