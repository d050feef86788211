#include "base/tool.h"

#include <gflags/gflags.h>
#include <glog/logging.h>

#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/error.h"
#include "base/text.h"

namespace crema {
namespace {

/// Flags that the tool's own file defines; the logging library brings some thirty more, which would
/// bury them.
std::vector<gflags::CommandLineFlagInfo> own_flags() {
  std::vector<gflags::CommandLineFlagInfo> all, own;
  gflags::GetAllFlags(&all);
  for (auto& flag : all) {
    if (flag.filename.find("tools/") != std::string::npos) own.push_back(std::move(flag));
  }
  return own;
}

void print_help(const ToolInfo& info) {
  std::string text = fmt::format("{}\n\n  {}\n\n{}\n", info.summary, info.synopsis, info.details);
  const auto flags = own_flags();
  if (!flags.empty())
    text += fmt::format("\nFlags (one or two dashes, --flag=value or --flag value):\n");
  for (const auto& flag : flags) {
    const std::string value =
        flag.type == "bool" ? "" : fmt::format(" <{}>", flag.type == "string" ? "text" : flag.type);
    const bool shows_default = !flag.default_value.empty() && flag.default_value != "false";
    text += fmt::format("  --{}{}\n        {}{}\n", flag.name, value, flag.description,
                        shows_default ? fmt::format(" (default {})", flag.default_value) : "");
  }
  if (!info.examples.empty()) text += fmt::format("\nExamples:\n{}\n", info.examples);
  print(text);
}

bool asks_for(int argc, char** argv, std::initializer_list<const char*> forms) {
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    for (const char* form : forms) {
      if (std::strcmp(argv[i], form) == 0) return true;
    }
  }
  return false;
}

/// The nearest flag to a misspelt one, before gflags ends the program over it.
void check_flag_names(int argc, char** argv) {
  std::vector<std::string> names;
  for (const auto& flag : own_flags()) names.push_back(flag.name);
  for (int i = 1; i < argc && std::strcmp(argv[i], "--") != 0; ++i) {
    std::string name = argv[i];
    if (name.size() < 2 || name[0] != '-' || std::isdigit(static_cast<unsigned char>(name[1]))) {
      continue;
    }
    name = name.substr(name[1] == '-' ? 2 : 1);
    name = name.substr(0, name.find('='));
    gflags::CommandLineFlagInfo known;
    if (gflags::GetCommandLineFlagInfo(name.c_str(), &known)) continue;
    if (name.rfind("no", 0) == 0 && gflags::GetCommandLineFlagInfo(name.c_str() + 2, &known) &&
        known.type == "bool") {
      continue;
    }
    throw UsageError(fmt::format("unknown flag --{}{}", name, did_you_mean(name, names)));
  }
}

/// gflags ends the program with 1 over a malformed value, after its own message; ours is a usage
/// error, 2. Its way out is exit(), so a handler of exit() is the only place to say so.
void parse_flags(int* argc, char*** argv) {
  static bool parsing = false;
  std::atexit([] {
    if (parsing) std::_Exit(2);
  });
  parsing = true;
  gflags::ParseCommandLineFlags(argc, argv, true);
  parsing = false;
}

void check_processor() {
#if defined(__x86_64__) && defined(__AVX2__)
  require(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"),
          "this build needs a processor with AVX2 and FMA; configure with -DCREMA_ARCH=x86-64 for "
          "an older one");
#endif
}

void start_logging(const char* program) {
  FLAGS_logtostderr = true;
  FLAGS_log_year_in_prefix = false;  // Lmmdd, the form that scripts for Caffe's logs expect
  google::InitGoogleLogging(program);
}

/// Not fmt::print, which throws when nobody reads the other end.
void say(const std::string& text) { std::fputs(text.c_str(), stderr); }

int usage_error(const ToolInfo& info, const char* text) {
  say(fmt::format("{}: {}\nusage: {}\n(--help tells more)\n", info.name, text, info.synopsis));
  return 2;
}

}  // namespace

int run_tool(int argc, char** argv, const ToolInfo& info,
             const std::function<int(const std::vector<std::string>&)>& body) {
  // A closed pipe behind standard error (train … | head) must not cost the snapshot.
  std::signal(SIGPIPE, SIG_IGN);
  // A limit on file sizes is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    if (asks_for(argc, argv, {"--help", "-help", "--h", "-h", "--helpfull", "-helpfull"})) {
      print_help(info);
      return 0;
    }
    if (asks_for(argc, argv, {"--version", "-version"})) {
      std::puts("crema " CREMA_VERSION);
      return 0;
    }
    check_flag_names(argc, argv);
    parse_flags(&argc, &argv);
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    const int given = static_cast<int>(arguments.size());
    if (given < info.min_arguments) throw UsageError("too few arguments");
    if (given > info.max_arguments) {
      throw UsageError(fmt::format("unexpected argument \"{}\"",
                                   arguments[static_cast<std::size_t>(info.max_arguments)]));
    }
    check_processor();
    start_logging(argv[0]);
    return body(arguments);
  } catch (const UsageError& error) {
    return usage_error(info, error.what());
  } catch (const Error& error) {
    say(fmt::format("{}: error: {}\n", info.name, error.what()));
  } catch (const std::bad_alloc&) {
    say(fmt::format("{}: error: out of memory\n", info.name));
  } catch (const std::exception& error) {
    say(fmt::format("{}: error: {}\n", info.name, error.what()));
  }
  return 1;
}

}  // namespace crema
