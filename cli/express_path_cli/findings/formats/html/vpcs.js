// The list of VPCs; each opens to its drawing.

const MORE_VPCS = 50;
const LINES = {
    nat: "crosses a NAT",
    endpoint: "gateway endpoint",
    internet: "internet gateway",
    unresolved: "unresolved",
    none: "no traffic",
};

const openVpcs = new Set();
let listedVpcs = [];
let shownVpcs = 0;

function makeVpcs() {
    const samples = Object.entries(LINES).map(([line, meaning]) =>
        element(
            "li",
            {},
            drawn(
                "svg",
                { width: 44, height: 10, "aria-hidden": "true" },
                drawn("path", { class: `edge line-${line}`, d: "M1 5H43" }),
            ),
            meaning,
        ),
    );
    byId("networks").append(
        element("ul", { class: "legend", "aria-label": "Meaning of the lines" }, ...samples),
        element("div", { id: "vpcs" }),
        element("div", { id: "more-vpcs" }),
    );
    byId("networks").hidden = false;
}

/** Show the VPCs of these subnets, those with the most NAT paths first; a drawing is made when it is opened. */
function showVpcs(found) {
    const wanted = new Set(found.map((subnet) => subnet.vpc));
    listedVpcs = vpcs.filter((vpc) => wanted.has(vpc));
    listedVpcs.sort((one, other) => other.crossing - one.crossing || (one.key < other.key ? -1 : 1));
    shownVpcs = firstOf(10, 3);
    listVpcs();
}

function listVpcs() {
    const shown = listedVpcs.slice(0, shownVpcs);
    const panels = shown.map(panelOf);
    byId("vpcs").replaceChildren(...panels);
    const left = listedVpcs.length - shown.length;
    const more = element(
        "button",
        { type: "button", class: "action", onclick: showMoreVpcs },
        left > MORE_VPCS ? `Show ${MORE_VPCS} more of ${numbers.format(left)} VPCs` : `Show ${count(left, "more VPC")}`,
    );
    byId("more-vpcs").replaceChildren(...(left > 0 ? [more] : []));
    byId("networks").hidden = listedVpcs.length === 0;
}

function showMoreVpcs() {
    const before = shownVpcs;
    shownVpcs += MORE_VPCS;
    listVpcs();
    byId("vpcs").children[before].querySelector("summary").focus();
}

function panelOf(vpc) {
    const crossing = vpc.crossing
        ? `${numbers.format(vpc.crossing)} of ${count(vpc.subnets.length, "subnet")} through a NAT`
        : `${count(vpc.subnets.length, "subnet")}, none through a NAT`;
    const panel = element(
        "details",
        { class: "vpc", "data-vpc": vpc.key, open: openVpcs.has(vpc.key) },
        element(
            "summary",
            {},
            element("span", { class: "chevron", "aria-hidden": "true" }),
            element(
                "span",
                { class: "title" },
                vpc.name ? element("strong", {}, vpc.name) : "",
                code(vpc.id || "no VPC"),
            ),
            element("span", { class: "quiet" }, `${vpc.region} · account ${vpc.account}`),
            element("span", { class: vpc.crossing ? "crossing nat" : "crossing" }, crossing),
        ),
    );
    panel.addEventListener("toggle", () => {
        if (!panel.isConnected) return;
        if (panel.open) openVpcs.add(vpc.key);
        else openVpcs.delete(vpc.key);
        draw(panel, vpc);
    });
    return panel;
}

function draw(panel, vpc) {
    if (!panel.open || panel.querySelector(".canvas")) return;
    const only = () => choose("vpc", vpc.key, changed);
    const canvas = element("div", {
        class: "canvas",
        tabindex: "0",
        role: "group",
        "aria-label": `Drawing of ${vpc.id}`,
    });
    panel.append(
        canvas,
        element(
            "p",
            { class: "under" },
            element("button", { type: "button", class: "action", onclick: only }, "Show only this VPC's subnets"),
        ),
    );
    const { paddingInlineStart, paddingInlineEnd } = getComputedStyle(canvas);
    const room = canvas.clientWidth - parseFloat(paddingInlineStart) - parseFloat(paddingInlineEnd);
    canvas.append(pictureOf(vpc, Math.max(room, 1)));
}

/** Open a VPC's drawing and scroll to it. */
function goToVpc(vpc) {
    openVpcs.add(vpc.key);
    shownVpcs = Math.max(shownVpcs, listedVpcs.indexOf(vpc) + 1);
    listVpcs();
    const summary = [...byId("vpcs").children].find((panel) => panel.dataset.vpc === vpc.key).querySelector("summary");
    summary.scrollIntoView({ block: "start" });
    summary.focus({ preventScroll: true });
}
