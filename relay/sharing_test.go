// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package relay

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/arke-mesh/arke/relay/internal/peercred"
)

// TestWhoMayAttachOverTheSocket proves whom a relay of user 1000 takes.
func TestWhoMayAttachOverTheSocket(t *testing.T) {
	const self = 1000
	for _, tt := range []struct {
		name  string
		share Share
		who   peercred.Credentials
		why   string // that is told; "" = it may attach
	}{
		{"ourselves", Share{}, peercred.Credentials{User: self}, ""},
		{"root", Share{}, peercred.Credentials{User: 0}, ""},
		{"somebody of our group", Share{}, peercred.Credentials{User: 1001, Groups: []int{self}}, "belongs to user 1001, this relay to user 1000"},
		{"a user", Share{Users: []int{7, 1001}}, peercred.Credentials{User: 1001}, ""},
		{"another user", Share{Users: []int{7}}, peercred.Credentials{User: 1001, Groups: []int{7}}, "no programs of user 1001 in groups [7]"},
		{"a group", Share{Groups: []int{7}}, peercred.Credentials{User: 1001, Groups: []int{1001, 8, 7}}, ""},
		{"another group", Share{Groups: []int{7}}, peercred.Credentials{User: 7, Groups: []int{8}}, "no programs of user 7"},
		{"the socket's group", Share{Group: 7}, peercred.Credentials{User: 1001, Groups: []int{7}}, ""},
		{"not in the socket's group", Share{Group: 7}, peercred.Credentials{User: 1001, Groups: []int{8}}, "no programs"},
		{"anyone", Share{Anyone: true}, peercred.Credentials{User: 1001}, ""},
		{"root, where it is not listed", Share{Users: []int{1001}}, peercred.Credentials{User: 0}, ""},
	} {
		to := Config{Share: tt.share}.sharing()
		to.self = self
		if tt.why == "" {
			require.Empty(t, to.refuses(tt.who), tt.name)
		} else {
			require.Contains(t, to.refuses(tt.who), tt.why, tt.name)
		}
	}
}

// TestTheSocketsMode proves which mode a socket and a new directory for it have, and
// which shares make no sense.
func TestTheSocketsMode(t *testing.T) {
	for _, tt := range []struct {
		share     Share
		mode, dir fs.FileMode
	}{
		{Share{}, 0o600, 0o700},
		{Share{Mode: 0o600}, 0o600, 0o700},
		{Share{Group: 7}, 0o660, 0o755},
		{Share{Users: []int{7}}, 0o666, 0o755},
		{Share{Groups: []int{7}, Group: 7}, 0o666, 0o755},
		{Share{Anyone: true}, 0o666, 0o755},
		{Share{Users: []int{7}, Mode: 0o660, Group: 8}, 0o660, 0o755},
	} {
		require.NoError(t, tt.share.validate(), "%+v", tt.share)
		to := Config{Share: tt.share}.sharing()
		require.Equal(t, tt.mode, to.Mode, "%+v", tt.share)
		require.Equal(t, tt.dir, to.dirMode(), "%+v", tt.share)
	}
	for text, share := range map[string]Share{
		"keeps out":         {Users: []int{7}, Mode: 0o600},
		"say who":           {Mode: 0o666},
		"a socket has":      {Anyone: true, Mode: 0o777},
		"a socket has 0600": {Anyone: true, Mode: 0o066},
		"negative":          {Users: []int{-1}},
	} {
		require.ErrorContains(t, share.validate(), text)
	}
}
