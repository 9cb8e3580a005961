// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package client

// dropReason is why the client, or its relay after the client was told that all
// was well, did not send what the program gave it.
type dropReason uint8

const (
	dropTooLarge   dropReason = iota // a publication was beyond a limit
	dropWouldBlock                   // TryPublish would have had to wait
	dropRefused                      // the relay could not publish it after all
	dropLost                         // it was lost with the relay, which may have published it
	dropReasons
)

// String implements drop.Reason.
func (r dropReason) String() string {
	return [...]string{"publish.too_large", "publish.would_block", "publish.refused", "publish.lost"}[r]
}
