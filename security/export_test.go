// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package security

// The decoders behind the signatures, for the fuzz tests.
var (
	ParseCertificate = parseCertificate
	ParseRevocations = parseRevocations
)
