// Minimal sender for rocketmq-client-go v2, for side-by-side runs. Usage:
//
//	rocketmq_go_send NAMESRV TOPIC sync|async|oneway|batch|first COUNT BODY_BYTES THREADS [INFLIGHT]
//
// Prints one CSV line; the columns are read in senders.py.
package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

func number(i, fallback int) int {
	if i >= len(os.Args) {
		return fallback
	}
	n, err := strconv.Atoi(os.Args[i])
	if err != nil || n < 0 {
		fmt.Fprintln(os.Stderr, "not a number:", os.Args[i])
		os.Exit(2)
	}
	return n
}

const batch = 32

func usage() (r syscall.Rusage) {
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	return
}

// A number of /proc/self/status.
func status(key string) int {
	b, _ := os.ReadFile("/proc/self/status")
	for _, line := range strings.Split(string(b), "\n") {
		if strings.HasPrefix(line, key+":") {
			n, _ := strconv.Atoi(strings.TrimSpace(strings.TrimSuffix(line[len(key)+1:], "kB")))
			return n
		}
	}
	return 0
}

func main() {
	if len(os.Args) < 7 {
		fmt.Fprintln(os.Stderr, "usage: rocketmq_go_send NAMESRV TOPIC sync|async|oneway|batch|first COUNT BYTES THREADS [INFLIGHT]")
		os.Exit(2)
	}
	topic, mode := os.Args[2], os.Args[3]
	count, size, threads, inflight := number(4, 0), number(5, 0), number(6, 1), number(7, 1024)

	rlog.SetLogLevel("error")
	p, err := producer.NewDefaultProducer(
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{os.Args[1]})),
		producer.WithGroupName("shunt_peer_bench"),
		producer.WithRetry(2),
		producer.WithSendMsgTimeout(3*time.Second),
		producer.WithCompressMsgBodyOverHowmuch(1<<30), // compare senders, not zlib
	)
	if err == nil {
		err = p.Start()
	}
	body := bytes.Repeat([]byte("x"), size)
	if err == nil { // one message outside the clock: route look-up and connect
		for tries := 0; tries < 20; tries++ { // a broker may be at fault on purpose
			if _, err = p.SendSync(context.Background(), primitive.NewMessage(topic, body)); err == nil {
				break
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}

	if os.Getenv("BENCH_READY") != "" {
		fmt.Fprintln(os.Stderr, "ready")
	}
	if s, err := strconv.Atoi(os.Getenv("BENCH_IDLE")); err == nil {
		time.Sleep(time.Duration(s) * time.Second)
	}

	micros := make([]int64, count)
	var ok, failed int64
	finish := func(i int, t0 time.Time, err error) {
		micros[i] = time.Since(t0).Microseconds()
		if err == nil {
			atomic.AddInt64(&ok, 1)
		} else {
			atomic.AddInt64(&failed, 1)
		}
	}
	room := make(chan struct{}, inflight)
	var senders, pending sync.WaitGroup
	u0 := usage()
	start := time.Now()
	for t := 0; t < threads; t++ {
		senders.Add(1)
		go func(first, last int) {
			defer senders.Done()
			for i := first; i < last; i++ {
				i, ctx, msg, t0 := i, context.Background(), primitive.NewMessage(topic, body), time.Now()
				switch mode {
				case "batch":
					if (i-first)%batch != 0 {
						continue // it went with the first of its batch
					}
					var msgs []*primitive.Message
					for k := i; k < last && k < i+batch; k++ {
						msgs = append(msgs, primitive.NewMessage(topic, body))
					}
					t0 = time.Now()
					_, err := p.SendSync(ctx, msgs...)
					for k := range msgs {
						finish(i+k, t0, err)
					}
				case "first":
					msg.Topic = topic + "-" + strconv.Itoa(i)
					_, err := p.SendSync(ctx, msg)
					finish(i, t0, err)
				case "sync":
					_, err := p.SendSync(ctx, msg)
					finish(i, t0, err)
				case "oneway":
					finish(i, t0, p.SendOneWay(ctx, msg))
				default:
					room <- struct{}{}
					pending.Add(1)
					t0 = time.Now()
					var once sync.Once // an error return and a callback must count once
					done := func(err error) {
						once.Do(func() { finish(i, t0, err); <-room; pending.Done() })
					}
					if err := p.SendAsync(ctx, func(_ context.Context, _ *primitive.SendResult, e error) {
						done(e)
					}, msg); err != nil {
						done(err)
					}
				}
			}
		}(count*t/threads, count*(t+1)/threads)
	}
	senders.Wait()
	pending.Wait()
	seconds := time.Since(start).Seconds()
	if mode == "oneway" {
		time.Sleep(time.Second) // what is still queued inside counts as CPU time too
	}
	u1, threadsNow, rss := usage(), status("Threads"), status("VmHWM")
	_ = p.Shutdown()

	if name := os.Getenv("BENCH_DUMP"); name != "" { // the latencies in the order of sending
		var b strings.Builder
		for _, us := range micros {
			fmt.Fprintln(&b, us)
		}
		_ = os.WriteFile(name, []byte(b.String()), 0o644)
	}
	sort.Slice(micros, func(a, b int) bool { return micros[a] < micros[b] })
	at := func(q float64) int64 {
		if count == 0 {
			return 0
		}
		return micros[int(q*float64(count-1))]
	}
	n := math.Max(1, float64(count))
	fmt.Printf("client-go,%s,%d,%d,%d,%d,%d,%.3f,%.0f,%d,%d,%d,%d,%d,%.3f,%.3f,%.4f,%d,%d\n", mode, size, threads, inflight,
		ok, failed, seconds, float64(ok)/seconds, at(0.5), at(0.95), at(0.99), at(0.999), at(1),
		float64(u1.Utime.Nano()-u0.Utime.Nano())/1e3/n, float64(u1.Stime.Nano()-u0.Stime.Nano())/1e3/n,
		float64(u1.Nvcsw+u1.Nivcsw-u0.Nvcsw-u0.Nivcsw)/n, rss, threadsNow)
	if failed != 0 {
		os.Exit(1)
	}
}
