// The details of a row: the path hop by hop, other paths, and what to do.

function detailOf(subnet) {
    const inside = element(
        "div",
        { class: "detail" },
        element("p", { class: "annotation" }, subnet.annotation),
        element("div", {}, element("h3", {}, "Path"), hopList(subnet), ...otherPathList(subnet)),
        element("div", {}, element("h3", {}, "What to do"), ...remedy(subnet)),
    );
    return row(
        { class: "opened", id: `path-${subnet.place}` },
        element("td", { role: "cell", colspan: COLUMNS.length }, inside),
    );
}

function hopList(subnet) {
    const { path } = subnet;
    const steps = [
        step("subnet", subnet.id, subnet.name, subnet.zone),
        step("route table", subnet.table.id || "unknown", subnet.table.name, ""),
        ...path.hops.map((hop, place) =>
            step(hop.kind, hop.id, hop.name, `${place ? "route" : "deciding route"} ${hop.destination}`, hop.isNat),
        ),
    ];
    return element("ol", { class: `hops line-${path.reason.line}` }, ...steps);
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

function otherPathList(subnet) {
    if (subnet.otherPaths.length === 0) return [];
    const items = subnet.otherPaths.map((path) =>
        element("li", {}, element("strong", {}, path.reason.name), " ", code(pathText(path))),
    );
    return [
        element("h3", {}, "Other paths: other addresses, or routes that AWS may choose instead"),
        element("ul", { class: "other-paths" }, ...items),
    ];
}

function remedy(subnet) {
    const where = ` --region ${subnet.vpc.region}`;
    const commands = subnet.remedy.command ? [subnet.remedy.command] : [];
    commands.push(`express-path explain ${subnet.id}${where}`);
    if (subnet.reason.heals) commands.push(`express-path heal ${subnet.id}${where}`);
    return [
        element("p", {}, subnet.remedy.text || "Nothing to do."),
        ...commands.map((command) => element("pre", { tabindex: "0" }, code(command))),
        element(
            "button",
            { type: "button", class: "action", onclick: () => goToVpc(subnet.vpc) },
            "Show the drawing of its VPC",
        ),
    ];
}
