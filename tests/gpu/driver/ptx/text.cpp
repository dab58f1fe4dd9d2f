/* text.cpp -- see text.h. */
#include "text.h"

#include <ctype.h>
#include <set>
#include <stdlib.h>
#include <string.h>

namespace
{
/** Words and marks one after another. */
struct reader {
    const std::string &text;
    size_t at;
    int line;
    std::string token; /* "" at the end */

    void blanks()
    {
        for (; at < text.size(); ++at) {
            if (text[at] == '\n') ++line;
            else if (!text.compare(at, 2, "//")) at = text.find('\n', at) - 1;
            else if (!isspace((unsigned char)text[at])) return;
        }
    }
    const std::string &next()
    {
        blanks();
        token.clear();
        if (at >= text.size()) return token;
        static const char marks[] = "(){}[],;";
        if (strchr(marks, text[at])) token = text[at++];
        else if (text[at] == '"') {
            const size_t end = text.find('"', at + 1);
            token = text.substr(at, end + 1 - at);
            at = end + 1;
        } else
            while (at < text.size() && !strchr(marks, text[at]) && !isspace((unsigned char)text[at])) token += text[at++];
        return token;
    }
    void expect(const char *mark)
    {
        if (token != mark) throw "line " + std::to_string(line) + ": " + mark + " is expected before " + token;
    }
    void skip_to(const char *mark)
    {
        while (next() != mark)
            if (token.empty()) throw std::string("the text ends before ") + mark;
    }
    /** From a mark that opens to the one that closes it. */
    void skip_braces()
    {
        for (int depth = 1; depth;) {
            if (next().empty()) throw std::string("the text ends inside of a function");
            depth += token == "{" ? 1 : token == "}" ? -1 : 0;
        }
    }
};

size_t bytes_of(const std::string &type) /* ".b64" */
{
    return type == ".pred" ? 1 : (size_t)atoi(type.c_str() + 2) / 8;
}

/* Behind the word of its space, to the mark behind it. */
ptx_variable read_variable(reader &r, const std::string &space)
{
    ptx_variable v = {space, "", 0, 0};
    size_t each = 0;
    for (r.next(); r.token[0] == '.'; r.next())
        if (r.token == ".align") v.align = (size_t)atoi(r.next().c_str());
        else if (isdigit((unsigned char)r.token.back())) each = bytes_of(r.token);
    v.name = r.token;
    size_t count = 1;
    if (r.next() == "[") {
        count = r.next() == "]" ? 0 : (size_t)atoll(r.token.c_str());
        if (count) r.next();
        r.expect("]");
        r.next();
    }
    v.bytes = each * count;
    if (!v.align) v.align = each;
    return v;
}

/* From behind ( to behind ). */
std::vector<ptx_variable> read_variables(reader &r)
{
    std::vector<ptx_variable> all;
    while (r.next() != ")") {
        r.expect(".param");
        all.push_back(read_variable(r, "param"));
        if (r.token == ")") break;
        r.expect(",");
    }
    return all;
}

std::vector<std::string> split(const std::string &name)
{
    std::vector<std::string> words(1);
    for (char c : name)
        if (c == '.') words.emplace_back();
        else words.back() += c;
    return words;
}

/* Names that braces inside of a function declare hide those outside. */
class scopes
{
  public:
    void open() { inner_.push_back({++opened_, {}}); }
    void close() { inner_.pop_back(); }
    void declare(const std::string &name)
    {
        if (!inner_.empty()) inner_.back().second.insert(name);
    }
    std::string operator()(const std::string &name) const
    {
        for (size_t i = inner_.size(); i--;)
            if (inner_[i].second.count(name)) return name + "_of_" + std::to_string(inner_[i].first);
        return name;
    }

  private:
    int opened_ = 0;
    std::vector<std::pair<int, std::set<std::string>>> inner_;
};

ptx_statement read_operation(reader &r, const scopes &scope)
{
    ptx_statement s = {ptx_statement::OPERATION, r.line, "", false, "", {}, {}, {}};
    if (r.token[0] == '@') {
        s.unless = r.token[1] == '!';
        s.guard = scope(r.token.substr(s.unless ? 2 : 1));
        r.next();
    }
    s.name = r.token;
    s.words = split(s.name);
    std::string all;
    int depth = 0;
    for (r.next(); depth || r.token != ";"; r.next()) {
        if (r.token.empty()) throw std::string("the text ends inside of a statement");
        if (strchr("({[", r.token[0])) ++depth;
        if (strchr(")}]", r.token[0])) --depth;
        all += scope(r.token);
    }
    s.operands = ptx_list(all);
    return s;
}

/* Behind .reg: its type, and names. */
void read_registers(reader &r, scopes &scope)
{
    for (r.next(); r.next() != ";";)
        if (r.token.empty()) throw std::string("the text ends inside of a statement");
        else if (r.token != ",") scope.declare(r.token);
}

/* From behind { to its }. */
std::vector<ptx_statement> read_body(reader &r)
{
    std::vector<ptx_statement> all;
    scopes scope;
    for (int depth = 1; depth;) {
        r.next();
        if (r.token.empty()) throw std::string("the text ends inside of a function");
        if (r.token == "{") {
            ++depth;
            scope.open();
        } else if (r.token == "}") {
            if (--depth) scope.close();
        } else if (r.token == ".reg") read_registers(r, scope);
        else if (r.token == ".shared" || r.token == ".local" || r.token == ".param") {
            ptx_statement s = {ptx_statement::VARIABLE, r.line, "", false, "", {}, {}, {}};
            s.variable = read_variable(r, r.token.substr(1));
            all.push_back(s);
        } else if (r.token[0] == '.') r.skip_to(";");
        else if (r.token.back() == ':')
            all.push_back({ptx_statement::LABEL, r.line, "", false, r.token.substr(0, r.token.size() - 1), {}, {}, {}});
        else all.push_back(read_operation(r, scope));
    }
    return all;
}
} // namespace

std::vector<std::string> ptx_list(const std::string &text)
{
    std::vector<std::string> parts;
    int depth = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        if (strchr("({[", text[i])) ++depth;
        if (strchr(")}]", text[i])) --depth;
        if (!i) parts.emplace_back();
        if (!depth && text[i] == ',') parts.emplace_back();
        else parts.back() += text[i];
    }
    return parts;
}

ptx_text::ptx_text(std::string text) : text_(std::move(text))
{
    reader r = {text_, 0, 1, ""};
    while (!r.next().empty()) {
        if (r.token == ".extern" || r.token == ".shared") {
            if (r.token == ".extern") r.next();
            variables_.push_back(read_variable(r, r.token.substr(1)));
        }
        if (r.token != ".entry" && r.token != ".func") continue;
        const place here = {r.at, r.line, r.token == ".entry"};
        if (r.next() == "(") {
            r.skip_to(")");
            r.next();
        }
        const std::string name = r.token;
        while (r.next() != "{" && r.token != ";")
            if (r.token.empty()) throw std::string("the text ends before a function");
        if (r.token == ";") continue; /* it comes later */
        places_[name] = here;
        r.skip_braces();
    }
}

const ptx_function_text *ptx_text::function(const std::string &name)
{
    const auto done = read_.find(name);
    if (done != read_.end()) return &done->second;
    const auto found = places_.find(name);
    if (found == places_.end()) return nullptr;
    ptx_function_text f = {name, found->second.entry, {}, {}, {}};
    reader r = {text_, found->second.at, found->second.line, ""};
    if (r.next() == "(") {
        f.results = read_variables(r);
        r.next();
    }
    if (r.next() == "(") f.parameters = read_variables(r);
    if (r.token != "{") r.skip_to("{");
    f.body = read_body(r);
    return &(read_[name] = f);
}
