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
        step("subnet", code(subnet.id), subnet.name, subnet.zone),
        step("route table", code(subnet.table.id || "unknown"), subnet.table.name, ""),
        ...hopSteps(path),
    ];
    return element("ol", { class: `hops line-${path.reason.line}` }, ...steps);
}

const hopSteps = (path) =>
    path.hops.map((hop, place) => {
        const how = `${place ? "route" : "deciding route"} ${hop.destination}`;
        return step(hop.kind, code(hop.id), "", how, hop.isNat);
    });

function step(kind, id, name, how, isNat = false) {
    return element(
        "li",
        { class: isNat ? "nat" : null },
        element("span", { class: "kind" }, kind),
        id,
        name ? element("span", { class: "called" }, name) : null,
        how ? element("span", { class: "how" }, how) : null,
    );
}

function otherPathList({ otherPaths: others }) {
    if (others.length === 0) return [];
    const items = others.map((path) =>
        element("li", {}, element("strong", {}, path.reason.name), " ", code(pathText(path))),
    );
    return [
        element("p", { class: "others" }, "Other paths: other addresses, or routes that AWS may choose instead"),
        element("ul", { class: "other-paths" }, ...items),
    ];
}

function remedy(subnet) {
    return [
        ...remedyOf(subnet),
        element(
            "button",
            { type: "button", class: "action", onclick: () => goToVpc(subnet.vpc) },
            "Show the drawing of its VPC",
        ),
    ];
}

/** What to do about a subnet, or about the route table to heal: in words, as patches, and as commands. */
function remedyOf(subnet, healed = subnet.id, remedy = subnet.remedy) {
    const { reason, vpc } = subnet;
    const where = ` --region ${vpc.region}`;
    const patches = [
        ["AWS CLI", remedy.command],
        ["CloudFormation", remedy.cloudFormation],
        ["Terraform", remedy.terraform],
    ].filter(([, text]) => text);
    const more = (options) => (options ? ` ${options}` : "");
    const commands = [`express-path explain ${subnet.id}${where}${more(data.explainOptions)}`];
    if (reason.heals) commands.push(`express-path heal ${healed}${where}${more(data.healOptions)}`);
    return [
        element("p", {}, remedy.text || "Nothing to do."),
        ...patches.flatMap(([title, text], place) => patch(title, text, place === 0)),
        ...patch("express-path", commands.join("\n"), true),
    ];
}

/** A text to copy, which is folded unless it is short. */
function patch(title, text, isOpen) {
    return [
        element(
            "details",
            { class: "patch", open: isOpen },
            element("summary", {}, title),
            element("pre", { tabindex: "0", "aria-label": title, role: "group" }, code(text.trimEnd())),
            copyButton(title, text.trimEnd()),
        ),
    ];
}

/** A button that copies a text, and says so. */
function copyButton(title, text) {
    const button = element("button", { type: "button", class: "copy", "aria-label": `Copy ${title}` }, "Copy");
    button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(text);
        button.textContent = "Copied";
    });
    return button;
}
