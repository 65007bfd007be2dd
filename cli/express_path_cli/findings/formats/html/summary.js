// Totals by compliance and reason, each a button that filters subnets; and the rule parameters.

function makeSummary(changed) {
    const place = byId("summary");
    if (subnets.length > 0) place.append(complianceTotals(changed), reasonTotals(changed));
    place.hidden = subnets.length === 0;
}

function complianceTotals(changed) {
    const totals = totalsOf((subnet) => subnet.compliance);
    const tiles = compliances.map((name) =>
        element(
            "li",
            {},
            element(
                "button",
                { type: "button", class: `tile ${name}`, ...pressing("compliance", name, changed) },
                element("span", { class: "figure" }, numbers.format(totals.get(name) ?? 0)),
                badge(name),
            ),
        ),
    );
    return element(
        "div",
        { class: "card" },
        element("h2", {}, "By compliance"),
        element("ul", { class: "tiles" }, ...tiles),
        element("p", { class: "quiet" }, "Select a number to show only its subnets."),
    );
}

function reasonTotals(changed) {
    const totals = totalsOf((subnet) => subnet.reason);
    const most = Math.max(1, ...totals.values());
    const rows = [...totals].map(([reason, number]) => {
        const bar = element("span", { class: `share line-${reason.line}`, "aria-hidden": "true" });
        bar.style.inlineSize = `${(100 * number) / most}%`;
        return element(
            "li",
            {},
            element(
                "button",
                { type: "button", class: "reason", ...pressing("reason", reason.name, changed) },
                element("span", { class: "name" }, reason.name),
                element("span", { class: "meaning" }, reason.meaning),
                element("span", { class: "track" }, bar),
                element("span", { class: "number" }, numbers.format(number)),
            ),
        );
    });
    return element(
        "div",
        { class: "card" },
        element("h2", {}, "By reason"),
        element("ul", { class: "reasons" }, ...rows),
    );
}

/** Attributes of a button that filters by one value, and shows all again when pressed once more. */
function pressing(key, value, changed) {
    return {
        "data-key": key,
        "data-value": value,
        "aria-pressed": "false",
        onclick: () => choose(key, state[key] === value ? "" : value, changed),
    };
}

function showSummary() {
    for (const button of document.querySelectorAll("#summary button[data-key], #rollups button[data-key]"))
        button.setAttribute("aria-pressed", String(state[button.dataset.key] === button.dataset.value));
}

function makeParameters() {
    const rows = data.parameters.map(([name, value, isChanged]) =>
        element(
            "div",
            {},
            element("dt", {}, name),
            element("dd", {}, value || "none", isChanged ? element("em", {}, " set") : ""),
        ),
    );
    byId("parameters").append(element("dl", {}, ...rows));
    byId("parameters").hidden = false;
}

function badge(compliance) {
    return element(
        "span",
        { class: `badge ${compliance}` },
        element("span", { "aria-hidden": "true" }, MARKS[compliance]),
        compliance,
    );
}
