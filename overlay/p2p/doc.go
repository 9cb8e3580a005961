// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package p2p puts libp2p behind the overlay's seam: Host is an
// overlay.Transport, Host.Router an overlay.Router.
package p2p
