// The calls into the driver libraries, against a test double (fake_driver.cpp): no GPU is needed,
// and nothing here says anything about a real driver.
#include <catch2/catch.hpp>

#include "probe/cuda_query.h"

using namespace felloe;

TEST_CASE("NVML answers become JSON, refusals too") {
  const Json nvml = query_nvml(FELLOE_FAKE_DRIVER, false);
  CHECK(nvml.at("init") == "ok");
  CHECK(nvml.at("path") == FELLOE_FAKE_DRIVER);
  CHECK(nvml.at("driver") == "550.54.15");
  CHECK(nvml.at("cuda") == 12040);
  const Json first = nvml.at("devices").at(0), second = nvml.at("devices").at(1);
  CHECK(first == Json{{"name", "NVIDIA A100-SXM4-40GB"},
                      {"cc", {8, 0}},
                      {"memory_bytes", 42949672960},
                      {"mig_mode", 1},
                      {"mig_slices", 2}});
  CHECK(second.at("memory_bytes") == Json{{"error", "NVML_ERROR_NO_PERMISSION"}});
  CHECK(second.at("mig_mode") == Json{{"error", "NVML_ERROR_NOT_SUPPORTED"}});
  CHECK(query_nvml(FELLOE_FAKE_DRIVER, true).at("devices").at(1).at("uuid") == "GPU-b");
}

TEST_CASE("libcuda answers become JSON") {
  const Json version = query_libcuda(FELLOE_FAKE_DRIVER);
  CHECK(version == Json{{"path", FELLOE_FAKE_DRIVER}, {"cuda", 12040}});
  const Json devices = query_libcuda_devices(FELLOE_FAKE_DRIVER);
  CHECK(devices.at("init") == "ok");
  CHECK(devices.at("devices").at(0) ==
        Json{{"name", "Orin"}, {"cc", {8, 7}}, {"memory_bytes", 64349020160}});
}

TEST_CASE("a missing driver library is null, a wrong one says which symbol it lacks") {
  CHECK(query_nvml("libfelloe-no-such-library.so.1", false).is_null());
  CHECK(query_libcuda("libfelloe-no-such-library.so.1").is_null());
  CHECK(query_nvml("libc.so.6", false).at("init") == Json{{"error", "no symbol nvmlInit_v2"}});
}
