// The filters, and the fragment of the URL that keeps them, so that a copied link shows the same.

/** The filters by their key in the fragment: title, the id of the field, and the value of a subnet. */
const CHOICES = {
    compliance: { title: "Compliance", id: "choose-compliance", of: (subnet) => subnet.compliance },
    reason: { title: "Reason", id: "choose-reason", of: (subnet) => subnet.reason.name },
    account: { title: "Account", id: "choose-account", of: (subnet) => subnet.vpc.account },
    region: { title: "Region", id: "choose-region", of: (subnet) => subnet.vpc.region },
    vpc: { title: "VPC", id: "choose-vpc", of: (subnet) => subnet.vpc.key },
    ...(data.ownerTag && { owner: { title: data.ownerTag, id: "choose-owner", of: (subnet) => subnet.table.owner } }),
};

/** What is shown: search and filters are "" for all, sort is a column's key, with a minus for descending. */
const state = { search: "", sort: "", open: new Set() };
for (const key of Object.keys(CHOICES)) state[key] = "";

function readFragment() {
    const saved = new URLSearchParams(location.hash.slice(1));
    for (const key of ["search", "sort", ...Object.keys(CHOICES)]) state[key] = saved.get(key) ?? "";
    state.open = new Set((saved.get("open") ?? "").split(",").filter(Boolean));
}

function writeFragment() {
    const kept = ["search", ...Object.keys(CHOICES), "sort"]
        .filter((key) => state[key])
        .map((key) => [key, state[key]]);
    if (state.open.size) kept.push(["open", [...state.open].join(",")]);
    const text = new URLSearchParams(kept).toString();
    history.replaceState(null, "", text ? `#${text}` : location.href.split("#")[0]);
}

/** The subnets that match the search and every filter, worst first. */
function matching() {
    const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = Object.entries(CHOICES).filter(([key]) => state[key]);
    return worstFirst.filter(
        (subnet) =>
            chosen.every(([key, { of }]) => of(subnet) === state[key]) &&
            words.every((word) => searchTextOf(subnet).includes(word)),
    );
}

const isFiltered = () => Boolean(state.search) || Object.keys(CHOICES).some((key) => state[key]);

function makeFilters(changed) {
    const place = byId("filters");
    place.append(
        searchField(changed),
        ...Object.entries(CHOICES).map(([key, field]) => choice(key, field, changed)),
        element("button", { type: "button", id: "clear", onclick: () => clearFilters(changed) }, "Clear filters"),
        element("p", { role: "status", id: "shown" }),
    );
    place.hidden = false;
    // Sticky headings stay below this bar, so the page needs its height.
    const measure = () =>
        document.documentElement.style.setProperty(
            "--filters",
            getComputedStyle(place).position === "sticky" ? `${place.offsetHeight}px` : "0px",
        );
    new ResizeObserver(measure).observe(place);
}

function searchField(changed) {
    let waiting = 0;
    const field = element("input", {
        type: "search",
        id: "search",
        autocomplete: "off",
        spellcheck: "false",
        placeholder: "id, name, zone, target…",
        oninput: () => {
            clearTimeout(waiting);
            waiting = setTimeout(() => choose("search", field.value.trim(), changed), 120);
        },
    });
    return element("label", { class: "search" }, "Search", field);
}

function choice(key, { title, id, of }, changed) {
    const options = [...totalsOf(of)].map(([value, number]) => [
        value,
        `${optionText(key, value)} (${numbers.format(number)})`,
    ]);
    if (!["compliance", "reason"].includes(key)) options.sort((one, other) => (one[1] < other[1] ? -1 : 1));
    const select = element(
        "select",
        { id, onchange: (event) => choose(key, event.target.value, changed) },
        element("option", { value: "" }, "all"),
        ...options.map(([value, text]) => element("option", { value }, text)),
    );
    return element("label", {}, title, select);
}

function optionText(key, value) {
    if (key !== "vpc") return value;
    const vpc = vpcs.find((one) => one.key === value);
    return vpc.name ? `${vpc.name} · ${vpc.id}` : vpc.id;
}

function choose(key, value, changed) {
    state[key] = value;
    changed();
}

function clearState() {
    for (const key of ["search", ...Object.keys(CHOICES)]) state[key] = "";
}

function clearFilters(changed) {
    clearState();
    changed();
}

/** Show the state in the fields, and how many subnets match. */
function showFilters(found) {
    for (const [key, { id }] of Object.entries(CHOICES)) byId(id).value = state[key];
    if (document.activeElement !== byId("search")) byId("search").value = state.search;
    byId("clear").disabled = !isFiltered();
    const crossing = found.filter((subnet) => subnet.reason.line === "nat").length;
    byId("shown").textContent = isFiltered()
        ? `${numbers.format(found.length)} of ${count(subnets.length, "subnet")} shown, ${numbers.format(crossing)} through a NAT`
        : `${count(subnets.length, "subnet")}, ${numbers.format(crossing)} through a NAT`;
}
