// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package gateway

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"go.uber.org/zap"

	"github.com/arke-mesh/arke/cluster"
	"github.com/arke-mesh/arke/internal/name"
	"github.com/arke-mesh/arke/internal/node"
	"github.com/arke-mesh/arke/overlay"
	"github.com/arke-mesh/arke/security"
)

// Config says what a gateway is. Networks is required.
type Config struct {
	// Networks are those that the gateway has a node in, two or more.
	Networks []Network
	// Crossings and Topics are what crosses between them; none means nothing.
	Crossings []Crossing
	Topics    []TopicCrossing
	// Logger is where the gateway logs; nil = nowhere. Nodes log as their own
	// configuration says.
	Logger *zap.Logger
}

// Network is one network that a gateway belongs to.
type Network struct {
	// Name is what the other networks call it: letters, digits, dots, dashes and
	// underscores, at most 63 bytes. Required.
	Name string
	// Node is the gateway's node there.
	Node node.Config
}

// Crossing is one cluster of one network that is lent to another one.
type Crossing struct {
	// From and To are names of networks. Required.
	From, To string
	// Cluster is what it is called in From. Required. One that ends with * is a pattern:
	// it stands for all clusters whose names begin so, each of which is lent when
	// somebody in To asks for it, until it was not used for five minutes. Where several
	// patterns match, the longest decides, and a literal name before all.
	Cluster string
	// As is what it is called in To. Default: the same. That of a pattern ends with *,
	// which stands for the same as in Cluster.
	As string
	// Priority orders the networks that lend To the same cluster: the lowest number
	// first, 1 to 255. Default 100.
	Priority int
	// Transit says that it lends on what other gateways lend From, too. Default: a
	// message crosses one border.
	Transit bool
	// Reseal says that the gateway may open what crosses, and seals it again for the
	// other network. Either this or Finding is required.
	Reseal bool
	// Finding has the finding keys of a cluster with a key of its own: the members' own
	// sealed records are passed on, and so is what is sent to them, which this gateway can't
	// open. Nobody changes it. Other keys take the place of the old ones in a crossing that
	// is in force, with what is under way: both count for ten seconds.
	Finding *security.FindingFile
	// Limits bound what crosses; of a pattern, each of its clusters.
	Limits Limits
}

// defaultPriority leaves room on both sides.
const defaultPriority = 100

// maxPatterns is how many patterns may lend to a network: a record has room for those.
const maxPatterns = cluster.MaxPayload / (cluster.MaxName + 1)

// Limits bound what crosses by one crossing; zero means the default. What is beyond
// them is refused as overloaded, so that callers ask elsewhere, and counted.
type Limits struct {
	Messages int // each second; default: any number
	Bytes    int // of bodies and headers each second, in both directions; default: any number
	InFlight int // requests without an answer; default 4,096
	Tunnels  int // open at once; default 1,024
}

const (
	defaultInFlight = 4096
	defaultTunnels  = 1024
)

func (l Limits) withDefaults() Limits {
	l.InFlight, l.Tunnels = cmp.Or(l.InFlight, defaultInFlight), cmp.Or(l.Tunnels, defaultTunnels)
	return l
}

func (c Crossing) withDefaults() Crossing {
	if c.As == "" {
		c.As = c.Cluster
	}
	if c.Priority == 0 {
		c.Priority = defaultPriority
	}
	c.Limits = c.Limits.withDefaults()
	return c
}

// key is what a crossing is, whatever its limits and its finding keys.
func (c Crossing) key() Crossing {
	c = c.withDefaults()
	c.Limits, c.Finding = Limits{}, nil
	return c
}

// String names the crossing in logs and messages.
func (c Crossing) String() string {
	s := fmt.Sprintf("%s of %s to %s", c.Cluster, c.From, c.To)
	if c.As != "" && c.As != c.Cluster {
		s += " as " + c.As
	}
	return s
}

// outside are the clock and the executor of the nodes where package sim makes them, else
// the machine's clock and none.
func (c Config) outside() (overlay.Clock, overlay.Exec) {
	for _, n := range c.Networks {
		if n.Node.Seam != nil {
			return n.Node.Seam.Clock, n.Node.Seam.Exec
		}
	}
	return overlay.NewRealClock(), nil
}

func (c Config) withDefaults() Config {
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

// Check says everything that is wrong with the configuration, as New would.
func (c Config) Check() error {
	faults := []error{c.CheckNetworks()}
	for i := range c.Crossings {
		faults = append(faults, c.CheckCrossing(i))
	}
	for i := range c.Topics {
		faults = append(faults, c.CheckTopic(i))
	}
	return errors.Join(faults...)
}

// CheckNetworks says everything that is wrong with the networks.
func (c Config) CheckNetworks() error {
	var faults []error
	if len(c.Networks) < 2 {
		faults = append(faults, errors.New("gateway: it needs at least two networks"))
	}
	names, ids := map[string]bool{}, map[string]string{}
	for _, n := range c.Networks {
		if fault := name.NetworkFault(n.Name); fault != "" {
			faults = append(faults, fmt.Errorf("gateway: network %q: %s", n.Name, fault))
		}
		id := n.Node.Network.ID.String()
		if other, twice := ids[id]; twice {
			faults = append(faults, fmt.Errorf("gateway: %s and %s are the same network: its file is there twice", other, n.Name))
		}
		if names[n.Name] {
			faults = append(faults, fmt.Errorf("gateway: two networks are called %s", n.Name))
		}
		if err := n.Node.Check(); err != nil {
			faults = append(faults, fmt.Errorf("gateway: network %s: %w", n.Name, err))
		}
		names[n.Name], ids[id] = true, n.Name
	}
	return errors.Join(faults...)
}

// CheckCrossing says everything that is wrong with the ith crossing. Of two that callers
// could not tell apart the later one is wrong.
func (c Config) CheckCrossing(i int) error {
	x, patterns := c.Crossings[i].withDefaults(), 0
	err := x.check(c.wayFaults(x.From, x.To))
	if x.Finding != nil && c.holdsKey(x) {
		err = errors.Join(err, fmt.Errorf("gateway: %s: this gateway has the cluster's key, too: "+
			"take that away, or say reseal: true instead of finding-key-file", x))
	}
	for _, other := range c.Crossings[:i] {
		if name.IsPattern(other.Cluster) && other.To == x.To {
			patterns++
		}
		if other = other.withDefaults(); other.To == x.To && other.From == x.From && other.As == x.As {
			err = errors.Join(err, fmt.Errorf("gateway: %s: so is %s: callers could not tell them apart", x, other))
		}
	}
	if name.IsPattern(x.Cluster) && patterns >= maxPatterns {
		err = errors.Join(err, fmt.Errorf("gateway: %s: there are more than %d patterns that lend to %s", x, maxPatterns, x.To))
	}
	return err
}

// wayFaults are what is wrong with where a crossing leads.
func (c Config) wayFaults(from, to string) (faults []error) {
	for _, name := range []string{from, to} {
		if !slices.ContainsFunc(c.Networks, func(n Network) bool { return n.Name == name }) {
			faults = append(faults, fmt.Errorf("there is no network %q here", name))
		}
	}
	if from == to {
		faults = append(faults, errors.New("it leads from a network to itself"))
	}
	return faults
}

// holdsKey says whether one of the gateway's nodes that the crossing is about has the
// cluster's own key.
func (c Config) holdsKey(x Crossing) bool {
	return slices.ContainsFunc(c.Networks, func(n Network) bool {
		return (n.Name == x.From || n.Name == x.To) && n.Node.ClusterKeys[x.Cluster] != nil
	})
}

// errSealed says why a crossing without Reseal is refused, and what to do.
var errSealed = errors.New("may this gateway read it? If so, say reseal: true. " +
	"If not, the cluster needs a key of its own, and the gateway its finding key: " +
	"say finding-key-file, with what 'arke keygen --finding-key-of FILE' makes of the key file")

// checkFinding says what is wrong with Finding, whose crossing has defaults.
func (c Crossing) checkFinding() error {
	f := c.Finding
	switch {
	case f == nil && !c.Reseal:
		return errSealed
	case f == nil:
		return nil
	case c.Transit:
		return errors.New("it has a finding key and says transit: true: what a gateway can't read crosses one border")
	case c.Reseal:
		return errors.New("it has a finding key and says reseal: true: with the one the gateway can't read, with the other it must")
	case name.IsPattern(c.Cluster):
		return errors.New("it has a finding key and is a pattern: name the cluster that crosses sealed")
	case f.Name != c.Cluster:
		return fmt.Errorf("its finding key is that of the cluster %s", f.Name)
	case c.As != c.Cluster:
		return fmt.Errorf("it can't be called %s there: what is sealed for a cluster is sealed for its name", c.As)
	}
	return security.CheckKeys(f.Keys)
}

// check says everything that is wrong with a crossing by itself; way is what is wrong
// with where it leads.
func (c Crossing) check(way []error) error {
	var faults []error
	fault := func(err error) { faults = append(faults, fmt.Errorf("gateway: %s: %w", c, err)) }
	for _, err := range way {
		fault(err)
	}
	if err := c.checkNames(); err != nil {
		fault(err)
	}
	if name.IsPattern(c.Cluster) != name.IsPattern(c.As) {
		fault(fmt.Errorf("%s and %s: both end with *, or neither does", c.Cluster, c.As))
	}
	if c.Priority < 1 || c.Priority > cluster.MaxPriority {
		fault(fmt.Errorf("priority %d: 1 to %d are possible", c.Priority, cluster.MaxPriority))
	}
	if l := c.Limits; l.Messages < 0 || l.Bytes < 0 || l.InFlight < 0 || l.Tunnels < 0 {
		fault(errors.New("a limit is negative"))
	}
	if err := c.checkFinding(); err != nil {
		fault(err)
	}
	return errors.Join(faults...)
}

// checkNames says what is wrong with what the cluster is called on both sides.
func (c Crossing) checkNames() error {
	for _, n := range []string{c.Cluster, c.As} {
		if err := cluster.CheckName(n); err != nil {
			return err
		}
		if err := node.CheckName(n); err != nil {
			return err
		}
	}
	return nil
}

// Explain says what the crossing does, in one line.
func (c Crossing) Explain() string {
	c = c.withDefaults()
	what := c.String()
	if name.IsPattern(c.Cluster) {
		what = "each cluster " + what + " that somebody asks for"
	}
	if c.Transit {
		what += ", with what is lent to " + c.From
	}
	how := "opened and sealed again here"
	if c.Finding != nil {
		how = fmt.Sprintf("passed on sealed, up to %d members: this gateway can't open it", maxPassed)
	}
	return fmt.Sprintf("%s, priority %d; each second %s and %s; at once %d requests and %d tunnels; %s",
		what, c.Priority, anyNumber(c.Limits.Messages, "messages"), anyNumber(c.Limits.Bytes, "bytes"), c.Limits.InFlight, c.Limits.Tunnels, how)
}
