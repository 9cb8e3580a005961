// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package cluster turns a cluster's name into its live members.
package cluster
