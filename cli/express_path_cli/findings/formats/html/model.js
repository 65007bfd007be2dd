// The data block as objects: the indexes in its rows are replaced by the values of its lists.

const data = JSON.parse(byId("data").textContent);

const MARKS = { NON_COMPLIANT: "✕", COMPLIANT: "✓", NOT_APPLICABLE: "–" };

const compliances = data.compliances;

/** line is how paths of this reason are drawn: nat, endpoint, internet, unresolved or none. */
const reasons = data.reasons.map(([name, meaning, line, heals], rank) => ({
    name,
    meaning,
    line,
    heals: heals === 1,
    rank,
}));

const paths = data.paths.map(([reason, hops]) => ({
    reason: reasons[reason],
    hops: hops.map(([kind, id, destination, isNat]) => ({ kind, id, destination, isNat: isNat === 1 })),
}));

const otherPaths = data.otherPaths.map((indexes) => indexes.map((index) => paths[index]));

const vpcs = data.vpcs.map(([account, region, id, name]) => ({
    account,
    region,
    id,
    name,
    key: `${account}/${region}/${id}`,
    subnets: [],
    crossing: 0,
}));

const remedies = data.remedies.map(([text, command, cloudFormation, terraform]) => ({
    text,
    command,
    cloudFormation,
    terraform,
}));

const tables = data.tables.map(([id, name, owner]) => ({ id, name, owner }));

/** What to fix: kind is flagged, dropped or unresolved; the rows are worst first. */
const worklist = data.worklist.map(([kind, vpc, table, reason, nats]) => ({
    kind,
    key: worklistKey(vpc, table, reason),
    vpc: vpcs[vpc],
    table: tables[table],
    reason: reasons[reason],
    nats,
    subnets: [],
}));

const worklistRows = new Map(worklist.map((one) => [one.key, one]));

/** The indexes that the subnets of a row of the worklist have in common. */
function worklistKey(vpc, table, reason) {
    return `${vpc}-${table}-${reason}`;
}

const subnets = data.subnets.map((row, place) => {
    const [id, name, vpc, zone, table, compliance, reason, annotation, path, others, remedy] = row;
    const subnet = {
        id,
        name,
        place,
        pathIndex: path,
        otherPathsIndex: others,
        vpc: vpcs[vpc],
        zone: data.zones[zone],
        table: tables[table],
        compliance: compliances[compliance],
        complianceRank: compliance,
        reason: reasons[reason],
        annotation: data.annotations[annotation],
        path: paths[path],
        otherPaths: otherPaths[others],
        remedy: remedies[remedy],
        searchText: null,
    };
    worklistRows.get(worklistKey(vpc, table, reason))?.subnets.push(subnet);
    subnet.vpc.subnets.push(subnet);
    if (subnet.reason.line === "nat") subnet.vpc.crossing += 1;
    return subnet;
});

/** Worst first, then in the order of the data: by account, Region and subnet. */
const worstFirst = [...subnets].sort(
    (one, other) =>
        one.complianceRank - other.complianceRank || one.reason.rank - other.reason.rank || one.place - other.place,
);

/** A path in one line, such as 0.0.0.0/0 → nat-1 → igw-1; empty without hops. */
const pathText = (path) =>
    path.hops.length === 0 ? "" : [path.hops[0].destination, ...path.hops.map((hop) => hop.id)].join(" → ");

/** The text that a search looks through, in lower case; it is built when first used. */
function searchTextOf(subnet) {
    subnet.searchText ??= [
        subnet.id,
        subnet.name,
        subnet.vpc.id,
        subnet.vpc.name,
        subnet.vpc.account,
        subnet.vpc.region,
        subnet.zone,
        subnet.table.id,
        subnet.table.name,
        subnet.compliance,
        subnet.reason.name,
        ...subnet.path.hops.flatMap((hop) => [hop.destination, hop.id, hop.kind]),
    ]
        .join("\n")
        .toLowerCase();
    return subnet.searchText;
}

/** How many subnets have each value, worst first. */
function totalsOf(valueOf) {
    const totals = new Map();
    for (const subnet of worstFirst) totals.set(valueOf(subnet), (totals.get(valueOf(subnet)) ?? 0) + 1);
    return totals;
}
