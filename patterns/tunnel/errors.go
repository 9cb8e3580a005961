// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package tunnel

import "errors"

// How a peer breaks the protocol; the tunnel is reset.
var (
	errNoCredit  = errors.New("more data than credit")
	errBehindEnd = errors.New("data behind the end")
)
