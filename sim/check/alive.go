// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package check

// alive says whether a view that shows a member in this state takes it to be
// alive. This is the one definition of a right view: it takes every live member
// to be alive, and no dead one.
//
// Live and ejected do. An ejected member answered slowly or with errors, which
// is a judgement about its work and not about its life: it keeps the keys of
// sticky callers, is asked when nobody better is left, and comes back by
// itself. Suspect and unreachable do not. They say that the member may be dead:
// of a live member that is a mistake, of a dead one it is the truth.
func alive(state string) bool { return state == "live" || state == "ejected" }
