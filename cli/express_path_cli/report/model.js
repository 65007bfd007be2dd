// The data block, with each number of a row replaced by what it stands for.

const data = JSON.parse(byId("data").textContent);

const MARKS = { NON_COMPLIANT: "✕", COMPLIANT: "✓", NOT_APPLICABLE: "–" };

const compliances = data.compliances;

/** line says how a way of this reason is drawn: nat, endpoint, internet, unresolved or none. */
const reasons = data.reasons.map(([name, meaning, fix, line, heals], rank) => ({
    name,
    meaning,
    fix,
    line,
    heals: heals === 1,
    rank,
}));

const ways = data.ways.map(([reason, hops]) => ({
    reason: reasons[reason],
    hops: hops.map(([kind, id, destination, name, isNat]) => ({ kind, id, destination, name, isNat: isNat === 1 })),
}));

const besides = data.besides.map((places) => places.map((place) => ways[place]));

const vpcs = data.vpcs.map(([account, region, id, name]) => ({
    account,
    region,
    id,
    name,
    key: `${account}/${region}/${id}`,
    subnets: [],
    crossing: 0,
}));

const tables = data.tables.map(([id, name]) => ({ id, name }));

const subnets = data.subnets.map((row, place) => {
    const [id, name, vpc, zone, table, compliance, reason, annotation, way, others] = row;
    const subnet = {
        id,
        name,
        place,
        wayPlace: way,
        besidesPlace: others,
        vpc: vpcs[vpc],
        zone: data.zones[zone],
        table: tables[table],
        compliance: compliances[compliance],
        complianceRank: compliance,
        reason: reasons[reason],
        annotation: data.annotations[annotation],
        way: ways[way],
        besides: besides[others],
        words: null,
    };
    subnet.vpc.subnets.push(subnet);
    if (subnet.reason.line === "nat") subnet.vpc.crossing += 1;
    return subnet;
});

/** Worst first; among equals as the data has them: by account, Region and subnet. */
const worstFirst = [...subnets].sort(
    (one, other) =>
        one.complianceRank - other.complianceRank || one.reason.rank - other.reason.rank || one.place - other.place,
);

/** A way in one line, such as 0.0.0.0/0 → nat-1 → igw-1; empty where no hop was followed. */
const wayText = (way) =>
    way.hops.length === 0 ? "" : [way.hops[0].destination, ...way.hops.map((hop) => hop.id)].join(" → ");

/** All that a search looks through, in lower case; made when first asked for. */
function wordsOf(subnet) {
    subnet.words ??= [
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
        ...subnet.way.hops.flatMap((hop) => [hop.destination, hop.id, hop.kind, hop.name]),
    ]
        .join("\n")
        .toLowerCase();
    return subnet.words;
}

/** How many subnets have each value, in the order worst first. */
function totalsOf(of) {
    const totals = new Map();
    for (const subnet of worstFirst) totals.set(of(subnet), (totals.get(of(subnet)) ?? 0) + 1);
    return totals;
}
