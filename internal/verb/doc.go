// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package verb, an inner part of Arke that makes no promise to users, has the words
// for what somebody may do with a name: rules of a relay's policy and certificates of
// nodes have the same four.
package verb
