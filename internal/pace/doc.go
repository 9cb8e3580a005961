// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package pace bounds how much passes in a time: of one holder ([Meter]), or of each
// of many ([Meters]).
//
// A meter knows one number: when all that has passed is paid for. While that is no
// further ahead than a [Limit] allows, more may pass. So the rate in the long run is
// the limit's, and after a quiet while much may pass at once (virtual scheduling,
// ITU-T I.371). Nothing waits, and nobody reads a clock: the time is handed in, in ns
// of any clock that goes forward only.
package pace
