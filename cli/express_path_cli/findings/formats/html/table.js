// The table of subnets, in pages; a row opens to its details.

const called = (name) => (name ? element("span", { class: "called" }, name) : null);

const named = (id, name) => [code(id || "unknown"), called(name)];

const COLUMNS = [
    { key: "subnet", title: "Subnet", of: (subnet) => subnet.id, cell: opener },
    {
        key: "compliance",
        title: "Compliance",
        of: (subnet) => subnet.complianceRank,
        cell: (subnet) => [badge(subnet.compliance)],
    },
    {
        key: "reason",
        title: "Reason",
        of: (subnet) => subnet.reason.rank,
        cell: (subnet) => breakable(subnet.reason.name),
    },
    { key: "path", title: "Path", of: (subnet) => pathText(subnet.path), cell: pathCell },
    {
        key: "table",
        title: "Route table",
        of: (subnet) => subnet.table.id,
        cell: (subnet) => named(subnet.table.id, subnet.table.name),
    },
    {
        key: "vpc",
        title: "VPC",
        of: (subnet) => subnet.vpc.id,
        cell: (subnet) => named(subnet.vpc.id, subnet.vpc.name),
    },
    { key: "zone", title: "Zone", of: (subnet) => subnet.zone, cell: (subnet) => [subnet.zone] },
    { key: "region", title: "Region", of: (subnet) => subnet.vpc.region, cell: (subnet) => [subnet.vpc.region] },
    {
        key: "account",
        title: "Account",
        of: (subnet) => subnet.vpc.account,
        cell: (subnet) => [element("code", {}, subnet.vpc.account)],
    },
];

let listed = [];
let page = 0;
let pageSize = 1;

// These roles keep it a table for screen readers when a narrow screen shows it as cards.
const row = (attributes, ...cells) => element("tr", { role: "row", ...attributes }, ...cells);

function makeTable(changed) {
    const heads = COLUMNS.map(({ key, title }) =>
        element(
            "th",
            { scope: "col", role: "columnheader", "data-column": key, "aria-sort": "none" },
            element(
                "button",
                { type: "button", onclick: () => sortBy(key, changed) },
                title,
                element("span", { class: "arrow", "aria-hidden": "true" }),
            ),
        ),
    );
    byId("subnets").append(
        element(
            "table",
            { role: "table", class: "paths" },
            element(
                "caption",
                {},
                "The subnets and their paths to S3 Express. Open a subnet to see its path hop by hop; select a heading to sort.",
            ),
            element("thead", { role: "rowgroup" }, row({}, ...heads)),
            element("tbody", { role: "rowgroup", id: "rows", onclick: clicked }),
        ),
        element(
            "p",
            { id: "none", class: "empty", hidden: true },
            "No subnets match. Clear the filters to show all.",
        ),
        makePager(),
    );
    byId("subnets").hidden = false;
}

function sortBy(key, changed) {
    state.sort = state.sort === key ? `-${key}` : key;
    changed();
}

/** Show these subnets in the selected order, beginning with the page of the first open one. */
function showTable(found) {
    const descending = state.sort.startsWith("-");
    const column = COLUMNS.find(({ key }) => key === state.sort.replace("-", ""));
    listed = column ? sorted(found, column.of, descending ? -1 : 1) : found;
    for (const head of byId("subnets").querySelectorAll("th")) {
        const isSorted = column !== undefined && head.dataset.column === column.key;
        head.setAttribute("aria-sort", isSorted ? (descending ? "descending" : "ascending") : "none");
    }
    pageSize = firstOf(100, 10);
    const opened = listed.findIndex((subnet) => state.open.has(subnet.id));
    turnTo(Math.max(0, Math.floor(opened / pageSize)));
}

function sorted(found, of, sign) {
    const keyed = found.map((subnet, place) => ({ subnet, place, key: of(subnet) }));
    keyed.sort((one, other) => (one.key === other.key ? one.place - other.place : one.key < other.key ? -sign : sign));
    return keyed.map(({ subnet }) => subnet);
}

function turnTo(wanted) {
    const last = Math.max(0, Math.ceil(listed.length / pageSize) - 1);
    page = Math.min(wanted, last);
    const first = page && page * pageSize;
    const shown = listed.slice(first, first + pageSize);
    byId("rows").replaceChildren(...shown.flatMap(rowsOf));
    byId("none").hidden = listed.length > 0;
    const range = `${numbers.format(first + 1)} to ${numbers.format(first + shown.length)}`;
    byId("range").textContent = last ? `${range} of ${numbers.format(listed.length)}` : "";
    for (const button of byId("pager").querySelectorAll("button"))
        button.disabled = button.dataset.back ? page === 0 : page === last;
    byId("pager").hidden = last === 0;
}

function makePager() {
    const turn = (title, isBack, to) =>
        element(
            "button",
            { type: "button", "data-back": isBack, onclick: (event) => turned(event.target, to()) },
            title,
        );
    return element(
        "nav",
        { id: "pager", "aria-label": "Pages of subnets" },
        turn("First", "yes", () => 0),
        turn("Previous", "yes", () => page - 1),
        element("p", { role: "status", id: "range" }),
        turn("Next", null, () => page + 1),
        turn("Last", null, () => listed.length),
    );
}

/** Show another page from its top; the focus stays on the button unless it is disabled. */
function turned(button, to) {
    turnTo(to);
    byId("subnets").scrollIntoView({ block: "start" });
    (button.disabled ? byId("subnets") : button).focus({ preventScroll: true });
}

function rowsOf(subnet) {
    const cells = COLUMNS.map(({ key, title, cell }) =>
        element(
            key === "subnet" ? "th" : "td",
            {
                role: key === "subnet" ? "rowheader" : "cell",
                scope: key === "subnet" ? "row" : null,
                "data-title": title,
                class: `cell-${key}`,
            },
            ...cell(subnet),
        ),
    );
    const shown = row({ "data-place": subnet.place, class: `subnet ${subnet.compliance}` }, ...cells);
    return state.open.has(subnet.id) ? [shown, detailOf(subnet)] : [shown];
}

function opener(subnet) {
    const isOpen = state.open.has(subnet.id);
    return [
        element(
            "button",
            {
                type: "button",
                class: "opener",
                "aria-expanded": String(isOpen),
                "aria-controls": isOpen ? `path-${subnet.place}` : null,
            },
            element("span", { class: "chevron", "aria-hidden": "true" }),
            element("span", {}, ...named(subnet.id, subnet.name)),
        ),
    ];
}

function pathCell(subnet) {
    const { hops } = subnet.path;
    if (hops.length === 0) return [element("span", { class: "quiet" }, subnet.reason.meaning)];
    const steps = hops.flatMap((hop) => [
        " ",
        element(
            "span",
            { class: "step" },
            "→ ",
            element("code", { class: hop.isNat ? "nat" : null, title: hop.kind }, hop.id),
        ),
    ]);
    return [element("code", {}, hops[0].destination), ...steps];
}

function clicked(event) {
    const shown = event.target.closest("tr.subnet");
    if (shown === null || (getSelection().type === "Range" && !event.target.closest("button"))) return;
    toggle(shown, subnets[Number(shown.dataset.place)]);
}

function toggle(shown, subnet) {
    const button = shown.querySelector(".opener");
    const isOpen = button.getAttribute("aria-expanded") === "true";
    button.setAttribute("aria-expanded", String(!isOpen));
    if (isOpen) {
        state.open.delete(subnet.id);
        button.removeAttribute("aria-controls");
        shown.nextElementSibling.remove();
    } else {
        state.open.add(subnet.id);
        button.setAttribute("aria-controls", `path-${subnet.place}`);
        shown.after(detailOf(subnet));
    }
    writeFragment();
}
