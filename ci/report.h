// What a nightly shows: report.json, and the same as one HTML page that needs nothing besides
// itself.
#pragma once
#include <string>

#include "matrix/base/json.h"

namespace felloe {

// `report` is what make_report() of ci/nightly.h gives ("felloe/report/1", docs/nightly.md). The
// page has no external assets and no script, follows the reader's light or dark setting, and every
// text in it is escaped: names, findings and logs come from wheels and child processes.
std::string report_html(const Json& report);

// & < > " ' as entities; control characters other than line breaks and tabs as U+FFFD.
std::string html_escape(const std::string& text);

}  // namespace felloe
