// Resources of AWS: their costs, and links to the AWS console if the report has them.

const CONSOLE_PAGES = {
    subnet: "SubnetDetails:subnetId",
    rtb: "RouteTableDetails:RouteTableId",
    vpc: "VpcDetails:VpcId",
    nat: "NatGatewayDetails:natGatewayId",
    vpce: "EndpointDetails:vpcEndpointId",
    igw: "InternetGateway:internetGatewayId",
    tgw: "TransitGatewayDetails:transitGatewayId",
};

/** An id as code; with a link to its page in the AWS console, if there is one and links are wanted. */
function resource(id, region) {
    const address = data.consoles[region];
    const page = CONSOLE_PAGES[/^([a-z]+)-[0-9a-f]{8,17}$/.exec(id)?.[1]];
    if (!address || !page) return code(id);
    const attributes = { href: `${address}#${page}=${id}`, target: "_blank", rel: "noopener noreferrer" };
    return element("a", { class: "console", title: "Open in the AWS console", ...attributes }, code(id));
}

const charges = new Map(
    (data.costs?.nats ?? []).map(([region, id, bound, measured, isPart]) => [
        `${region} ${id}`,
        { bound, measured, isPart: isPart === 1 },
    ]),
);

const dollars = (amount) =>
    new Intl.NumberFormat("en", {
        style: "currency",
        currency: "USD",
        maximumFractionDigits: amount < 100 ? 2 : 0,
    }).format(amount);

/** What S3 Express costs at a NAT, such as "at most $120 a month"; empty if the report has no costs of it. */
function costOf(region, id) {
    const charge = charges.get(`${region} ${id}`);
    if (!charge) return "";
    const { bound, measured, isPart } = charge;
    const texts = [];
    if (bound !== null) texts.push(`at most ${dollars(bound)} a month`);
    if (measured !== null) texts.push(`measured ${isPart ? "at least " : ""}${dollars(measured)}`);
    return texts.join(", ") || "cost not known";
}
