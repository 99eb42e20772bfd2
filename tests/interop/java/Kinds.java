import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.client.producer.selector.SelectMessageQueueByHash;
import org.apache.rocketmq.client.exception.RequestTimeoutException;
import org.apache.rocketmq.common.compression.CompressionType;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageAccessor;
import org.apache.rocketmq.common.message.MessageExt;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/**
 * Sends a message of each kind with the official client. The property "kind" says which it is.
 * Usage: Kinds NAME_SERVERS TOPIC      exit: 0 all sent, 1 failed, 2 wrong usage
 */
public class Kinds {
    private static String topic;

    public static void main(String[] args) {
        if (args.length != 2) {
            System.err.println("usage: Kinds NAME_SERVERS TOPIC");
            System.exit(2);
        }
        topic = args[1];
        try {
            singly(args[0]);
            compressed(args[0], CompressionType.ZLIB, "zlib");
            compressed(args[0], CompressionType.LZ4, "lz4");
            compressed(args[0], CompressionType.ZSTD, "zstd");
            batchedByItself(args[0]);
            transactions(args[0]);
            System.exit(0);
        } catch (Throwable e) {
            System.err.println("Kinds: " + e);
            System.exit(1);
        }
    }

    private static Message message(String kind, String body) {
        Message m = new Message(topic, body.getBytes(StandardCharsets.UTF_8));
        m.putUserProperty("kind", kind);
        return m;
    }

    private static DefaultMQProducer started(String nameServers, DefaultMQProducer producer) throws Exception {
        producer.setNamesrvAddr(nameServers);
        producer.setSendMsgTimeout(30000);
        producer.start();
        return producer;
    }

    private static void singly(String nameServers) throws Exception {
        DefaultMQProducer producer = started(nameServers, new DefaultMQProducer("PG_kinds"));
        producer.send(message("plain", "plain"));

        Message rich = message("rich", "rich \u00e9\u4e16\ud83d\ude00");
        rich.setTags("tag");
        List<String> keys = new ArrayList<>();
        keys.add("k1");
        keys.add("k2");
        rich.setKeys(keys);
        rich.putUserProperty("city", "\u5317\u4eac");
        rich.putUserProperty("marks", "\"quoted\" \\ and\ttab");
        rich.setFlag(7);
        rich.setWaitStoreMsgOK(false);
        producer.send(rich);

        for (int i = 0; i < 5; i++) {
            producer.send(message("ordered " + i, "ordered " + i), new SelectMessageQueueByHash(), "order-1");
        }
        Message level = message("level", "level");
        level.setDelayTimeLevel(1);
        producer.send(level);
        Message delay = message("delay", "delay");
        delay.setDelayTimeMs(2000);
        producer.send(delay);
        Message at = message("at", "at");
        at.setDeliverTimeMs(System.currentTimeMillis() + 3000);
        producer.send(at);
        Message urgent = message("priority", "priority");
        MessageAccessor.putProperty(urgent, "_SYS_MSG_PRIORITY_", "1");  // its setter came with 5.4
        producer.send(urgent);
        producer.sendOneway(message("one-way", "one-way"));

        List<Message> batch = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Message m = message("batch " + i, "batch " + i);
            m.setTags("tag");
            m.setKeys("batch-" + i);
            m.setFlag(i);
            batch.add(m);
        }
        producer.send(batch);
        try {
            producer.request(message("request", "request"), 1000);
        } catch (RequestTimeoutException nobodyAnswers) {
            // it is stored all the same
        }
        producer.shutdown();
    }

    private static void compressed(String nameServers, CompressionType by, String name) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("PG_kinds_" + name);
        producer.setCompressType(by);
        started(nameServers, producer);
        StringBuilder body = new StringBuilder();
        for (int i = 0; i < 500; i++) {
            body.append("line ").append(i).append(" of a body that shrinks\n");
        }
        producer.send(message(name, body.toString()));
        producer.shutdown();
    }

    private static void batchedByItself(String nameServers) throws Exception {
        DefaultMQProducer producer = new DefaultMQProducer("PG_kinds_auto");
        producer.setAutoBatch(true);
        started(nameServers, producer);
        for (int i = 0; i < 3; i++) {
            Message m = message("auto " + i, "auto " + i);
            m.setTags("tag");
            m.setKeys("auto-" + i);
            producer.send(m);
        }
        producer.shutdown();
    }

    private static void transactions(String nameServers) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("PG_kinds_tx");
        producer.setTransactionListener(new TransactionListener() {
            @Override
            public LocalTransactionState executeLocalTransaction(Message m, Object arg) {
                return (LocalTransactionState) arg;
            }

            @Override
            public LocalTransactionState checkLocalTransaction(MessageExt m) {
                return LocalTransactionState.UNKNOW;
            }
        });
        started(nameServers, producer);
        producer.sendMessageInTransaction(message("committed", "committed"), LocalTransactionState.COMMIT_MESSAGE);
        producer.sendMessageInTransaction(message("rolled back", "rolled back"), LocalTransactionState.ROLLBACK_MESSAGE);
        producer.shutdown();
    }
}
