import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.SendCallback;
import org.apache.rocketmq.client.producer.SendResult;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageQueue;

import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Sends messages with the official client and prints one JSON object a message (a batch: one an item) in order of sending.
 * Usage: Sender NAME_SERVERS TOPIC MODE COUNT [BROKER/QUEUE]      exit: 0 all sent, 1 some failed, 2 wrong usage
 * MODE: sync, async, oneway, batch (all in one), queue (to BROKER/QUEUE).
 * Message i has body "MODE i", key "MODE-i", tag "even" or "odd", property "mode" and flag i.
 */
public class Sender {
    public static void main(String[] args) {
        if (args.length < 4 || !Arrays.asList("sync", "async", "oneway", "batch", "queue").contains(args[2])
            || args[2].equals("queue") != (args.length == 5)) {
            System.err.println("usage: Sender NAME_SERVERS TOPIC sync|async|oneway|batch|queue COUNT [BROKER/QUEUE]");
            System.exit(2);
        }
        try {
            int failed = send(args[0], args[1], args[2], Integer.parseInt(args[3]), args.length > 4 ? args[4] : null);
            System.err.println(failed + " failed");
            System.exit(failed == 0 ? 0 : 1);
        } catch (Throwable e) {
            System.err.println("Sender: " + e);
            System.exit(1);
        }
    }

    private static int send(String nameServers, String topic, String mode, int count, String queue) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("PG_sender");
        producer.setNamesrvAddr(nameServers);
        producer.start();
        List<Message> messages = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            Message m = new Message(topic, i % 2 == 0 ? "even" : "odd", mode + "-" + i,
                (mode + " " + i).getBytes(StandardCharsets.UTF_8));
            m.setFlag(i);
            m.putUserProperty("mode", mode);
            messages.add(m);
        }
        String[] lines = new String[count];
        switch (mode) {
            case "batch":
                batch(producer, messages, lines);
                break;
            case "async":
                async(producer, messages, lines);
                break;
            default:
                for (int i = 0; i < count; i++) {
                    lines[i] = one(producer, messages.get(i), mode, queue);
                }
        }
        producer.shutdown();
        PrintStream out = new PrintStream(System.out, false, "UTF-8");
        int failed = 0;
        for (String line : lines) {
            out.println(line);
            failed += line.startsWith("{\"error\"") ? 1 : 0;
        }
        out.flush();
        return failed;
    }

    private static String one(DefaultMQProducer producer, Message m, String mode, String queue) {
        try {
            if (mode.equals("oneway")) {
                producer.sendOneway(m);
                return "{\"status\":\"WRITTEN\"}";
            }
            if (queue == null) {
                return line(producer.send(m));
            }
            int slash = queue.lastIndexOf('/');
            return line(producer.send(m,
                new MessageQueue(m.getTopic(), queue.substring(0, slash), Integer.parseInt(queue.substring(slash + 1)))));
        } catch (Exception e) {
            return error(e);
        }
    }

    private static void batch(DefaultMQProducer producer, List<Message> messages, String[] lines) {
        try {
            SendResult result = producer.send(messages);
            String[] ids = result.getMsgId().split(",");
            String[] offsetIds = result.getOffsetMsgId().split(",");
            for (int i = 0; i < lines.length; i++) {
                lines[i] = line(result, ids[i], offsetIds[i], result.getQueueOffset() + i);
            }
        } catch (Exception e) {
            Arrays.fill(lines, error(e));
        }
    }

    private static void async(DefaultMQProducer producer, List<Message> messages, String[] lines) throws Exception {
        CountDownLatch left = new CountDownLatch(messages.size());
        for (int i = 0; i < messages.size(); i++) {
            final int at = i;
            producer.send(messages.get(i), new SendCallback() {
                @Override
                public void onSuccess(SendResult result) {
                    lines[at] = line(result);
                    left.countDown();
                }

                @Override
                public void onException(Throwable e) {
                    lines[at] = error(e);
                    left.countDown();
                }
            });
        }
        if (!left.await(60, TimeUnit.SECONDS)) {
            throw new IllegalStateException(left.getCount() + " sends did not end in 60 s");
        }
    }

    private static String line(SendResult r) {
        return line(r, r.getMsgId(), r.getOffsetMsgId(), r.getQueueOffset());
    }

    private static String line(SendResult r, String id, String offsetId, long offset) {
        return "{\"status\":\"" + r.getSendStatus() + "\",\"msg_id\":\"" + id + "\",\"offset_msg_id\":\"" + offsetId
            + "\",\"broker\":\"" + r.getMessageQueue().getBrokerName() + "\",\"queue\":" + r.getMessageQueue().getQueueId()
            + ",\"offset\":" + offset + "}";
    }

    private static String error(Throwable e) {
        return "{\"error\":\"" + String.valueOf(e).replaceAll("[\\\\\"\\p{Cntrl}]", " ") + "\"}";
    }
}
