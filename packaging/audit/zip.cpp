// ZIP0xx: the container. An installer must read the same files from it as any other reader.
#include "packaging/audit/rule.h"

namespace felloe {
namespace {

constexpr const char* kAppnote = "PKWARE APPNOTE.TXT 6.3.10";
constexpr const char* kRebuild = "build the wheel again with a current tool";

template <ZipProblem::Kind kind>
void problems(const AuditInput& in, AuditSink& sink) {
  for (const ZipProblem& p : in.archive.zip.problems()) {
    if (p.kind == kind) sink.add({.file = p.member, .offset = p.offset}, p.message);
  }
}

void unreadable(const AuditInput& in, AuditSink& sink) {
  for (const ScanTrouble& t : in.scan.troubles) {
    if (t.kind == ScanTrouble::Kind::unreadable) sink.add({.file = t.path}, t.message);
  }
}

}  // namespace

using Kind = ZipProblem::Kind;

const std::vector<Rule> kZipRules = {
    {"ZIP001", Severity::error, "unsafe member name",
     "an absolute path, \"..\", a backslash or a control character lets a member land outside the "
     "target folder, or under different names on different systems",
     "rename the file in the source tree and build again; never install this wheel", kAppnote,
     problems<Kind::unsafe_name>},
    {"ZIP002", Severity::error, "duplicate member",
     "readers disagree on which of two members of one name they take, so what was checked needn't "
     "be "
     "what is installed",
     kRebuild, kAppnote, problems<Kind::duplicate>},
    {"ZIP003", Severity::warning, "names that differ only in case",
     "file systems of macOS and Windows keep only one of them", "rename one of the files",
     "PEP 427, file contents", problems<Kind::case_duplicate>},
    {"ZIP004", Severity::error, "local header and central directory disagree",
     "streaming readers believe the one, others the other", kRebuild,
     "PKWARE APPNOTE.TXT 4.3.7, 4.3.12", problems<Kind::header_mismatch>},
    {"ZIP005", Severity::error, "declared size is impossible",
     "deflate can't expand more than 1032 times; a larger claim, or more bytes than allowed, is "
     "how "
     "decompression bombs look",
     "never install this wheel", "RFC 1951", problems<Kind::impossible_size>},
    {"ZIP006", Severity::error, "member is not what it declares",
     "its bytes inflate to another size or checksum than the zip declares, or not at all",
     "download or build the wheel again", kAppnote, unreadable},
    {"ZIP007", Severity::error, "members overlap",
     "bytes that serve two members hide content, or multiply it (decompression bombs)",
     "never install this wheel", kAppnote, problems<Kind::overlap>},
    {"ZIP008", Severity::warning, "bytes that belong to no member",
     "they escape RECORD and every scanner that reads members", kRebuild, kAppnote,
     problems<Kind::hidden_data>},
    {"ZIP009", Severity::error, "encrypted member", "no installer asks for a password", kRebuild,
     "PEP 427", problems<Kind::encrypted>},
    {"ZIP010", Severity::error, "symbolic link",
     "installers write the link's text as a file, or follow it out of the target folder",
     "put the file itself into the wheel", "PEP 427, PEP 778", problems<Kind::symlink>},
    {"ZIP011", Severity::error, "unusual compression",
     "installers read stored and deflated members only", "compress with deflate", "PEP 427",
     problems<Kind::method>},
};

}  // namespace felloe
