// Names, versions and specifiers against the examples of PEP 440 and PEP 503.
#include <catch2/catch.hpp>

#include "matrix/pep440.h"

namespace felloe {
namespace {

Version version(const std::string& text) {
  const auto parsed = Version::parse(text);
  INFO(text);
  REQUIRE(parsed.has_value());
  return *parsed;
}

TEST_CASE("names are normalised by PEP 503") {
  CHECK(normalize_name("Friendly-Bard") == "friendly-bard");
  CHECK(normalize_name("FrIeNdLy-._.-bArD") == "friendly-bard");
  CHECK(wheel_name("friendly.bard") == "friendly_bard");
  CHECK(valid_name("a"));
  CHECK(valid_name("scikit-learn2"));
  for (const char* bad : {"", "-a", "a-", "a b", "a/b", "..", "n\xc3\xa4h"})
    CHECK_FALSE(valid_name(bad));
}

TEST_CASE("versions have one normal form") {
  const std::pair<const char*, const char*> cases[] = {
      {"1.0", "1.0"},
      {"v1.0", "1.0"},
      {"01.02", "1.2"},
      {"1.0-RC1", "1.0rc1"},
      {"1.0.preview_2", "1.0rc2"},
      {"1.0c", "1.0rc0"},
      {"1.0alpha", "1.0a0"},
      {"1.0-1", "1.0.post1"},
      {"1.0r4", "1.0.post4"},
      {"1.0.rev", "1.0.post0"},
      {"1.0dev3", "1.0.dev3"},
      {"2!1.0", "2!1.0"},
      {"1.0+Ubuntu-1", "1.0+ubuntu.1"},
      {"1.0+cu126.007", "1.0+cu126.7"},
      {"0.1.0.dev20261130+cpu", "0.1.0.dev20261130+cpu"},
      {" 1.0\n", "1.0"},
      {"1.0a1.post2.dev3", "1.0a1.post2.dev3"}};
  for (const auto& [written, normal] : cases) {
    INFO(written);
    CHECK(version(written).text() == normal);
    CHECK(version(normal).text() == normal);
  }
  for (const char* bad : {"", "a", "1.0+", "1.0+a..b", "1.0 2", "1..0", "1.0x", "1.0+\xc3\xa4",
                          "1.", "1!", "1.0-", "9999999999999999999999"}) {
    INFO(bad);
    CHECK_FALSE(Version::parse(bad).has_value());
  }
}

TEST_CASE("versions are ordered as in PEP 440's summary") {
  const char* ordered[] = {"1.0.dev456",
                           "1.0a1",
                           "1.0a2.dev456",
                           "1.0a12.dev456",
                           "1.0a12",
                           "1.0b1.dev456",
                           "1.0b2",
                           "1.0b2.post345.dev456",
                           "1.0b2.post345",
                           "1.0rc1.dev456",
                           "1.0rc1",
                           "1.0",
                           "1.0+abc.5",
                           "1.0+abc.7",
                           "1.0+5",
                           "1.0+10",
                           "1.0.post456.dev34",
                           "1.0.post456",
                           "1.0.15",
                           "1.1.dev1",
                           "1!0.1"};
  for (std::size_t i = 0; i < std::size(ordered); ++i) {
    for (std::size_t j = 0; j < std::size(ordered); ++j) {
      INFO(ordered[i] << " and " << ordered[j]);
      const int result = version(ordered[i]).compare(version(ordered[j]));
      CHECK((result < 0) == (i < j));
      CHECK((result == 0) == (i == j));
    }
  }
  CHECK(version("1.0") == version("1.0.0"));
}

TEST_CASE("specifiers hold what PEP 440 says") {
  struct Case {
    const char* set;
    const char* version;
    bool holds;
  };
  const Case cases[] = {
      {">=3.10", "3.10.2", true},  {">=3.10", "3.9.18", false},   {"", "1.0", true},
      {">=3.10,<4", "3.14", true}, {"==3.11.*", "3.11.7", true},  {"!=3.11.*", "3.11.7", false},
      {"~=2.2", "2.9", true},      {"~=2.2", "3.0", false},       {"~=1.4.5", "1.5", false},
      {"==1.0", "1.0+cpu", true},  {"==1.0+cpu", "1.0", false},   {"==1.0+cpu", "1.0.0+cpu", true},
      {"<3.1", "3.1.dev0", false}, {"<3.1rc1", "3.1.dev0", true}, {">1.7", "1.7.0.post1", false},
      {">1.7", "1.7+x", false},    {">1.7", "1.7.1", true},       {"<=2", "2.0", true},
      {"===1.0", "1.0", true},     {"===1.0", "1.0.0", false},    {"!=1.0", "1.1", true},
      {">=1,", "1", true}};
  for (const Case& c : cases) {
    INFO(c.set << " on " << c.version);
    const auto set = Specifiers::parse(c.set);
    REQUIRE(set.has_value());
    CHECK(set->contains(version(c.version)) == c.holds);
  }
  for (const char* bad : {"3.10", "=>3", ">=", "~=3", ">=1.0.*", ">1.0+cpu", ">= 3 4", "==x"}) {
    INFO(bad);
    CHECK_FALSE(Specifiers::parse(bad).has_value());
  }
  CHECK(Specifiers::parse(" >= 3.10 , != 3.11.0")->text() == ">=3.10,!=3.11.0");
}

}  // namespace
}  // namespace felloe
