// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package budget bounds what all peers together can make a node hold, in bytes or
// in streams, and shares it fairly between them.
//
// Half of a budget is for whoever comes first. Of the other half each peer that holds
// anything may have the same share, and who has as much already nothing, so that
// nobody is refused its own because of what others hold. Whoever is refused is told
// so at once: nothing waits.
package budget
