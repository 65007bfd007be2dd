// The drawing of a VPC.

let pictures = 0;

/** The least factor by which a drawing is made smaller, so that its texts stay legible. */
const SMALLEST = 0.76;

/** A drawing, which is made smaller if its place is narrower. */
function pictureOf(vpc, room) {
    const { width, height, nodes, edges } = layoutOf(vpc, room);
    pictures += 1;
    const [titleId, descId] = [`picture-${pictures}`, `picture-${pictures}-words`];
    const picture = drawn(
        "svg",
        {
            width,
            height,
            viewBox: `0 0 ${width} ${height}`,
            role: "img",
            "aria-labelledby": titleId,
            "aria-describedby": descId,
        },
        drawn("title", { id: titleId }, `Paths of ${vpc.name ? `${vpc.name}, ` : ""}${vpc.id} to S3 Express`),
        drawn("desc", { id: descId }, descriptionOf(vpc)),
        ...[...edges].reverse().map(edgeOf),
        ...nodes.map(boxOf),
    );
    picture.style.minInlineSize = `${Math.floor(width * SMALLEST)}px`;
    return picture;
}

function descriptionOf(vpc) {
    return groupsOf(vpc)
        .map(({ subnets: governed, byTable, first }) => {
            const tables =
                byTable.size === 1 ? `route table ${first.table.id || "unknown"}` : count(byTable.size, "route table");
            const path = first.path.hops.map((hop) => `${hop.kind} ${hop.id}`).join(", then ");
            return `${count(governed.length, "subnet")} ${first.reason.name} by ${tables}${path ? `, then ${path}` : ""}.`;
        })
        .join(" ");
}

function edgeOf(edge) {
    const start = startOf(edge);
    const end = endOf(edge);
    const bend = (end.x - start.x) / 2;
    const curve = `M${start.x} ${start.y}C${start.x + bend} ${start.y} ${end.x - bend} ${end.y} ${end.x - 7} ${end.y}`;
    return drawn(
        "g",
        { class: `line-${edge.line}` },
        drawn("path", { class: `edge line-${edge.line}`, d: curve }),
        drawn("path", {
            class: "head",
            d: `M${end.x - 8} ${end.y - 4.5}L${end.x} ${end.y}L${end.x - 8} ${end.y + 4.5}Z`,
        }),
    );
}

function boxOf(box) {
    const { x, y, width, height, lines, ports, kind } = box;
    const texts = lines.map((line, place) => lineOf(line, box, y + BOX.pad + BOX.line * place + 12));
    const routes = ports.map(({ text, line }, place) => {
        const at = portY(box, place);
        return drawn(
            "g",
            { class: `port line-${line}` },
            drawn(
                "text",
                { class: "mono", x: x + BOX.pad, y: at + 4 },
                fitting(text, "mono", width - 2 * BOX.pad - 34),
            ),
            line === "nat"
                ? drawn("text", { class: "way", x: x + width - BOX.pad, y: at + 4, "text-anchor": "end" }, "NAT")
                : null,
        );
    });
    const rule = ports.length ? drawn("path", { class: "rule", d: `M${x} ${portY(box, 0) - 12}H${x + width}` }) : null;
    return drawn(
        "g",
        { class: `box box-${kind}` },
        drawn("title", {}, lines.map(({ text, aside }) => (aside ? `${text} ${aside}` : text)).join("\n")),
        drawn("rect", { x, y, width, height, rx: 5 }),
        rule,
        ...texts,
        ...routes,
    );
}

function lineOf({ text, look, aside }, { x, width }, y) {
    const room = width - 2 * BOX.pad;
    // A heading is not cut; it is made narrower if necessary.
    const squeezed =
        look === "title" && widthOf(text, look) > room ? { textLength: room, lengthAdjust: "spacingAndGlyphs" } : {};
    const shown = look === "title" ? text : fitting(text, look, room);
    const line = drawn("text", { class: look, x: x + BOX.pad, y, ...squeezed }, shown);
    if (!aside) return line;
    const left = room - widthOf(shown, look) - 8;
    return drawn(
        "g",
        {},
        line,
        drawn(
            "text",
            { class: "plain", x: x + width - BOX.pad, y, "text-anchor": "end" },
            fitting(aside, "plain", left),
        ),
    );
}

/** A text that is cut in its middle if it is too wide. */
function fitting(text, look, room) {
    const characters = [...text];
    let kept = Math.ceil(characters.length / 2);
    let shown = text;
    while (kept > 0 && widthOf(shown, look) > room) {
        kept -= 1;
        shown = `${characters.slice(0, kept).join("")}…${kept ? characters.slice(-kept).join("") : ""}`;
    }
    return shown;
}
