// The trend of earlier scans and this one.

/** How many of the latest scans are drawn. */
const DRAWN = 60;
const CHART = { height: 120, bar: 18, widestBar: 40, gap: 6, narrowest: 220, widest: 720 };

function makeTrend() {
    if (data.history.length < 2) return;
    const points = data.history.slice(-DRAWN);
    const [first, last] = [points[0], points.at(-1)];
    const isMixed = points.slice(1).some(({ changes }) => changes.length > 0);
    byId("trend").append(
        element(
            "p",
            {},
            `From ${dayOf(first)} to ${dayOf(last)}: ${shareOf(first)}, then ${shareOf(last)} through a NAT.`,
        ),
        isMixed
            ? element(
                  "p",
                  { class: "quiet" },
                  "A scan with ◆ did not cover the same as the scan before it, so the numbers of the two do not compare.",
              )
            : "",
        element("div", { class: "chart" }, chartOf(points)),
        element(
            "details",
            { class: "patch" },
            element("summary", {}, "The numbers of each scan"),
            trendTable(points),
        ),
    );
    byId("trend").hidden = false;
}

const dayOf = ({ madeAt }) => madeAt.slice(0, 10);

const shareOf = ({ crossing, evaluated }) => `${numbers.format(crossing)} of ${count(evaluated, "subnet")}`;

/** A bar for each scan: as high as the subnets that it evaluated, red as far as they reach S3 Express through a NAT. */
function chartOf(points) {
    // The two dates below need some width, which a few bars share.
    const width = Math.min(CHART.widest, Math.max(CHART.narrowest, (CHART.bar + CHART.gap) * points.length));
    const step = width / points.length;
    const bar = Math.min(CHART.widestBar, Math.max(2, step - CHART.gap));
    const most = Math.max(1, ...points.map(({ evaluated }) => evaluated));
    const highOf = (number) => (CHART.height * number) / most;
    const base = CHART.height + 18;
    const bars = points.flatMap(({ evaluated, crossing, changes }, place) => {
        const x = (place + 0.5) * step - bar / 2;
        const rect = (name, number) =>
            drawn("rect", { class: name, x, y: base - highOf(number), width: bar, height: highOf(number) });
        const mark = drawn("text", { class: "mark", x: x + bar / 2, y: 11, "text-anchor": "middle" }, "◆");
        return [rect("bar-all", evaluated), rect("bar-nat", crossing), changes.length ? mark : null];
    });
    const date = (point, x, anchor) =>
        drawn("text", { class: "plain", x, y: base + 16, "text-anchor": anchor }, dayOf(point));
    return drawn(
        "svg",
        {
            width,
            height: base + 20,
            viewBox: `0 0 ${width} ${base + 20}`,
            role: "img",
            "aria-label": `Subnets through a NAT in ${count(points.length, "scan")}; the numbers are in the table below`,
        },
        ...bars.filter(Boolean),
        drawn("path", { class: "rule", d: `M0 ${base}H${width}` }),
        date(points[0], 0, "start"),
        date(points.at(-1), width, "end"),
    );
}

function trendTable(points) {
    const heads = ["Scan", "Through a NAT", "Dropped", "Unresolved", "Subnets", "Changes of the scope"];
    const rows = [...points].reverse().map(({ madeAt, crossing, dropped, unresolved, evaluated, changes }) =>
        element(
            "tr",
            {},
            element("th", { scope: "row" }, madeAt.replace("T", " ").replace("Z", " UTC")),
            ...[crossing, dropped, unresolved, evaluated].map((number) =>
                element("td", { class: "number" }, numbers.format(number)),
            ),
            element("td", {}, changes.length ? `◆ ${changes.join("; ")}` : ""),
        ),
    );
    return element(
        "div",
        { class: "wide", tabindex: "0", role: "group", "aria-label": "The numbers of each scan" },
        element(
            "table",
            {},
            element("thead", {}, element("tr", {}, ...heads.map((head) => element("th", { scope: "col" }, head)))),
            element("tbody", {}, ...rows),
        ),
    );
}
