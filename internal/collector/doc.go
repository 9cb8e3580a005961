// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package collector paces Go's garbage collector for a relay, so that what it
// takes of the machine follows what its queues hold.
//
// By default Go lets as much garbage gather as is in use. That is cheap while
// little is in use, but a relay whose queues are full of other programs'
// messages would take twice their limits. Here garbage may gather up to 4 MiB,
// or up to a fifth of what is in use where that is more. While it gathers so
// quickly that a relay with little in use would be looked through several times
// a second, up to 8 MiB may gather; an idle relay has none of that.
//
// What is in use changes, so the pace is set anew after each collection: an
// object that nobody holds is collected, and its clean-up looks. There is no
// goroutine of this package's own. The setting belongs to the process: only a
// program may use this, never a library.
package collector
