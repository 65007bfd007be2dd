// An opened row: the path hop by hop, what else there is, and what to do.

function detailOf(subnet) {
    const inside = element(
        "div",
        { class: "detail" },
        element("p", { class: "annotation" }, subnet.annotation),
        element("div", {}, element("h3", {}, "Path"), hopList(subnet), ...besideList(subnet)),
        element("div", {}, element("h3", {}, "What to do"), ...remedy(subnet)),
    );
    return row(
        { class: "opened", id: `path-${subnet.place}` },
        element("td", { role: "cell", colspan: COLUMNS.length }, inside),
    );
}

function hopList(subnet) {
    const { way } = subnet;
    const steps = [
        step("subnet", subnet.id, subnet.name, subnet.zone),
        step("route table", subnet.table.id || "not seen", subnet.table.name, ""),
        ...way.hops.map((hop, place) =>
            step(hop.kind, hop.id, hop.name, `${place ? "by" : "deciding route"} ${hop.destination}`, hop.isNat),
        ),
    ];
    return element("ol", { class: `hops line-${way.reason.line}` }, ...steps);
}

function step(kind, id, name, how, isNat = false) {
    return element(
        "li",
        { class: isNat ? "nat" : null },
        element("span", { class: "kind" }, kind),
        element("code", {}, id),
        name ? element("span", { class: "called" }, name) : null,
        how ? element("span", { class: "how" }, how) : null,
    );
}

function besideList(subnet) {
    if (subnet.besides.length === 0) return [];
    const items = subnet.besides.map((way) =>
        element("li", {}, element("strong", {}, way.reason.name), " ", code(wayText(way))),
    );
    return [
        element("h3", {}, "Other addresses, or other choices of AWS"),
        element("ul", { class: "besides" }, ...items),
    ];
}

function remedy(subnet) {
    const where = ` --region ${subnet.vpc.region}`;
    const commands = [`express-path explain ${subnet.id}${where}`];
    if (subnet.reason.heals) commands.push(`express-path heal ${subnet.id}${where}`);
    return [
        element("p", {}, subnet.reason.fix || "Nothing."),
        ...commands.map((command) => element("pre", { tabindex: "0" }, code(command))),
        element(
            "button",
            { type: "button", class: "action", onclick: () => goToVpc(subnet.vpc) },
            "Show its VPC's drawing",
        ),
    ];
}
