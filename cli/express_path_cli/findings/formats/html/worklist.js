// What to fix: one row for each route table and reason, because people fix route tables, not subnets.

const MORE_ROWS = 100;

const SECTIONS = [
    { kind: "flagged", title: "Route tables to fix" },
    { kind: "dropped", title: "Traffic that AWS drops" },
    { kind: "unresolved", title: "Paths that could not be followed" },
];

const HEADS = ["Route table", "Reason", "Subnets", "NAT", "VPC", "Account"];

const shownRows = {};
const openRows = new Set();
let foundByRow = new Map();

function makeWorklist() {
    byId("worklist").append(
        element("p", { id: "work-summary" }),
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
    byId("work-summary").textContent = workSummary(found);
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
    const isOpen = openRows.has(one.key);
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
        cell("VPC", "vpc", element("span", {}, code(one.vpc.id), called(one.vpc.name))),
        cell(
            "Account",
            "where",
            element("span", {}, element("code", {}, one.vpc.account), element("span", { class: "called" }, one.vpc.region)),
        ),
    );
    shown.addEventListener("click", (event) => clickedWork(event, shown, one));
    return isOpen ? [shown, workDetail(one)] : [shown];
}

function subnetNumber(one) {
    const kept = foundByRow.get(one).length;
    const text = kept === one.subnets.length ? "" : ` of ${numbers.format(one.subnets.length)}`;
    return element("span", {}, element("strong", {}, numbers.format(kept)), text);
}

function natsOf(one) {
    if (one.nats.length === 0) return [element("span", { class: "quiet" }, "none")];
    return [
        element(
            "span",
            {},
            ...one.nats.map((id) => element("span", { class: "one-nat" }, code(id))),
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
                    ...remedyOf(first, one.table.id || first.id, first.remedy),
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
