// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package processors

import (
	"runtime"
	"time"
)

const (
	// every is the time between two looks: as long as a relay may be short of
	// processors when much comes at once.
	every = 100 * time.Millisecond
	// Processors are used up from enough of their time on. Not all of it: what
	// waits for a turn grows long before.
	enough = 0.8
	// Half of them would do while they would be used below spare. It is far from
	// enough, or the number would go up and down under an even load.
	spare = 0.6
	// calm is for how many looks in a row half must have been enough.
	calm = 50
)

// gauge decides how many processors a program may use.
type gauge struct {
	most int // immutable
	now  int
	// quiet is how many looks in a row half would have done.
	quiet int
}

// step takes how many processors were in use since the last look, and returns
// how many may be used from here on.
func (g *gauge) step(used float64) int {
	half := float64(g.now / 2)
	switch {
	case used > enough*float64(g.now):
		g.now, g.quiet = min(2*g.now, g.most), 0
	case used >= spare*half:
		g.quiet = 0
	default:
		if g.quiet++; g.quiet == calm {
			g.now, g.quiet = max(g.now/2, 1), 0
		}
	}
	return g.now
}

// Pace lets the program use as many processors as its load needs until stop is
// called, which brings back the setting from before. One at a time in a process.
// Where the system does not tell what a program uses, it changes nothing.
func Pace() (stop func()) {
	if _, ok := used(); !ok {
		return func() {}
	}
	return pace(runtime.GOMAXPROCS(0), used, func(n int) { runtime.GOMAXPROCS(n) })
}

// pace looks at used, and sets how many of most may be used.
func pace(most int, used func() (time.Duration, bool), set func(int)) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	set(1)
	go func() {
		defer close(ended)
		defer set(most)
		tick := time.NewTicker(every)
		defer tick.Stop()
		g := gauge{most: most, now: 1}
		at := time.Now()
		before, _ := used()
		for {
			select {
			case <-end:
				return
			case <-tick.C:
			}
			now := time.Now()
			sum, _ := used()
			was := g.now
			if n := g.step(float64(sum-before) / float64(now.Sub(at))); n != was {
				set(n)
			}
			at, before = now, sum
		}
	}()
	return func() {
		close(end)
		<-ended
	}
}
