import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyContext;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.client.utils.MessageUtil;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Answers each request that comes to a topic with "java: " and its body, until one is called "stop".
 * Usage: Answerer NAME_SERVERS TOPIC      exit: 0 told to stop, 1 failed or never told, 2 wrong usage
 */
public class Answerer {
    public static void main(String[] args) throws Exception {
        if (args.length != 2) {
            System.err.println("usage: Answerer NAME_SERVERS TOPIC");
            System.exit(2);
        }
        DefaultMQProducer producer = new DefaultMQProducer("PG_answerer");
        producer.setNamesrvAddr(args[0]);
        producer.setSendMsgTimeout(30000);
        producer.start();
        CountDownLatch stop = new CountDownLatch(1);
        DefaultMQPushConsumer consumer = new DefaultMQPushConsumer("CG_answerer");
        consumer.setNamesrvAddr(args[0]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(args[1], "*");
        consumer.registerMessageListener(new MessageListenerConcurrently() {
            @Override
            public ConsumeConcurrentlyStatus consumeMessage(List<MessageExt> all, ConsumeConcurrentlyContext context) {
                for (MessageExt m : all) {
                    String body = new String(m.getBody(), StandardCharsets.UTF_8);
                    try {
                        Message reply = MessageUtil.createReplyMessage(m, ("java: " + body).getBytes(StandardCharsets.UTF_8));
                        reply.putUserProperty("answered-by", "java");
                        producer.send(reply);
                    } catch (Exception e) {
                        System.err.println("Answerer: " + e);
                    }
                    if (body.equals("stop")) {
                        stop.countDown();
                    }
                }
                return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
            }
        });
        consumer.start();
        boolean told = stop.await(150, TimeUnit.SECONDS);
        consumer.shutdown();
        producer.shutdown();
        System.exit(told ? 0 : 1);
    }
}
