// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package match says which patterns stand for a topic: what topics and
// patterns are, and an index of many patterns.
//
// It knows nothing of subscriptions, nodes or messages: an [Index] maps
// patterns to values of its user's.
package match
