// Totals by account, owner, and Region: which of them send the most subnets through a NAT. A value is a filter.

const FIRST_VALUES = 8;
const MANY_TABLES = 20;
const HEADINGS = { account: "By account", ...(data.ownerTag && { owner: "By owner" }), region: "By Region" };

function makeRollups(changed) {
    byId("rollups").append(...Object.keys(HEADINGS).map((key) => rollup(key, changed)));
    byId("rollups").hidden = false;
    if (data.worklist.length > MANY_TABLES) byId("worklist").before(byId("rollups"));
}

function rollup(key, changed) {
    const { title } = CHOICES[key];
    const rows = totalsBy(CHOICES[key].of);
    const most = Math.max(1, ...rows.map(({ crossing }) => crossing));
    const shown = rows.map((total) => rollupRow(key, total, most, changed));
    const heads = ["", "Through a NAT", "Dropped", "Unresolved", "Subnets"];
    for (const later of shown.slice(FIRST_VALUES)) later.classList.add("later");
    const body = element("tbody", {}, ...shown);
    const more = element(
        "button",
        {
            type: "button",
            class: "action",
            onclick: () => {
                for (const later of shown) later.classList.remove("later");
                more.remove();
                shown[FIRST_VALUES].querySelector("button").focus();
            },
        },
        `Show all ${numbers.format(rows.length)}`,
    );
    return element(
        "div",
        { class: "card" },
        element("h2", {}, HEADINGS[key]),
        element(
            "table",
            { class: "rollup" },
            element(
                "thead",
                {},
                element(
                    "tr",
                    {},
                    element("th", { scope: "col" }, title),
                    ...heads.map((head) => (head ? element("th", { scope: "col" }, head) : element("td", {}))),
                ),
            ),
            body,
        ),
        ...(rows.length > FIRST_VALUES ? [more] : []),
    );
}

function rollupRow(key, { value, all, crossing, dropped, unresolved }, most, changed) {
    const bar = element("span", { class: "share line-nat", "aria-hidden": "true" });
    bar.style.inlineSize = `${(100 * crossing) / most}%`;
    const number = (amount, isNat) =>
        element("td", { class: isNat && amount ? "number nat" : "number" }, numbers.format(amount));
    return element(
        "tr",
        {},
        element(
            "th",
            { scope: "row" },
            element("button", { type: "button", class: "value", ...pressing(key, value, changed) }, value || "unknown"),
            data.accountNames[value] ? element("span", { class: "quiet" }, ` ${data.accountNames[value]}`) : "",
        ),
        element("td", { class: "bar-cell" }, element("span", { class: "track" }, crossing ? bar : null)),
        number(crossing, true),
        number(dropped, false),
        number(unresolved, false),
        number(all, false),
    );
}

/** The numbers of subnets with each value, those with the most NAT paths first. */
function totalsBy(valueOf) {
    const totals = new Map();
    for (const subnet of subnets) {
        const value = valueOf(subnet);
        if (!totals.has(value)) totals.set(value, { value, all: 0, crossing: 0, dropped: 0, unresolved: 0 });
        const total = totals.get(value);
        total.all += 1;
        if (subnet.reason.line === "nat") total.crossing += 1;
        if (subnet.reason.name === "DROPPED") total.dropped += 1;
        if (subnet.reason.line === "unresolved") total.unresolved += 1;
    }
    return [...totals.values()].sort(
        (one, other) =>
            other.crossing - one.crossing ||
            other.dropped + other.unresolved - one.dropped - one.unresolved ||
            (one.value < other.value ? -1 : 1),
    );
}
