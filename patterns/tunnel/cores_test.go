// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEnds(t *testing.T) {
	// This test plays the orders in which two sides can end, and looks at what
	// each has to say, whether it may send, and whether it is over.
	for name, c := range map[string]struct {
		steps string // c = close send, C = close, t = told what is due, e = hears an end, E = hears a closed end
		due   ending
		over  bool
		send  bool
	}{
		"nothing":                 {"", endingNone, false, true},
		"asked to end":            {"c", endingSend, false, false},
		"told":                    {"ct", endingNone, false, false},
		"both":                    {"cte", endingNone, true, false},
		"the other first":         {"e", endingNone, false, true},
		"the other, then we":      {"ect", endingNone, true, false},
		"not told yet":            {"ec", endingSend, false, false},
		"the other is closed":     {"E", endingSend, false, false},
		"and we say so":           {"Et", endingNone, true, false},
		"closed after close send": {"ctC", endingClosed, false, false},
		"and told":                {"ctCt", endingNone, false, false},
		"close send after closed": {"Cc", endingClosed, false, false},
		"both closed":             {"CtE", endingNone, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			var e ends
			for _, step := range c.steps {
				switch step {
				case 'c':
					e.want(endingSend)
				case 'C':
					e.want(endingClosed)
				case 't':
					e.told = e.due()
				case 'e':
					e.hear(endingSend)
				case 'E':
					e.hear(endingClosed)
				}
			}
			require.Equal(t, c.due, e.due())
			require.Equal(t, c.over, e.over())
			require.Equal(t, c.send, e.maySend())
		})
	}
	e := ends{err: errNoCredit}
	e.want(endingSend)
	require.True(t, e.over())
	require.Equal(t, endingNone, e.due())
	require.False(t, e.maySend())
}
