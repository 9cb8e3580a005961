// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package doctor looks for what keeps a relay from working, and says what to do.
//
// It looks at the machine first: the network file, the data directory, the socket,
// the ports, mDNS, the limits of the process. Then at each seed: whether its name
// resolves and whether anybody listens there. Last at the network: a relay that runs
// is asked how its seeds, its clock and its peers are; if none runs, a node of the
// doctor's own joins for some seconds, asks, and leaves.
//
// It changes nothing. A finding is one line with a grade, and, unless all is well,
// with what to do.
package doctor
