// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package name, an inner part of Arke that makes no promise to users, says which
// names clusters and topics may have. Both have the same form: package cluster
// and package match add their limits, and what is special to them.
package name
