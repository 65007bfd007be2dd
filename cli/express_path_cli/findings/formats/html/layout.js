// The positions of boxes and lines in a VPC's drawing: subnets, their route tables, then the hops of each path.

const BOX = { pad: 10, line: 17, gap: 14, listed: 5, apart: 4 };
/** The least and the most that the boxes of a column, and the lines between two columns, may be wide. */
const WIDTHS = { subnets: [150, 370], other: [132, 208], lane: [18, 64] };
const END = WIDTHS.other[1] - 2 * BOX.pad;

/** The drawing of a VPC, to fit into a width if it can: { width, height, nodes, edges }; a node has x, y, width, height, lines and ports. */
function layoutOf(vpc, room) {
    const plan = { nodes: new Map(), edges: new Map() };
    for (const group of groupsOf(vpc)) {
        const { byTable } = group;
        if (byTable.size > BOX.apart) addTables(plan, group, [...byTable.keys()], group.subnets);
        else for (const [table, governed] of byTable) addTables(plan, group, [table], governed);
    }
    return placed([...plan.nodes.values()], [...plan.edges.values()], room);
}

const byName = new Intl.Collator("en", { numeric: true });

/** Groups of subnets with the same verdict and paths, worst first, then by name, each with its tables. */
function groupsOf(vpc) {
    const groups = new Map();
    const worstFirst = [...vpc.subnets].sort(
        (one, other) =>
            one.complianceRank - other.complianceRank ||
            one.reason.rank - other.reason.rank ||
            byName.compare(one.name || one.id, other.name || other.id),
    );
    for (const subnet of worstFirst) {
        const key = `${subnet.compliance} ${subnet.pathIndex} ${subnet.otherPathsIndex}`;
        if (!groups.has(key)) groups.set(key, { key, first: subnet, subnets: [], byTable: new Map() });
        const group = groups.get(key);
        group.subnets.push(subnet);
        if (!group.byTable.has(subnet.table)) group.byTable.set(subnet.table, []);
        group.byTable.get(subnet.table).push(subnet);
    }
    return [...groups.values()];
}

function addTables(plan, group, tables, governed) {
    const { first } = group;
    const from = node(plan, 0, `${group.key} ${tables[0].id}`, { kind: "subnets", ...subnetLines(governed, first) });
    const box = { kind: "table", ...tableLines(tables) };
    const to = node(plan, 1, tables.length > 1 ? `several ${group.key}` : `table ${tables[0].id}`, box);
    edge(plan, from, null, to, first.reason.line);
    for (const path of [first.path, ...first.otherPaths]) addPath(plan, to, path);
}

function addPath(plan, table, path) {
    const { line } = path.reason;
    if (path.hops.length === 0) {
        const end = node(plan, 2, `end ${path.reason.name}`, {
            kind: "end",
            lines: [title(path.reason.name), ...wrapped(path.reason.meaning, END)],
        });
        edge(plan, table, null, end, line);
        return;
    }
    let before = table;
    for (const [place, hop] of path.hops.entries()) {
        const isLast = place === path.hops.length - 1;
        const box = hopBox(hop, line, isLast);
        const next = node(plan, place + 2, `${hop.id} ${box.kind}`, box);
        edge(plan, before, port(before, hop, next, line), next, line);
        before = next;
    }
}

/** The kind of a hop's box. A hop where traffic ends or becomes unknown has a box of its own. */
function boxKind(hop, line, isLast) {
    if (hop.isNat) return "nat";
    if (!isLast || line === "nat") return "hop";
    return line === "none" ? "end" : line;
}

function hopBox(hop, line, isLast) {
    const kind = boxKind(hop, line, isLast);
    const lines = [title(hop.kind), mono(hop.id)];
    if (kind === "end") lines.push(plain("traffic ends here"));
    if (kind === "unresolved") lines.push(plain("path unknown from here"));
    return { kind, lines };
}

const title = (text) => ({ text, look: "title" });
const plain = (text) => ({ text, look: "plain" });
const mono = (text) => ({ text, look: "mono" });

function subnetLines(governed, first) {
    const lines = [
        title(count(governed.length, "subnet")),
        { text: `${MARKS[first.compliance]} ${first.reason.name}`, look: "verdict" },
    ];
    const shown = governed.length <= BOX.listed + 1 ? governed : governed.slice(0, BOX.listed);
    for (const subnet of shown) lines.push({ text: subnet.id, look: "mono", aside: subnet.name });
    if (shown.length < governed.length) lines.push(plain(`and ${numbers.format(governed.length - shown.length)} more`));
    return { lines };
}

function tableLines(tables) {
    if (tables.length === 1) {
        const [table] = tables;
        const lines = [title("route table"), mono(table.id || "unknown")];
        return { lines: table.name ? [...lines, plain(table.name)] : lines };
    }
    const shown = tables.length <= BOX.listed + 1 ? tables : tables.slice(0, BOX.listed);
    const lines = [title(count(tables.length, "route table")), ...shown.map((table) => mono(table.id || "unknown"))];
    if (shown.length < tables.length) lines.push(plain(`and ${numbers.format(tables.length - shown.length)} more`));
    return { lines };
}

const pen = document.createElement("canvas").getContext("2d");
const FONTS = { title: "600 12px", verdict: "600 12px", plain: "12px", mono: "11px" };

const families = getComputedStyle(document.documentElement);

/** How wide a text is, in pixels, by the page's own fonts. */
function widthOf(text, look) {
    pen.font = `${FONTS[look]} ${families.getPropertyValue(look === "mono" ? "--mono" : "--sans")}`;
    return pen.measureText(text).width;
}

/** A sentence in lines of a width. */
function wrapped(text, width) {
    const lines = [""];
    for (const word of text.split(" ")) {
        const longer = `${lines.at(-1)} ${word}`.trim();
        if (widthOf(longer, "plain") <= width) lines[lines.length - 1] = longer;
        else lines.push(word);
    }
    return lines.map(plain);
}

function node(plan, column, key, box) {
    const whole = `${column} ${key}`;
    if (!plan.nodes.has(whole)) plan.nodes.set(whole, { ...box, column, key: whole, ports: [] });
    return plan.nodes.get(whole);
}

/** The index of the route in a box that a line to a target starts from; a new route is added. */
function port(from, hop, to, line) {
    const key = `${hop.destination} ${to.key}`;
    const known = from.ports.findIndex((one) => one.key === key);
    return known >= 0 ? known : from.ports.push({ key, text: hop.destination, line }) - 1;
}

/** Add a line between boxes; of several between the same boxes, the first one is kept, which is the worst. */
function edge(plan, from, fromPort, to, line) {
    const key = `${from.key}|${fromPort}|${to.key}`;
    if (!plan.edges.has(key)) plan.edges.set(key, { from, fromPort, to, line });
}

function placed(nodes, edges, room) {
    const { widths, lane } = columnsOf(nodes, room);
    let x = 1;
    for (const [column, width] of widths.entries()) {
        const here = nodes.filter((box) => box.column === column);
        for (const box of here) {
            box.x = x;
            box.width = width;
            box.height =
                2 * BOX.pad + BOX.line * (box.lines.length + box.ports.length) + (box.ports.length ? 6 : 0);
        }
        const starts = startsAt(edges);
        // Tables are next to their worst subnets, hops in the middle of the lines that lead to them.
        stack(here, (box) => (column < 2 ? Math.min(...(starts.get(box) ?? [0])) : mean(starts.get(box) ?? [0])));
        x += width + lane;
    }
    const first = nodes.filter((box) => box.column === 0);
    const ends = new Map(edges.filter(({ from }) => from.column === 0).map(({ from, to }) => [from, endOf({ to }).y]));
    stack(first, (box) => ends.get(box));
    const height = Math.max(...nodes.map((box) => box.y + box.height)) + 1;
    return { width: x - lane + 1, height, nodes, edges };
}

/** The widths of the columns, by their texts, and of the lines between them, which take what is left of the room. */
function columnsOf(nodes, room) {
    const widths = [];
    for (const box of nodes) {
        const [least, most] = box.column === 0 ? WIDTHS.subnets : WIDTHS.other;
        const wanted = Math.min(most, Math.max(least, wantedWidth(box)));
        widths[box.column] = Math.max(widths[box.column] ?? 0, wanted);
    }
    const [least, most] = WIDTHS.lane;
    const needed = widths.reduce((sum, width) => sum + width, 2);
    const tooWide = needed + least * (widths.length - 1) - room;
    if (tooWide > 0) {
        // The names beside the ids of subnets are cut first: an id that is cut is useless.
        const ids = nodes.filter((box) => box.column === 0).map((box) => wantedWidth(box, false));
        widths[0] = Math.min(widths[0], Math.max(...ids, widths[0] - tooWide));
    }
    // A name that the usual width would cut gets what is left.
    let left = room - widths.reduce((sum, width) => sum + width, 2);
    for (const [column, width] of widths.entries()) {
        const wanted = Math.max(...nodes.filter((box) => box.column === column).map((box) => wantedWidth(box)));
        const more = Math.max(0, Math.min(wanted - width, left - least * (widths.length - 1)));
        widths[column] += more;
        left -= more;
    }
    return { widths, lane: Math.max(least, Math.min(most, left / Math.max(1, widths.length - 1))) };
}

/** The width at which no text of a box is cut. */
function wantedWidth({ lines, ports }, withAsides = true) {
    const asideOf = (aside) => (aside && withAsides ? widthOf(aside, "plain") + 10 : 0);
    const texts = lines.map(({ text, look, aside }) => widthOf(text, look) + asideOf(aside));
    const routes = ports.map(({ text }) => widthOf(text, "mono") + 34);
    return Math.ceil(Math.max(...texts, ...routes)) + 2 * BOX.pad + 1;
}

const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** For each box, the heights at which lines to it start, if those boxes have a position. */
function startsAt(edges) {
    const starts = new Map();
    for (const line of edges.filter(({ from }) => from.y !== undefined))
        starts.set(line.to, [...(starts.get(line.to) ?? []), startOf(line).y]);
    return starts;
}

/** Stack boxes, each as close to its preferred height as the boxes above it allow. */
function stack(boxes, wanted) {
    const inOrder = boxes.map((box, place) => ({ box, place, middle: wanted(box) }));
    inOrder.sort((one, other) => one.middle - other.middle || one.place - other.place);
    let free = 1;
    for (const { box, middle } of inOrder) {
        box.y = Math.max(free, middle - box.height / 2);
        free = box.y + box.height + BOX.gap;
    }
}

const portY = (box, place) => box.y + BOX.pad + BOX.line * (box.lines.length + place) + 6 + BOX.line / 2;

const startOf = ({ from, fromPort }) => ({
    x: from.x + from.width,
    y: fromPort === null ? from.y + from.height / 2 : portY(from, fromPort),
});

const endOf = ({ to }) => ({ x: to.x, y: to.y + to.height / 2 });
