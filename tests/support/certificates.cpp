#include <support/certificates.hpp>

#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace shunt::test {

namespace {

/// "20261130120000Z", so many days from now.
std::string moment(int days)
{
    const std::time_t at = std::time(nullptr) + static_cast<std::time_t>(days) * 24 * 3600;
    std::tm parts{};
    gmtime_r(&at, &parts);
    std::array<char, 32> text{};
    std::strftime(text.data(), text.size(), "%Y%m%d%H%M%SZ", &parts);
    return text.data();
}

std::filesystem::path make_folder()
{
    std::string pattern = (std::filesystem::temp_directory_path() / "shunt-certificates-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
        throw std::runtime_error("no folder for certificates");
    return pattern;
}

}  // namespace

authority::authority(const std::string& name) : folder_(make_folder())
{
    std::ofstream(file("ca.cnf")) << "[ca]\ndefault_ca=d\n[d]\ndatabase=" << file("index.txt") << "\nserial=" << file("serial")
                                  << "\nnew_certs_dir=" << folder_.string() << "\ndefault_md=sha256\npolicy=p\nunique_subject=no\ncopy_extensions=copy\n"
                                  << "[p]\ncommonName=supplied\n[req]\ndistinguished_name=n\n[n]\n";
    std::ofstream(file("index.txt"));
    std::ofstream(file("serial")) << "01\n";
    openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj '/CN=" + name + "' -config " + file("ca.cnf") +
            " -addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign -keyout " + file("ca.key") + " -out " +
            certificate());
}

authority::~authority()
{
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
}

void authority::openssl(const std::string& arguments) const
{
    const std::string log = file("openssl.log");
    if (std::system(("openssl " + arguments + " > " + log + " 2>&1").c_str()) == 0)
        return;
    std::ifstream in(log);
    throw std::runtime_error("openssl " + arguments + ": " + std::string(std::istreambuf_iterator<char>(in), {}));
}

key_pair authority::sign(const std::string& name, const std::string& names, int from_days, int to_days)
{
    const key_pair made{file(name + ".crt"), file(name + ".key")};
    openssl("req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj '/CN=" + name + "' -config " + file("ca.cnf") +
            " -addext subjectAltName=" + names + " -keyout " + made.key + " -out " + file(name + ".csr"));
    openssl("ca -batch -notext -config " + file("ca.cnf") + " -cert " + certificate() + " -keyfile " + file("ca.key") + " -startdate " +
            moment(from_days) + " -enddate " + moment(to_days) + " -in " + file(name + ".csr") + " -out " + made.certificate);
    return made;
}

std::string authority::locked(const key_pair& of, const std::string& password) const
{
    const std::string out = of.key + ".locked";
    openssl("pkcs8 -topk8 -v2 aes256 -passout 'pass:" + password + "' -in " + of.key + " -out " + out);
    return out;
}

}  // namespace shunt::test
