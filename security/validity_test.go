// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/internal/script"
	"github.com/arke-mesh/arke/security"
)

// TestValidityScripts plays the stories in testdata/validity: which keys count when.
//
//	keys N:FROM..UNTIL …   the keys of a file; a bound that is left out is none
//	at TIME                prints what is accepted and what seals, and when that changes
func TestValidityScripts(t *testing.T) {
	script.Run(t, "testdata/validity", func() func(script.Step) []string {
		var keys []security.KeyVersion
		begin := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
		return func(d script.Step) []string {
			if d.Cmd == "keys" {
				keys = nil
				for _, word := range d.Words() {
					keys = append(keys, windowed(d, begin, word))
				}
				require.NoError(d.T(), security.CheckKeys(keys))
				return nil
			}
			now := begin.Add(d.Time(0))
			v := security.ValidityOf(keys, now)
			line := fmt.Sprintf("seals %d, accepts", keys[v.Seals].Version)
			for _, i := range v.Accepted {
				line += fmt.Sprintf(" %d", keys[i].Version)
			}
			if v.Lapsed {
				line += ", lapsed"
			}
			if next := security.NextValidity(keys, now); !next.IsZero() {
				line += ", until " + next.Sub(begin).String()
			}
			return []string{line}
		}
	})
}

func windowed(d script.Step, begin time.Time, word string) security.KeyVersion {
	number, window, _ := strings.Cut(word, ":")
	from, until, _ := strings.Cut(window, "..")
	n, err := strconv.Atoi(number)
	require.NoError(d.T(), err)
	k := versions(uint32(n))[0]
	for at, text := range map[*time.Time]string{&k.NotBefore: from, &k.NotAfter: until} {
		if text == "" {
			continue
		}
		after, err := time.ParseDuration(text)
		require.NoError(d.T(), err)
		*at = begin.Add(after)
	}
	return k
}

// TestValidityIsConstantBetweenItsChanges proves that NextValidity misses no change:
// for random keys, every minute's answer is that of the last change before it.
func TestValidityIsConstantBetweenItsChanges(t *testing.T) {
	begin := time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)
	random := seeded("windows")
	for range 200 {
		var b [8]byte
		var keys []security.KeyVersion
		for v := range uint32(4) {
			_, _ = random.Read(b[:])
			k := versions(v + 1)[0]
			if b[0]&1 != 0 {
				k.NotBefore = begin.Add(time.Duration(b[1]) * time.Minute)
			}
			if b[0]&2 != 0 {
				k.NotAfter = begin.Add(time.Duration(int(b[1])+int(b[2])+1) * time.Minute)
			}
			keys = append(keys, k)
		}
		now, last := begin.Add(-time.Hour), security.ValidityOf(keys, begin.Add(-time.Hour))
		next := security.NextValidity(keys, now)
		for range 10 * 60 {
			now = now.Add(time.Minute)
			if !next.IsZero() && !now.Before(next) {
				last, next = security.ValidityOf(keys, now), security.NextValidity(keys, now)
			}
			require.Equal(t, last, security.ValidityOf(keys, now))
		}
	}
}
