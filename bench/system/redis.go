// SPDX-FileCopyrightText: The Arke Authors
// SPDX-License-Identifier: Apache-2.0

package system

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// redisSystems is Redis pub/sub: each PUBLISH is a round trip, as a program
// that calls the client has it.
func redisSystems() []System {
	return []System{{
		Name: "redis", About: "one redis-server, plain TCP, nothing saved; each PUBLISH is a round trip",
		Credit: true, Topics: true,
		Version: programField("redis-server", "v=", "--version"), Missing: programMissing("redis-server"),
		Start: startRedis, Join: joinRedis,
	}}
}

func startRedis(site Site) ([]string, error) {
	program, err := site.Program("redis-server")
	if err != nil {
		return nil, err
	}
	address := site.FreePort()
	_, err = site.Launch("", nil, program, "--port", port(address), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "no", "--dir", site.Dir())
	if err != nil {
		return nil, err
	}
	return []string{address}, site.Await(address)
}

func joinRedis(setup Setup) (Seat, error) {
	c := redis.NewClient(&redis.Options{Addr: setup.server()})
	return &redisSeat{c: c}, c.Ping(context.Background()).Err()
}

type redisSeat struct {
	lacks
	c *redis.Client
}

func (s *redisSeat) Close() error { return s.c.Close() }

func (s *redisSeat) Publisher() (Publisher, error) { return redisPublisher{s.c}, nil }

type redisPublisher struct{ c *redis.Client }

func (p redisPublisher) Publish(body []byte) error {
	return p.c.Publish(context.Background(), topic, body).Err()
}

func (p redisPublisher) Flush() error { return nil }

func (s *redisSeat) Subscribe(each func(body []byte)) (Subscription, error) {
	ctx := context.Background()
	sub := s.c.Subscribe(ctx, topic)
	if _, err := sub.Receive(ctx); err != nil {
		return nil, err
	}
	go func() {
		for {
			m, err := sub.ReceiveMessage(ctx)
			if err != nil {
				return
			}
			each([]byte(m.Payload))
		}
	}()
	return silent{}, nil
}
