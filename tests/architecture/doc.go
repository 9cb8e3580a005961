// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package architecture, an inner part of Arke that makes no promise to users,
// holds no product code. Its tests keep the shape of the source tree: who may
// import whom, which packages may touch the wall clock and randomness, what is
// never linked, and the size of files.
package architecture
