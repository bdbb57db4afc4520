/* The style of the pages: light and dark, desk and phone, paper; colours that pictures and legends share. */
#include "report/report.h"

#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--back:#fff;--text:#1a1a1a;--dim:#5f6368;--line:#ddd;"
    "--card:#f6f7f9;--track:#eceef1;--edge:#aab1ba;"
    "--blue:#2166ac;--red:#b2182b;--green:#1b7837;--grey:#7d8590;--faint:#c3c9d1;--c0:#2166ac;"
    "--c1:#d98c00;--c2:#1b7837;--c3:#8e4ec6;--c4:#00838f;--c5:#c2185b;--c6:#6d4c41;--c7:#9e9d24;"
    "--c8:#5c6bc0;--c9:#757575}"
    "@media(prefers-color-scheme:dark){:root{--back:#141414;--text:#e6e6e6;--dim:#9aa0a6;"
    "--line:#333;--card:#1e1e1e;--track:#262626;--edge:#5a6068;--blue:#6baed6;--red:#f4a582;"
    "--green:#7fbf7b;--grey:#8b949e;--faint:#4a4f57;--c0:#6baed6;--c1:#e8b04a;--c2:#7fbf7b;"
    "--c3:#b794e6;--c4:#4db6ac;--c5:#f06292;--c6:#bcaaa4;--c7:#d4d15c;--c8:#9fa8da;--c9:#9e9e9e}}"
    "*{box-sizing:border-box}body{background:var(--back);color:var(--text);font:15px/1.5 system-ui,"
    "sans-serif;margin:0 auto;max-width:960px;padding:24px 16px 60px;overflow-wrap:anywhere}"
    "h1{font-size:22px;margin:0}h2{font-size:17px;margin:36px 0 8px;border-bottom:1px solid "
    "var(--line);padding-bottom:4px}h3{font-size:14px;font-weight:600;margin:22px 0 4px}"
    ".small,.dim{color:var(--dim);font-size:13px}"
    /* the verdict, and what to do about it beside or below */
    ".top{display:grid;gap:16px;align-items:start;grid-template-columns:minmax(0,1fr);margin:18px 0}"
    ".verdict{background:var(--card);border-left:4px solid var(--blue);padding:14px 18px;margin:0;"
    "font-size:17px;border-radius:4px}.verdict.worse{border-color:var(--red)}.verdict.better{"
    "border-color:var(--green)}.verdict p{margin:8px 0 0;font-size:14px}.next h2{margin:0}"
    ".next ol{margin:8px 0;padding-left:22px}.next li{margin:0 0 8px}"
    "@media(min-width:800px){.top.two{grid-template-columns:minmax(0,5fr) minmax(0,6fr)}}"
    /* figures */
    ".grid-of{display:grid;grid-template-columns:repeat(auto-fill,minmax(165px,1fr));gap:10px}"
    ".figure{background:var(--card);padding:10px 12px;border-radius:4px}.figure b{display:block;"
    "font-size:16px;font-weight:600}.meter{display:block;height:8px;margin:4px 0 6px;background:"
    "var(--track);border:1px solid var(--edge)}.meter i{display:block;height:100%;background:"
    "var(--blue)}details{margin:10px 0}summary{color:var(--dim);font-size:13px;cursor:pointer}"
    "dl{margin:8px 0 0 16px;font-size:13px}dt{font-weight:600}dd{margin:0 0 6px;color:var(--dim)}"
    ".mark{font-size:11px;border:1px solid var(--line);border-radius:8px;padding:0 6px;color:"
    "var(--dim);white-space:nowrap}.mark.measured{color:var(--blue)}.mark.counted{color:"
    "var(--green)}.mark.unavailable,.worse b{color:var(--red)}.better b{color:var(--green)}.verdict b{color:"
    "inherit}"
    /* tables: one that is wider than the page scrolls in itself, below a column that stays */
    ".wide{overflow-x:auto;margin:8px 0;max-width:100%}.wide:focus-visible,summary:focus-visible{"
    "outline:2px solid var(--blue);outline-offset:2px}table{border-collapse:separate;"
    "border-spacing:0;width:100%;font-size:13px;overflow-wrap:normal}th,td{text-align:right;"
    "padding:3px 8px;border-bottom:1px solid var(--line);white-space:nowrap;"
    "font-variant-numeric:tabular-nums}th{color:var(--dim);font-weight:500}tbody th{color:"
    "var(--text);font-weight:400;text-align:left}.t{text-align:left}tr>:first-child{position:"
    "sticky;left:0;background:var(--back)}td.long{white-space:normal;min-width:220px}"
    "@media(max-width:671px){tr>:first-child{min-width:104px;max-width:150px;white-space:normal}.more{"
    "display:none}}"
    /* pictures */
    "svg{display:block;width:100%;font:12px system-ui,sans-serif}svg text{fill:"
    "var(--text)}svg .small{fill:var(--dim);font-size:12px}.grid{stroke:var(--line)}.roof{stroke:"
    "var(--red);stroke-width:1.5}.range{stroke:var(--text)}svg .name{paint-order:stroke;stroke:"
    "var(--back);stroke-width:4px;stroke-linejoin:round}.lead{stroke:var(--dim)}.dot{fill:"
    "var(--blue);fill-opacity:.6;stroke:var(--back)}.track{fill:var(--track);stroke:var(--edge)}"
    ".shade{fill:var(--track)}.bar{fill:var(--blue)}.bar.second{fill:var(--green)}"
    ".bar.third{fill:var(--grey)}.bar.worse{fill:var(--red)}.bar.better{fill:var(--green)}"
    ".faint{fill:var(--faint)}.key{display:inline-block;margin-right:14px}"
    ".key i{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:5px}"
    "i.faint{background:var(--faint)}li{margin:6px 0}"
    "@media print{.wide{overflow:visible}details{display:none}}";

void eg__report_head(eg__page *page, const char *title) {
    eg__page_add(page, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta "
                       "name=\"viewport\" content=\"width=device-width,initial-scale=1\"><title>");
    eg__page_escape(page, title);
    eg__page_put(page, "</title><style>%s", style);
    /* one colour each, in pictures and in what explains them */
    for (int i = 0; i < 10; i++)
        eg__page_put(page, ".tag%d{fill:var(--c%d)}i.tag%d{background:var(--c%d)}", i, i, i, i);
    eg__page_add(page, "</style></head><body>\n");
}

/* The document, as compact as it can be; nothing in it may end the script that it stands in. */
void eg__report_raw(eg__page *page, const char *id, const char *what, const eg__json_value *value,
                    unsigned digits) {
    eg__json json;
    char *text;
    eg__json_begin(&json, page->memory);
    json.digits = digits;
    eg__json_put_value(&json, NULL, value);
    eg_error error = {EG_OK, ""};
    if (eg__json_end(&json, &text, NULL, &error) && !page->fault.status) page->fault = error;
    if (!text) return;
    eg__page_put(page,
                 "<details><summary>raw data</summary><p class=\"small\">%s is in "
                 "this page, in the element #%s, as JSON.</p></details>\n"
                 "<script type=\"application/json\" id=\"%s\">",
                 what, id, id);
    for (char *from = text; from;) {
        char *mark = strchr(from, '<');
        if (mark) *mark++ = 0;
        eg__page_add(page, from);
        if (mark) eg__page_add(page, "\\u003c");
        from = mark;
    }
    eg__page_add(page, "</script>\n");
    eg__memory_give(page->memory, text);
}
