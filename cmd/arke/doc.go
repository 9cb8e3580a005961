// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

// Command arke is the relay, and the tools that talk to it.
//
//	arke relay --dev                             # a network of one, to try things out
//	arke serve geo --exec 'tr a-z A-Z'           # in another terminal
//	arke request geo 'where is it?'              # and in a third
//
// Every command has --help with an example and its exit statuses, and a manual
// page: arke man COMMAND prints one, arke man --out DIR writes all of them. arke
// completion prints a script for bash, zsh, fish or powershell that completes
// commands, flags and the names of clusters.
//
// # A network
//
// One file admits nodes to a network. Whoever holds it can join, so treat it as
// a secret:
//
//	arke keygen --network prod --out prod.arke
//	arke relay --key-file prod.arke                                  # on the first machine
//	arke relay --key-file prod.arke --seed first.example:7400        # on the others
//
// Relays on one LAN find each other by mDNS and need no seed. With --data-dir a
// relay keeps its identity and remembers its peers over restarts.
//
// # Configuration
//
// Each flag of arke relay is also a key of the YAML file that --config names, and a
// variable of the environment:
//
//	# /etc/arke/relay.yaml
//	key-file: /etc/arke/prod.arke
//	seed: [relay-1.example:7400, relay-2.example:7400]
//	log-level: info                     # or ARKE_LOG_LEVEL=info
//
// A flag stands above the environment, the environment above the file, and the file
// above the default. Unknown keys are errors. arke config check tells all that is
// wrong, and arke config show where each value comes from. SIGHUP makes the relay
// read the file again; it says what changed, and what changes at the next start.
//
// Commands that attach read ARKE_SOCKET, ARKE_ADDRESS, ARKE_TOKEN_FILE,
// ARKE_TRUST_USER, ARKE_WAIT_RELAY, ARKE_LOG_LEVEL, ARKE_LOG_FORMAT and
// ARKE_DRAIN_TIMEOUT, where they have the flag. With --wait-relay a program may start before its relay.
//
// # Watching
//
// A relay with --admin ADDR serves /metrics for Prometheus, /healthz, /readyz,
// /status.json, /log-level and /debug/pprof at that address:
//
//	arke relay --key-file prod.arke --admin :9740      # 127.0.0.1:9740
//	curl -s localhost:9740/readyz                      # why it is not ready, if so
//	curl -s -X PUT localhost:9740/log-level -d level=debug
//	arke status --explain arke_dropped_total           # what a number means
//
// Ready means that the relay has joined and settled, or that it was given no other seeds
// than itself and need not join anybody. Off loopback --admin-token-file is required. The folder
// deploy has a configuration for Prometheus, alert rules, and a dashboard for
// Grafana; docs/metrics.md says what each number means, and docs/faults.md how ten
// faults look.
//
// # One relay for the machine
//
// A relay takes programs of its own user and of root. With --allow-user, --allow-group
// and --socket-group others may attach, too; programs find it at /run/arke/relay.sock if
// it is root's or one of theirs who are trusted (--trust-user, ARKE_TRUST_USER). A policy
// says which of them may serve, call, publish and subscribe what: see arke policy --help.
//
//	arke relay --key-file prod.arke --socket /run/arke/relay.sock --allow-group staff --policy /etc/arke/policy
//
// # Messages
//
// The message is an argument, a file (@FILE, or --file FILE), or standard input (-).
// Text that begins with @ is written @@. A negative number is a message, not a
// flag. Without a message a pipe on standard input is read, so nothing on it is
// lost without a word.
//
//	arke request resize @photo.jpg --header width=640 >small.jpg
//	tail -f access.log | arke publish web.access -      # each line is a message
//
// On a terminal arke subscribe prints "topic: body" and arke survey prints
// "member: body"; in a pipe both print bodies only. Choose with --raw and
// --raw=false. Text of other programs never commands the terminal: control
// characters are escaped there.
//
// # Members
//
// arke serve makes a member. It answers with --echo, or runs a shell command for
// each request (--exec) or each tunnel (--tunnel-exec). The members of a cluster
// share its requests by load. arke subscribe --queue GROUP shares the messages of a
// topic among a group.
//
// # TCP services
//
// Software that knows nothing of Arke is reached by name, too. Beside the
// service, and where it is needed:
//
//	arke expose db --to tcp://127.0.0.1:5432            # PostgreSQL becomes a member of cluster "db"
//	arke forward --listen 127.0.0.1:5433 db             # on another machine: a local port leads to it
//	psql --host 127.0.0.1 --port 5433                   # there
//
// Each connection gets a tunnel of its own to one member, chosen by load. A slow
// reader slows the writer down, all the way. The end of one direction and a reset
// arrive as what they are. When a member's node is lost, its connections are reset
// at once, and new ones go to the others. A service that does not listen is no
// member until it does. The first connection that finds it gone is reset.
//
// Whoever reaches the forwarded port uses the cluster without a key, so the port is
// on loopback unless you say otherwise.
//
// The tests run PostgreSQL with psql and pgbench this way. make pgbench compares
// that with a direct connection. With database, pgbench and four Arke processes on
// two cores it reaches 0.27 to 0.30 of the direct transactions per second
// (TPC-B-like, scale 10, 8 clients), and 0.22 to 0.24 of the reads.
//
// # What happens when ...
//
// arke sim runs whole networks of real nodes in virtual time and injects failures.
// The same seed gives the same run, event by event:
//
//	arke sim list                                   # the experiments that come with the program
//	arke sim explain member-crash                   # one of them in words
//	arke sim run member-crash                       # 25 s of twelve nodes in a second or two
//	arke sim run partition-heal --seeds 1..20 --out results
//	arke sim run silent-death --level stack         # on real libp2p, in virtual time
//	sudo arke sim run silent-death --level net      # with real relays in network namespaces
//	arke sim run mine.yaml                          # your own: arke sim format explains the file
//
// A run that fails leaves a file. arke sim replay repeats it, and arke sim shrink
// makes it smaller. arke bench measures a cluster or a topic at a rate that does not
// adapt, so a stall is seen in full.
//
// # Scripts
//
// Commands with --json print one object per line, failures and wrong usage too
// ("outcome", "error"). The exit status says what happened; arke request --help has
// the list. arke survey and arke broadcast end with 0 if nobody is missing, else with
// the status of the first missing member; a survey that every member refuses ends with
// 2. arke tunnel ends with 2 if the member reset the tunnel, and with 7 if its node was
// lost. arke publish says when no node acknowledges, and fails then with --need 1.
package main
