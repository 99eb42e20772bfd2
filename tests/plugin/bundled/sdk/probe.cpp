// Strategies that misbehave, or use what the bundled ones do not: for the tests of the SDK's C++ layer.

#include <shunt/sdk/plugin.hpp>

#include <stdexcept>

namespace {

namespace sdk = shunt::sdk;

// Throws what its setting says, where its setting says.
class thrower {
public:
    static constexpr std::string_view name = "sdk-probe";
    static constexpr std::string_view summary = "throws";
    static constexpr sdk::param params[] = {
        {.name = "where", .default_text = "\"select\"", .choices = "create|select|export", .help = "in which call"},
        {.name = "what", .default_text = "\"exception\"", .choices = "exception|bad_alloc|number", .help = "which kind"},
    };
    static constexpr std::uint32_t state_schema = 7;

    explicit thrower(const sdk::settings& s) : where_(s.get<std::string>("where")), what_(s.get<std::string>("what")) { at("create"); }

    sdk::pick select(sdk::view, sdk::message) const
    {
        at("select");
        return sdk::pick::abstain();
    }
    void export_state(sdk::writer&) const { at("export"); }
    bool import_state(sdk::reader) { return true; }

private:
    void at(std::string_view here) const
    {
        if (where_ != here)
            return;
        if (what_ == "bad_alloc")
            throw std::bad_alloc{};
        if (what_ == "number")
            throw 42;
        throw std::runtime_error("thrown in " + where_);
    }
    std::string where_, what_;
};

// Reads every type of setting and says what it read.
class reader_of_settings {
public:
    static constexpr std::string_view name = "reader-of-settings";
    static constexpr std::string_view summary = "tells its settings in an error";
    static constexpr sdk::param params[] = {
        {.name = "flag", .type = sdk::type::boolean, .help = "a boolean"},
        {.name = "names", .type = sdk::type::string, .array = true, .min_count = 1, .required = true, .help = "an array"},
        {.name = "share", .type = sdk::type::real, .default_text = "0.25", .unit = "parts", .min = 0, .max = 1, .help = "a number"},
    };

    explicit reader_of_settings(const sdk::settings& s)
    {
        using namespace std::string_literals;
        std::string all = "flag=" + (s.find<bool>("flag") ? std::to_string(*s.find<bool>("flag")) : "-"s);
        all += " share=" + std::to_string(s.get<double>("share"));
        all += " names=";
        for (const auto& n : s.get<std::vector<std::string_view>>("names"))
            all += std::string{n} + ",";
        all += " small=" + (s.find<std::uint8_t>("small") ? std::to_string(*s.find<std::uint8_t>("small")) : "-"s);
        all += " times=";
        if (const auto times = s.find<std::vector<sdk::nanoseconds>>("times"))
            for (const auto t : *times)
                all += std::to_string(t.count()) + ",";
        s.refuse(all);
    }
    sdk::pick select(sdk::view, sdk::message) noexcept { return sdk::pick::no_queue(); }
};

// A fault strategy beside the selectors, in one file; counts and logs through the host.
class logging_fault {
public:
    static constexpr std::string_view name = "logging-fault";
    static constexpr std::string_view summary = "logs feedback";

    logging_fault(sdk::host h, const sdk::settings&, sdk::instance) : host_(h), seen_(h.metric("seen", "feedback seen")) {}

    void evaluate(sdk::broker_list, sdk::nanoseconds, sdk::verdicts) const noexcept {}
    bool on_feedback(const sdk::feedback& f)
    {
        seen_.add();
        host_.log(sdk::level::info, "broker " + std::to_string(f.broker_id()));
        if (f.result() == sdk::result::expired)
            throw std::logic_error("no patience");
        return f.good();
    }

private:
    sdk::host host_;
    sdk::counter seen_;
};

}  // namespace

SHUNT_PLUGIN("test.sdk-probe", "0.1.0", "Apache-2.0", thrower, reader_of_settings, logging_fault);
