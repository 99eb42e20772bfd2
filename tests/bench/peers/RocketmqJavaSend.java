// Minimal sender for the Java client (DefaultMQProducer, the classic remoting client 5.x), for
// side-by-side runs with shunt. Usage:
//
//   java -cp CLASSES:JARS RocketmqJavaSend NAMESRV TOPIC sync|async|oneway|batch|first COUNT BODY_BYTES THREADS [INFLIGHT]
//
// Prints one CSV line; the columns are read in senders.py.
// BENCH_WARM=N sends N messages of the same mode before the clock, for the compiler's sake.
// Keep one-way runs under 65,535 messages: with more of them waiting, this client's I/O thread waits
// for permits that only itself can give back, three seconds a message.
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;

import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.client.producer.SendStatus;
import org.apache.rocketmq.common.message.Message;

public final class RocketmqJavaSend {
    private static final int BATCH = 32;

    private final DefaultMQProducer producer;
    private final String topic;
    private final String mode;
    private final byte[] body;
    private final int inflight;
    private int[] micros;
    private final LongAdder ok = new LongAdder();
    private final LongAdder failed = new LongAdder();

    private RocketmqJavaSend(DefaultMQProducer producer, String topic, String mode, byte[] body, int inflight) {
        this.producer = producer;
        this.topic = topic;
        this.mode = mode;
        this.body = body;
        this.inflight = inflight;
    }

    private Message message(int i) {
        return new Message(mode.equals("first") ? topic + "-" + i : topic, "bench", body);
    }

    private void finish(int i, long t0, boolean good) {
        micros[i] = (int) ((System.nanoTime() - t0) / 1000);
        (good ? ok : failed).increment();
    }

    private void share(int first, int last, Semaphore room) throws InterruptedException {
        for (int i = first; i < last; i++) {
            final int index = i;
            if (mode.equals("async")) {
                room.acquire();
                final long t0 = System.nanoTime();
                final AtomicBoolean once = new AtomicBoolean();
                try {
                    producer.send(message(i), new SendCallback() {
                        @Override
                        public void onSuccess(SendResult r) {
                            done(r.getSendStatus() == SendStatus.SEND_OK);
                        }

                        @Override
                        public void onException(Throwable e) {
                            done(false);
                        }

                        private void done(boolean good) {
                            if (once.compareAndSet(false, true)) {
                                finish(index, t0, good);
                                room.release();
                            }
                        }
                    });
                } catch (Exception e) {
                    if (once.compareAndSet(false, true)) {
                        finish(index, t0, false);
                        room.release();
                    }
                }
                continue;
            }
            if (mode.equals("batch")) {
                int n = Math.min(BATCH, last - i);
                List<Message> messages = new ArrayList<>(n);
                for (int k = 0; k < n; k++) {
                    messages.add(message(i + k));
                }
                long t0 = System.nanoTime();
                boolean good = false;
                try {
                    good = producer.send(messages).getSendStatus() == SendStatus.SEND_OK;
                } catch (Exception e) {
                    // counted below
                }
                for (int k = 0; k < n; k++) {
                    finish(i + k, t0, good);
                }
                i += n - 1;
                continue;
            }
            Message m = message(i);
            long t0 = System.nanoTime();
            boolean good = false;
            try {
                if (mode.equals("oneway")) {
                    producer.sendOneway(m);
                    good = true;
                } else {
                    good = producer.send(m).getSendStatus() == SendStatus.SEND_OK;
                }
            } catch (Exception e) {
                // counted below
            }
            finish(i, t0, good);
        }
    }

    private void run(int count, int threads) throws Exception {
        micros = new int[count];
        ok.reset();
        failed.reset();
        Semaphore room = new Semaphore(inflight);
        Thread[] pool = new Thread[threads];
        for (int t = 0; t < threads; t++) {
            final int first = (int) ((long) count * t / threads);
            final int last = (int) ((long) count * (t + 1) / threads);
            pool[t] = new Thread(() -> {
                try {
                    share(first, last, room);
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            });
            pool[t].start();
        }
        for (Thread t : pool) {
            t.join();
        }
        room.acquire(inflight);
    }

    // user and system ticks (10 ms each) and context switches of this process so far
    private static long[] usage() throws IOException {
        String stat = Files.readString(Path.of("/proc/self/stat"));
        String[] f = stat.substring(stat.lastIndexOf(')') + 2).split(" ");
        return new long[] {Long.parseLong(f[11]), Long.parseLong(f[12]), status("ctxt_switches", true)};
    }

    private static long status(String key, boolean everyTask) throws IOException {
        long sum = 0;
        List<Path> files = new ArrayList<>();
        if (everyTask) {
            try (var tasks = Files.list(Path.of("/proc/self/task"))) {
                tasks.forEach(p -> files.add(p.resolve("status")));
            }
        } else {
            files.add(Path.of("/proc/self/status"));
        }
        for (Path p : files) {
            try {
                for (String line : Files.readAllLines(p)) {
                    if (line.contains(key)) {
                        sum += Long.parseLong(line.replaceAll("[^0-9]", ""));
                    }
                }
            } catch (IOException e) {
                // the task ended meanwhile
            }
        }
        return sum;
    }

    public static void main(String[] a) throws Exception {
        if (a.length < 6) {
            System.err.println("usage: RocketmqJavaSend NAMESRV TOPIC sync|async|oneway|batch|first COUNT BYTES THREADS [INFLIGHT]");
            System.exit(2);
        }
        String mode = a[2];
        int count = Integer.parseInt(a[3]);
        int size = Integer.parseInt(a[4]);
        int threads = Integer.parseInt(a[5]);
        int inflight = a.length > 6 ? Integer.parseInt(a[6]) : 1024;
        byte[] body = new byte[size];
        Arrays.fill(body, (byte) 'x');

        DefaultMQProducer producer = new DefaultMQProducer("shunt_peer_bench");
        producer.setNamesrvAddr(a[0]);
        producer.setSendMsgTimeout(3000);
        producer.setCompressMsgBodyOverHowmuch(1 << 30); // compare senders, not zlib
        if (System.getenv("BENCH_LATENCY_FAULT") != null) {
            producer.setSendLatencyFaultEnable(true);
        }
        producer.start();
        for (int tries = 0; tries < 20; tries++) { // route look-up and connect, outside the clock
            try {
                producer.send(new Message(a[1], "warm", body));
                break;
            } catch (Exception e) {
                // a broker that is at fault on purpose: the next one
            }
        }
        if (System.getenv("BENCH_READY") != null) {
            System.err.println("ready");
        }
        if (System.getenv("BENCH_IDLE") != null) {
            Thread.sleep(1000L * Integer.parseInt(System.getenv("BENCH_IDLE")));
        }

        RocketmqJavaSend sender = new RocketmqJavaSend(producer, a[1], mode, body, inflight);
        if (System.getenv("BENCH_WARM") != null) {
            sender.run(Integer.parseInt(System.getenv("BENCH_WARM")), threads);
            Thread.sleep(1000);
        }
        long[] u0 = usage();
        long t0 = System.nanoTime();
        sender.run(count, threads);
        double seconds = (System.nanoTime() - t0) / 1e9;
        if (mode.equals("oneway")) {
            Thread.sleep(1000); // what is still queued inside counts as CPU time too
        }
        long[] u1 = usage();
        long rss = status("VmHWM", false);
        long tasks = status("Threads", false);
        producer.shutdown();

        int[] m = sender.micros;
        if (System.getenv("BENCH_DUMP") != null) { // the latencies in the order of sending
            List<String> lines = new ArrayList<>();
            for (int us : m) {
                lines.add(Integer.toString(us));
            }
            Files.write(Path.of(System.getenv("BENCH_DUMP")), lines);
        }
        Arrays.sort(m);
        double n = Math.max(1, count);
        double[] q = {0.5, 0.95, 0.99, 0.999, 1.0};
        StringBuilder p = new StringBuilder();
        for (double v : q) {
            p.append(',').append(m.length == 0 ? 0 : m[(int) (v * (m.length - 1))]);
        }
        System.out.println(String.format(Locale.ROOT, "client-java,%s,%d,%d,%d,%d,%d,%.3f,%.0f%s,%.3f,%.3f,%.4f,%d,%d", mode, size,
            threads, inflight, sender.ok.sum(), sender.failed.sum(), seconds, sender.ok.sum() / seconds, p,
            (u1[0] - u0[0]) * 1e4 / n, (u1[1] - u0[1]) * 1e4 / n, (u1[2] - u0[2]) / n, rss, tasks));
        System.exit(sender.failed.sum() == 0 ? 0 : 1);
    }
}
