// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package peercred tells whose process is at the other end of a unix socket, and
// whose a file is.
// The relay asks it about its clients, and a client about its relay: the
// permissions of a socket bind neither whoever made its directory before us,
// nor systems that ignore them.
package peercred
