// What to fix: one row for each route table and reason, because people fix route tables, not subnets.

const MORE_ROWS = 100;
const LISTED_VALUES = 2;

const SECTIONS = [
    { kind: "flagged", title: "Route tables to fix" },
    { kind: "dropped", title: "Traffic that AWS drops" },
    { kind: "unresolved", title: "Paths that could not be followed" },
];

/** The tags are in one column, which a single tag gives its name. */
const TAGS = tagKeys.length > 1 ? "Tags" : tagKeys[0];
const HEADS = ["Route table", "Reason", "Subnets", "NAT", "VPC", "Account", ...(TAGS === undefined ? [] : [TAGS])];

const shownRows = {};
const openRows = new Set();
let foundByRow = new Map();
/** On paper, the first row of each change that several tables share. */
let printedChanges = new Map();

function makeWorklist() {
    byId("worklist").append(
        element("p", { id: "work-summary" }),
        element("p", { id: "work-cost", class: "quiet" }),
        ...SECTIONS.map(({ kind }) => element("div", { id: `work-${kind}` })),
    );
    byId("worklist").hidden = false;
}

/** Show the rows of these subnets. */
function showWorklist(found) {
    foundByRow = new Map();
    const keep = new Set(found);
    for (const one of worklist) {
        const kept = isFiltered() ? one.subnets.filter((subnet) => keep.has(subnet)) : one.subnets;
        if (kept.length) foundByRow.set(one, kept);
    }
    for (const { kind } of SECTIONS) shownRows[kind] = firstOf(20, 5);
    printedChanges = new Map();
    byId("work-summary").textContent = workSummary(found);
    byId("work-cost").textContent = workCost();
    SECTIONS.forEach(listRows);
}

function workSummary(found) {
    const flagged = [...foundByRow].filter(([{ kind }]) => kind === "flagged");
    if (flagged.length === 0) return "There is nothing to fix: none of these subnets is NON_COMPLIANT.";
    const number = flagged.reduce((sum, [, kept]) => sum + kept.length, 0);
    const isNat = flagged.every(([{ reason }]) => reason.line === "nat");
    const isOne = number === 1 || found.length === 1;
    const what = isNat ? `${isOne ? "reaches" : "reach"} S3 Express through a NAT` : `${isOne ? "is" : "are"} NON_COMPLIANT`;
    const tableCount = new Set(flagged.map(([one]) => `${one.vpc.key} ${one.table.id}`)).size;
    return `${numbers.format(number)} of ${count(found.length, "subnet")} ${what} (${count(tableCount, "route table")}).`;
}

/** What the NATs of the rows cost together, each of them once; empty if the report has no costs. */
function workCost() {
    const nats = [...foundByRow.keys()].flatMap((one) => one.nats.map((id) => `${one.vpc.region} ${id}`));
    const bounds = [...new Set(nats)].map((nat) => charges.get(nat)?.bound ?? null).filter((bound) => bound !== null);
    if (bounds.length === 0) return "";
    const sum = dollars(bounds.reduce((total, bound) => total + bound, 0));
    const period = `from metrics of ${data.costs.start} to ${data.costs.end}`;
    return `At ${count(bounds.length, "NAT gateway")} of this list, S3 Express traffic costs at most ${sum} a month (${period}).`;
}

function listRows(section) {
    const { kind, title } = section;
    const rows = worklist.filter((one) => one.kind === kind && foundByRow.has(one));
    const place = byId(`work-${kind}`);
    if (rows.length === 0) {
        place.replaceChildren();
        return;
    }
    const left = rows.length - shownRows[kind];
    const showMore = () => {
        const before = shownRows[kind];
        shownRows[kind] += MORE_ROWS;
        listRows(section);
        place.querySelectorAll(".opener")[before].focus();
    };
    const text = left > MORE_ROWS ? `Show ${MORE_ROWS} more of ${numbers.format(left)}` : `Show ${numbers.format(left)} more`;
    const heads = HEADS.map((head) => element("th", { scope: "col", role: "columnheader" }, head));
    place.replaceChildren(
        element("h3", { id: `work-${kind}-title` }, `${title} (${numbers.format(rows.length)})`),
        element(
            "table",
            { role: "table", class: "work", "aria-labelledby": `work-${kind}-title` },
            element("thead", { role: "rowgroup" }, row({}, ...heads)),
            element("tbody", { role: "rowgroup" }, ...rows.slice(0, shownRows[kind]).flatMap(workRows)),
        ),
        ...(left > 0
            ? [
                  element(
                      "p",
                      { class: "more" },
                      element("button", { type: "button", class: "action", onclick: showMore }, text),
                  ),
              ]
            : []),
    );
}

function workRows(one) {
    const isOpen = isPrinting || openRows.has(one.key);
    const button = element(
        "button",
        {
            type: "button",
            class: "opener",
            "aria-expanded": String(isOpen),
            "aria-controls": isOpen ? `work-${one.key}` : null,
        },
        element("span", { class: "chevron", "aria-hidden": "true" }),
        element("span", {}, ...named(one.table.id, one.table.name)),
    );
    const cell = (title, name, ...children) =>
        element("td", { role: "cell", "data-title": title, class: `work-${name}` }, ...children);
    const shown = row(
        { class: `work-row ${one.kind}` },
        element("th", { role: "rowheader", scope: "row" }, button),
        cell("Reason", "reason", element("span", {}, ...breakable(one.reason.name))),
        cell("Subnets", "subnets", subnetNumber(one)),
        cell("NAT", "nat", ...natsOf(one)),
        cell("VPC", "vpc", element("span", {}, resource(one.vpc.id, one.vpc.region), called(one.vpc.name))),
        cell(
            "Account",
            "where",
            element("span", {}, element("code", {}, one.vpc.account), element("span", { class: "called" }, one.vpc.region)),
        ),
        ...(TAGS === undefined ? [] : [cell(TAGS, "tags", element("span", {}, ...tagLines(one)))]),
    );
    shown.addEventListener("click", (event) => clickedWork(event, shown, one));
    return isOpen ? [shown, workDetail(one)] : [shown];
}

function subnetNumber(one) {
    const kept = foundByRow.get(one).length;
    const text = kept === one.subnets.length ? "" : ` of ${numbers.format(one.subnets.length)}`;
    return element("span", {}, element("strong", {}, numbers.format(kept)), text);
}

/** The values of each tag that subnets of a row have, in a line each. */
function tagLines(one) {
    return tagKeys.flatMap((key, place) => {
        const values = [...new Set(foundByRow.get(one).map((subnet) => subnet.tags[place]))].filter(Boolean);
        const shown = isPrinting ? values : values.slice(0, LISTED_VALUES);
        const more = values.length - shown.length;
        const text = [...shown, ...(more ? [`and ${numbers.format(more)} more`] : [])].join(", ");
        const name = element("span", { class: "quiet" }, `${key}: `);
        return text ? [element("span", { class: "one-tag" }, ...(tagKeys.length > 1 ? [name] : []), text)] : [];
    });
}

function natsOf(one) {
    if (one.nats.length === 0) return [element("span", { class: "quiet" }, "none")];
    return [
        element(
            "span",
            {},
            ...one.nats.map((id) => {
                const cost = costOf(one.vpc.region, id);
                return element(
                    "span",
                    { class: "one-nat" },
                    resource(id, one.vpc.region),
                    cost ? element("span", { class: "called" }, cost) : null,
                );
            }),
        ),
    ];
}

function clickedWork(event, shown, one) {
    if (event.target.closest("a") || (getSelection().type === "Range" && !event.target.closest("button"))) return;
    const button = shown.querySelector(".opener");
    const isOpen = openRows.has(one.key);
    button.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) {
        openRows.delete(one.key);
        button.removeAttribute("aria-controls");
        shown.nextElementSibling.remove();
    } else {
        openRows.add(one.key);
        button.setAttribute("aria-controls", `work-${one.key}`);
        shown.after(workDetail(one));
    }
}

function workDetail(one) {
    const [first] = foundByRow.get(one);
    const change = first.remedy.command; // that of all tables of a VPC that need the same endpoint
    const printed = change && printedChanges.get(change);
    if (isPrinting && change) printedChanges.set(change, printed ?? one);
    const actions = [
        [`Show ${one.subnets.length === 1 ? "its subnet" : "its subnets"}`, () => showSubnetsOf(one)],
        ["Show the drawing of its VPC", () => goToVpc(one.vpc)],
    ].map(([text, onclick]) => element("button", { type: "button", class: "action", onclick }, text));
    return row(
        { class: "opened", id: `work-${one.key}` },
        element(
            "td",
            { role: "cell", colspan: HEADS.length },
            element(
                "div",
                { class: "detail" },
                element("div", {}, element("h4", {}, "Path"), hopList(first), element("p", { class: "actions" }, ...actions)),
                element(
                    "div",
                    {},
                    element("h4", {}, "What to do"),
                    ...(printed
                        ? [element("p", {}, "This is the same change as that of ", code(printed.table.id), " above.")]
                        : remedyOf(first, one.table.id || first.id, first.remedy)),
                ),
            ),
        ),
    );
}

/** Filter to the subnets of a row. */
function showSubnetsOf(one) {
    clearState();
    state.vpc = one.vpc.key;
    state.reason = one.reason.name;
    state.search = one.table.id;
    changed();
    byId("search").value = state.search;
    byId("subnets").scrollIntoView({ block: "start" });
    byId("subnets").focus({ preventScroll: true });
}
