// State of a bundled strategy that was saved by whoever: taken or refused, and the strategy decides as it must afterwards. The
// first byte says which strategy, the second which schema, the rest is the state.

#include <fuzz/fuzz.hpp>
#include <fuzz/subjects.hpp>

namespace kit = shunt::sdk::testing;
using namespace std::chrono_literals;

namespace {

void selects_as_before(const shunt::fuzz::subject& s, std::uint32_t schema, std::string_view state)
{
    kit::selector one{s.p, s.o.settings};
    (void)one.import_state(one.table().state_schema + schema, state);
    kit::route r{kit::route::parse(s.o.route)};
    for (int i = 0; i < 30; ++i) {
        const kit::answer a = one.ask(r, kit::msg{});
        SHUNT_FUZZ_CHECK(a.problem.empty());
        SHUNT_FUZZ_CHECK(a.picked());
    }
    if (const auto again = one.export_state()) {
        kit::selector other{s.p, s.o.settings};
        SHUNT_FUZZ_CHECK(other.import_state(other.table().state_schema, *again) == SHUNT_OK);
    }
}

void judges_as_before(const shunt::fuzz::subject& s, std::uint32_t schema, std::string_view state)
{
    constexpr auto now = std::chrono::hours{1};
    kit::fault one{s.p, s.o.settings};
    (void)one.import_state(one.table().state_schema + schema, state, now);
    const kit::route r{kit::route::parse(s.o.route)};
    for (const auto later : {0ms, 1ms, 60'000ms}) {
        const kit::judgement j = one.judge(r, now + later);
        SHUNT_FUZZ_CHECK(j.problem.empty());
        for (const std::string& name : r.names())
            (void)one.tell(name, {.at = now + later, .result = SHUNT_FB_FAILED, .latency = 1ms, .share = 1s});
        SHUNT_FUZZ_CHECK(one.judge(r, now + later).problem.empty());
    }
    if (one.table().export_state == nullptr)
        return;
    kit::fault other{s.p, s.o.settings};
    const std::string again = one.export_state(now + 60s);
    SHUNT_FUZZ_CHECK(other.import_state(other.table().state_schema, again, now + 60s) == SHUNT_OK);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    if (size < 2)
        return 0;
    const auto& all = shunt::fuzz::subjects();
    const shunt::fuzz::subject& s = all[data[0] % all.size()];
    const std::string_view state = shunt::fuzz::as_text(data + 2, size - 2);
    const std::uint32_t schema = data[1] % 8 == 7 ? 1 : 0;  // mostly its own
    (s.selects ? selects_as_before : judges_as_before)(s, schema, state);
    return 0;
}
