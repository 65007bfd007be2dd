// Which subnets are shown, and the URL's fragment that keeps it, so that a link shows the same.

const CHOICES = {
    compliance: ["Compliance", (subnet) => subnet.compliance],
    reason: ["Reason", (subnet) => subnet.reason.name],
    account: ["Account", (subnet) => subnet.vpc.account],
    region: ["Region", (subnet) => subnet.vpc.region],
    vpc: ["VPC", (subnet) => subnet.vpc.key],
};

/** What is shown: search and choices are "" for all, sort is a column's key, with a minus for descending. */
const state = { search: "", compliance: "", reason: "", account: "", region: "", vpc: "", sort: "", open: new Set() };

function readFragment() {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const key of ["search", "sort", ...Object.keys(CHOICES)]) state[key] = given.get(key) ?? "";
    state.open = new Set((given.get("open") ?? "").split(",").filter(Boolean));
}

function writeFragment() {
    const kept = ["search", ...Object.keys(CHOICES), "sort"]
        .filter((key) => state[key])
        .map((key) => [key, state[key]]);
    if (state.open.size) kept.push(["open", [...state.open].join(",")]);
    const text = new URLSearchParams(kept).toString();
    history.replaceState(null, "", text ? `#${text}` : location.href.split("#")[0]);
}

/** The subnets that fit the search and every choice, worst first. */
function matching() {
    const words = state.search.toLowerCase().split(/\s+/).filter(Boolean);
    const chosen = Object.entries(CHOICES).filter(([key]) => state[key]);
    return worstFirst.filter(
        (subnet) =>
            chosen.every(([key, [, of]]) => of(subnet) === state[key]) &&
            words.every((word) => wordsOf(subnet).includes(word)),
    );
}

const isFiltered = () => Boolean(state.search) || Object.keys(CHOICES).some((key) => state[key]);

function makeFilters(changed) {
    const place = byId("filters");
    place.append(
        searchField(changed),
        ...Object.entries(CHOICES).map(([key, [title, of]]) => choice(key, title, of, changed)),
    );
    place.append(
        element("button", { type: "button", id: "clear", onclick: () => clearFilters(changed) }, "Clear"),
        element("p", { role: "status", id: "shown" }),
    );
    place.hidden = false;
    // What sticks to the top is below this bar, whatever its height.
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

function choice(key, title, of, changed) {
    const options = [...totalsOf(of)].map(([value, number]) => [
        value,
        `${optionText(key, value)} (${numbers.format(number)})`,
    ]);
    if (!["compliance", "reason"].includes(key)) options.sort((one, other) => (one[1] < other[1] ? -1 : 1));
    const select = element(
        "select",
        { id: `choose-${key}`, onchange: (event) => choose(key, event.target.value, changed) },
        element("option", { value: "" }, "all"),
        ...options.map(([value, text]) => element("option", { value }, text)),
    );
    return element("label", {}, title, select);
}

function optionText(key, value) {
    if (key !== "vpc") return value;
    const vpc = vpcs.find((each) => each.key === value);
    return vpc.name ? `${vpc.name} · ${vpc.id}` : vpc.id;
}

function choose(key, value, changed) {
    state[key] = value;
    changed();
}

function clearFilters(changed) {
    for (const key of ["search", ...Object.keys(CHOICES)]) state[key] = "";
    changed();
}

/** Let the fields show the state, and say how many subnets fit. */
function showFilters(found) {
    for (const key of Object.keys(CHOICES)) byId(`choose-${key}`).value = state[key];
    if (document.activeElement !== byId("search")) byId("search").value = state.search;
    byId("clear").disabled = !isFiltered();
    const crossing = found.filter((subnet) => subnet.reason.line === "nat").length;
    byId("shown").textContent = isFiltered()
        ? `${numbers.format(found.length)} of ${count(subnets.length, "subnet")} chosen, ${numbers.format(crossing)} through a NAT`
        : `${count(subnets.length, "subnet")}, ${numbers.format(crossing)} through a NAT`;
}
