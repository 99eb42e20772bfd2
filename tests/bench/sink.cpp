// A loopback stand-in for a RocketMQ name server and its broker(s), for side-by-side client
// runs: it answers route look-ups, heartbeats and sends, stores nothing, and costs as little as
// one thread can (one epoll, one read for many frames, one write for their answers, no JSON
// parser: three fields are found where they were in the frame before), so that the client is
// what is measured. Faults are per broker and for the whole run. Not a test kit.
//
//   sink PORT BROKERS QUEUES_EACH [DELAY_US] [FAULT...]
//
// The name server listens on 127.0.0.1:PORT, broker k on 127.0.0.1:PORT+1+k. DELAY_US: every
// answer of a broker leaves that long after its request came in; requests do not wait for one
// another. FAULT is K=KIND for broker K:
//   hang    accepts, reads, answers nothing      stall  accepts, never reads
//   refuse  does not listen                      busy   answers code 2 (SYSTEM_BUSY) to sends
//   close   closes the connection on a send      slow:US  a delay of its own
// SIGUSR1 prints the counts so far, SIGTERM/SIGINT prints them and ends.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace {

enum class Fault { none, hang, stall, refuse, busy, close };

struct Broker {
  Fault fault = Fault::none;
  long delay_ns = 0;
  long sends = 0;
};

int g_port, g_queues;
std::vector<Broker> g_brokers;
long g_sends, g_bytes, g_connections, g_reads, g_writes, g_frames, g_waits, g_routes;
std::map<int, long> g_codes;

long now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1'000'000'000L + t.tv_nsec;
}

// Finds a field of a flat header by name. Headers of one client look alike, so the place is
// tried first where it was last time, counted from the front and from the back.
struct Finder {
  std::string_view key;
  std::size_t front = 0, back = 0;

  const char* find(std::string_view h) {
    const auto is = [&](std::size_t at) {
      return at + key.size() < h.size() && std::memcmp(h.data() + at, key.data(), key.size()) == 0;
    };
    if (is(front)) return h.data() + front + key.size();
    if (back <= h.size() && is(h.size() - back)) return h.data() + h.size() - back + key.size();
    const void* p = ::memmem(h.data(), h.size(), key.data(), key.size());
    if (!p) return nullptr;
    front = static_cast<std::size_t>(static_cast<const char*>(p) - h.data());
    back = h.size() - front;
    return h.data() + front + key.size();
  }
  long number(std::string_view h, long fallback) {
    const char* p = find(h);
    if (!p) return fallback;
    while (*p == ' ' || *p == '"') ++p;
    long v = fallback;
    std::from_chars(p, h.data() + h.size(), v);
    return v;
  }
};

struct Connection {
  int fd = -1;
  int broker = -1;  // -1: the name server
  std::vector<char> in = std::vector<char>(1 << 20);
  std::size_t begin = 0, end = 0;
  std::string out;
  std::size_t sent = 0;
  bool want_write = false;
  // With a delay: (when, how far `out` may be sent then), `base` being the stream offset of out[0].
  std::deque<std::pair<long, std::size_t>> due;
  std::size_t base = 0, allowed = 0;
  Finder code{"\"code\":"}, opaque{"\"opaque\":"}, flag{"\"flag\":"};
};

std::map<int, std::unique_ptr<Connection>> g_conn;
int g_epoll = -1, g_timer = -1;
long g_timer_at = 0;

std::string route() {
  std::string brokers, queues;
  for (std::size_t k = 0; k < g_brokers.size(); ++k) {
    const std::string name = "broker-" + std::to_string(k);
    const char* comma = k ? "," : "";
    brokers += comma + std::string("{\"brokerAddrs\":{\"0\":\"127.0.0.1:") +
               std::to_string(g_port + 1 + static_cast<int>(k)) + "\"},\"brokerName\":\"" + name +
               "\",\"cluster\":\"sink\"}";
    queues += comma + std::string("{\"brokerName\":\"") + name + "\",\"perm\":6,\"readQueueNums\":" +
              std::to_string(g_queues) + ",\"topicSysFlag\":0,\"writeQueueNums\":" +
              std::to_string(g_queues) + "}";
  }
  return "{\"brokerDatas\":[" + brokers + "],\"filterServerTable\":{},\"queueDatas\":[" + queues + "]}";
}

void put32(std::string& out, std::uint32_t v) {
  v = htonl(v);
  out.append(reinterpret_cast<const char*>(&v), 4);
}

// `head` is the header up to the number of the request, `tail` what follows it.
void answer(std::string& out, long opaque, std::string_view head, std::string_view tail,
            std::string_view body = {}) {
  char digits[24];
  const auto n = static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, opaque).ptr - digits);
  const std::size_t header = head.size() + n + tail.size();
  put32(out, static_cast<std::uint32_t>(4 + header + body.size()));
  put32(out, static_cast<std::uint32_t>(header));
  out.append(head).append(digits, n).append(tail).append(body);
}

constexpr std::string_view kTail = ",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":475}";
constexpr std::string_view kSent =  // the fields a 5.x broker puts in, in its order
    "{\"code\":0,\"extFields\":{\"queueId\":\"0\",\"TRACE_ON\":\"true\",\"MSG_REGION\":\"DefaultRegion\","
    "\"msgId\":\"7F00000100002A9F0000000000000000\",\"queueOffset\":\"1\"},\"flag\":1,"
    "\"language\":\"JAVA\",\"opaque\":";
constexpr std::string_view kPlain = "{\"code\":0,\"extFields\":{},\"flag\":1,\"language\":\"JAVA\",\"opaque\":";
constexpr std::string_view kBusy =
    "{\"code\":2,\"flag\":1,\"language\":\"JAVA\",\"remark\":\"[REJECTREQUEST]system busy, start flow "
    "control for a while\",\"opaque\":";

void watch(Connection& c, bool write) {
  if (c.want_write == write) return;
  c.want_write = write;
  epoll_event e{};
  e.events = EPOLLIN | (write ? EPOLLOUT : 0u);
  e.data.fd = c.fd;
  epoll_ctl(g_epoll, EPOLL_CTL_MOD, c.fd, &e);
}

bool flush(Connection& c) {
  const bool delayed = c.broker >= 0 && g_brokers[static_cast<std::size_t>(c.broker)].delay_ns > 0;
  const std::size_t limit = delayed ? c.allowed - c.base : c.out.size();
  while (c.sent < limit) {
    const auto n = ::send(c.fd, c.out.data() + c.sent, limit - c.sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    ++g_writes;
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
      watch(c, true);
      return true;
    }
    if (n <= 0) return false;
    c.sent += static_cast<std::size_t>(n);
  }
  if (c.sent == c.out.size() || c.sent > (1u << 20)) {
    c.out.erase(0, c.sent);
    c.base += c.sent;
    c.sent = 0;
  }
  watch(c, false);
  return true;
}

void arm(long at) {
  if (g_timer_at && g_timer_at <= at) return;
  g_timer_at = at;
  itimerspec t{};
  t.it_value.tv_sec = at / 1'000'000'000L;
  t.it_value.tv_nsec = at % 1'000'000'000L;
  timerfd_settime(g_timer, TFD_TIMER_ABSTIME, &t, nullptr);
}

// Takes the whole frames in c.in; false closes the connection.
bool take(Connection& c) {
  Broker* b = c.broker < 0 ? nullptr : &g_brokers[static_cast<std::size_t>(c.broker)];
  while (c.end - c.begin >= 8) {
    const char* p = c.in.data() + c.begin;
    std::uint32_t total, header_len;
    std::memcpy(&total, p, 4);
    std::memcpy(&header_len, p + 4, 4);
    total = ntohl(total);
    header_len = ntohl(header_len);
    const bool binary = header_len >> 24;  // the top byte names the serialisation; 0 is JSON
    header_len &= 0xFFFFFF;
    if (total > 64u << 20 || header_len + 4 > total) return false;
    if (c.end - c.begin < 4 + total) {
      if (4 + total > c.in.size()) c.in.resize(4 + total);
      break;
    }
    const std::string_view h(p + 8, header_len);
    long code = -1, opaque = 0, flag = 0;
    if (binary && h.size() >= 13) {
      std::uint16_t code16;
      std::uint32_t o, f;
      std::memcpy(&code16, h.data(), 2);
      std::memcpy(&o, h.data() + 5, 4);
      std::memcpy(&f, h.data() + 9, 4);
      code = ntohs(code16), opaque = ntohl(o), flag = ntohl(f);
    } else {
      code = c.code.number(h, -1);
      opaque = c.opaque.number(h, 0);
      flag = c.flag.number(h, 0);
    }
    const bool answers = (flag & 2) == 0;
    ++g_frames;
    if (code == 310 || code == 320 || code == 10) {
      ++g_sends;
      g_bytes += static_cast<long>(total - 4 - header_len);
      if (b) ++b->sends;
      if (b && b->fault == Fault::close) return false;
      if (answers && b && b->fault == Fault::busy)
        answer(c.out, opaque, kBusy, kTail);
      else if (answers && (!b || b->fault != Fault::hang))
        answer(c.out, opaque, kSent, kTail);
    } else {
      ++g_codes[static_cast<int>(code)];
      if (code == 105) {  // route of a topic
        static const std::string body = route();
        ++g_routes;
        answer(c.out, opaque, kPlain, kTail, body);
      } else if (answers && (!b || b->fault != Fault::hang)) {
        answer(c.out, opaque, kPlain, kTail);
      }
    }
    c.begin += 4 + total;
  }
  if (c.begin == c.end) {
    c.begin = c.end = 0;
  } else if (c.in.size() - c.end < c.in.size() / 2) {
    std::memmove(c.in.data(), c.in.data() + c.begin, c.end - c.begin);
    c.end -= c.begin;
    c.begin = 0;
  }
  return true;
}

void drop(int fd) {
  ::close(fd);
  g_conn.erase(fd);
}

void readable(Connection& c) {
  const auto n = ::recv(c.fd, c.in.data() + c.end, c.in.size() - c.end, MSG_DONTWAIT);
  ++g_reads;
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return drop(c.fd);
  c.end += static_cast<std::size_t>(n);
  const auto before = c.base + c.out.size();
  if (!take(c)) return drop(c.fd);
  const long delay = c.broker < 0 ? 0 : g_brokers[static_cast<std::size_t>(c.broker)].delay_ns;
  const auto after = c.base + c.out.size();
  if (after == before) return;
  if (delay > 0) {
    const long at = now_ns() + delay;
    c.due.emplace_back(at, after);
    arm(at);
  } else if (!flush(c)) {
    drop(c.fd);
  }
}

void timer() {
  std::uint64_t ticks;
  if (::read(g_timer, &ticks, sizeof ticks) < 0) return;
  g_timer_at = 0;
  const long now = now_ns();
  long next = 0;
  std::vector<int> gone;
  for (auto& [fd, c] : g_conn) {
    bool some = false;
    for (; !c->due.empty() && c->due.front().first <= now; c->due.pop_front()) {
      c->allowed = c->due.front().second;
      some = true;
    }
    if (!c->due.empty() && (next == 0 || c->due.front().first < next)) next = c->due.front().first;
    if (some && !flush(*c)) gone.push_back(fd);
  }
  for (int fd : gone) drop(fd);
  if (next) arm(next);
}

int listen_on(int port) {
  const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
  const int on = 1;
  ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  a.sin_port = htons(static_cast<std::uint16_t>(port));
  if (::bind(s, reinterpret_cast<sockaddr*>(&a), sizeof a) != 0 || ::listen(s, 1024) != 0) {
    std::perror("sink_broker: listen");
    std::_Exit(1);
  }
  return s;
}

void print() {
  rusage r{};
  getrusage(RUSAGE_SELF, &r);
  const auto us = [](timeval t) { return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec); };
  std::printf("sends=%ld body_bytes=%ld connections=%ld routes=%ld frames_a_read=%.1f writes=%ld "
              "user_us_a_frame=%.3f sys_us_a_frame=%.3f",
              g_sends, g_bytes, g_connections, g_routes, g_reads ? double(g_frames) / double(g_reads) : 0.0,
              g_writes, g_frames ? us(r.ru_utime) / double(g_frames) : 0.0,
              g_frames ? us(r.ru_stime) / double(g_frames) : 0.0);
  std::printf(" sends_by_broker=");
  for (std::size_t k = 0; k < g_brokers.size(); ++k) std::printf("%s%ld", k ? "/" : "", g_brokers[k].sends);
  std::printf(" other_codes=");
  for (auto [code, n] : g_codes) std::printf("%d:%ld;", code, n);
  std::printf("\n");
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: %s PORT BROKERS QUEUES_EACH [DELAY_US] [K=hang|stall|refuse|busy|close|slow:US]...\n",
                 argv[0]);
    return 2;
  }
  g_port = std::atoi(argv[1]);
  g_brokers.resize(static_cast<std::size_t>(std::max(1, std::atoi(argv[2]))));
  g_queues = std::atoi(argv[3]);
  for (auto& b : g_brokers) b.delay_ns = argc > 4 ? std::atol(argv[4]) * 1000 : 0;
  for (int i = 5; i < argc; ++i) {
    const std::string_view a = argv[i];
    const auto eq = a.find('=');
    const auto k = static_cast<std::size_t>(std::atoi(argv[i]));
    if (eq == a.npos || k >= g_brokers.size()) return std::fprintf(stderr, "bad fault: %s\n", argv[i]), 2;
    const auto kind = a.substr(eq + 1);
    auto& b = g_brokers[k];
    if (kind == "hang") b.fault = Fault::hang;
    else if (kind == "stall") b.fault = Fault::stall;
    else if (kind == "refuse") b.fault = Fault::refuse;
    else if (kind == "busy") b.fault = Fault::busy;
    else if (kind == "close") b.fault = Fault::close;
    else if (kind.starts_with("slow:")) b.delay_ns = std::atol(argv[i] + eq + 6) * 1000;
    else return std::fprintf(stderr, "bad fault: %s\n", argv[i]), 2;
  }

  sigset_t stop;
  sigemptyset(&stop);
  for (int s : {SIGTERM, SIGINT, SIGUSR1}) sigaddset(&stop, s);
  sigprocmask(SIG_BLOCK, &stop, nullptr);
  const int signals = signalfd(-1, &stop, SFD_NONBLOCK);
  g_timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
  g_epoll = epoll_create1(0);
  const auto add = [](int fd) {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.fd = fd;
    epoll_ctl(g_epoll, EPOLL_CTL_ADD, fd, &e);
  };
  add(signals);
  add(g_timer);
  std::map<int, int> listeners;  // fd to broker, -1 the name server
  for (int k = -1; k < static_cast<int>(g_brokers.size()); ++k) {
    if (k >= 0 && g_brokers[static_cast<std::size_t>(k)].fault == Fault::refuse) continue;
    const int fd = listen_on(g_port + 1 + k);
    listeners[fd] = k;
    add(fd);
  }

  epoll_event events[256];
  for (;;) {
    const int n = epoll_wait(g_epoll, events, 256, -1);
    ++g_waits;
    for (int i = 0; i < n; ++i) {
      const int fd = events[i].data.fd;
      if (fd == signals) {
        signalfd_siginfo s;
        while (::read(signals, &s, sizeof s) == sizeof s) {
          print();
          if (s.ssi_signo != SIGUSR1) std::_Exit(0);
        }
      } else if (fd == g_timer) {
        timer();
      } else if (const auto l = listeners.find(fd); l != listeners.end()) {
        for (int c; (c = ::accept4(fd, nullptr, nullptr, SOCK_NONBLOCK)) >= 0;) {
          const int yes = 1;
          ::setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
          ++g_connections;
          auto conn = std::make_unique<Connection>();
          conn->fd = c;
          conn->broker = l->second;
          g_conn[c] = std::move(conn);
          if (l->second < 0 || g_brokers[static_cast<std::size_t>(l->second)].fault != Fault::stall) add(c);
        }
      } else if (const auto it = g_conn.find(fd); it != g_conn.end()) {
        auto& c = *it->second;
        if (events[i].events & EPOLLOUT)
          if (!flush(c)) { drop(fd); continue; }
        if (events[i].events & (EPOLLIN | EPOLLHUP | EPOLLERR)) readable(c);
      }
    }
  }
}
