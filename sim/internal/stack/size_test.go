// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package stack_test

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFigures(t *testing.T) {
	// This test measures what a network of a size costs. It proves nothing, so
	// it runs only when a size is given in ARKE_STACK_NODES.
	count, err := strconv.Atoi(os.Getenv("ARKE_STACK_NODES"))
	if err != nil {
		t.Skip("ARKE_STACK_NODES is not set")
	}
	begun := time.Now()
	perform(t, count, func(t *testing.T, s *stage) {
		wall := func() time.Duration { return realSince(begun) }
		for i := 1; i < count; i++ {
			s.serve(i)
		}
		fmt.Println(count, "nodes serve: virtual", s.Now(), "real", wall())
		took := s.until(time.Minute, func() bool {
			for i := range s.nodes {
				if s.peers(i) < min(count-1, 30) {
					return false
				}
			}
			return true
		})
		fmt.Println("tables filled after", took, "real", wall())
		time.Sleep(10 * time.Second)
		fmt.Println("10 s quiet: real", wall())
		for range 6000 {
			_, err := s.ask(0)
			require.NoError(t, err)
			time.Sleep(10 * time.Millisecond)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		fmt.Println("a minute, 100 req/s: virtual", s.Now(), "real", wall(), "sys MB", m.Sys>>20, "heap MB", m.HeapInuse>>20,
			"stack MB", m.StackInuse>>20, "goroutines", runtime.NumGoroutine())
	})
	fmt.Println("closed: real", time.Since(begun))
}
