// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package svg writes drawings: a canvas of a few elements, scales with readable
// ticks, and text that is cut before it is wider than its place.
//
// It is not a chart library and knows nothing of simulations. It gives no
// element a colour: elements have classes, the page's style sheet has colours,
// so that one drawing serves light, dark and paper.
//
// All lengths are in the canvas's units, which a page may scale. Functions are
// pure; a Canvas belongs to one goroutine.
package svg
