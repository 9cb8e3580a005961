// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package fake is a node without a network, for the tests of packages relay and
// client: clusters, members, subscriptions and tunnels live in memory, requests go
// round robin, and the outcomes are those of package patterns.
package fake
