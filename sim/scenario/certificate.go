// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package scenario

import (
	"slices"
	"time"
)

// The certificates that nodes may have. Who may do nothing, and whose certificate is
// revoked or ends, obeys none: it tries what it likes.
const (
	CertificateAll     = "all"     // it lets the node do everything
	CertificateNothing = "nothing" // it lets the node have links, and do nothing: it is judged as a stranger
)

// Certificates returns them in the order of the documentation.
func Certificates() []string { return []string{CertificateAll, CertificateNothing} }

// defaultRevocation is the time after which every node knows of a revocation.
const defaultRevocation = Duration(5 * time.Second)

// badRevocation says why there is nothing to revoke, or "".
func badRevocation(nodes []Nodes) string {
	if !issued(nodes) {
		return "no node has a certificate: give groups one"
	}
	return ""
}

// issued says whether nodes have certificates.
func issued(nodes []Nodes) bool {
	return slices.ContainsFunc(nodes, func(g Nodes) bool { return g.Certificate != "" })
}

// badCertificate says in which field, and why, what a group says about its certificate
// can't be; "" = it can.
func badCertificate(g Nodes, nodes []Nodes) (field, why string) {
	switch {
	case g.Attach != "" && (g.Certificate != "" || g.Ends != 0):
		return "", "a client has the certificate of its relay: leave certificate and ends out"
	case g.Certificate != "" && !slices.Contains(Certificates(), g.Certificate):
		return ".certificate", unknown("certificate", g.Certificate, Certificates())
	case g.Certificate == "" && g.Ends != 0:
		return ".ends", "there is no certificate that could end"
	case g.Ends < 0:
		return ".ends", g.Ends.String() + " is negative"
	case g.Certificate == "" && g.Attach == "" && issued(nodes):
		return "", "other nodes have certificates: give it one, all or nothing"
	}
	return "", ""
}
