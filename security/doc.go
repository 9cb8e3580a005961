// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Package security holds the keys of Arke and everything made from them: node
// identity, admission to a network, blinded cluster ids, proofs of membership
// and sealed bytes.
package security
