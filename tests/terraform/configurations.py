"""Generated Terraform configurations of networks, in the styles in which people write them.

Each function returns the text of one module before and after a change, from a seed. Both are the same unless the family
is about changes. Names of S3 Express addresses are not needed: what decides is the routes.
"""

from collections.abc import Callable
from random import Random

Versions = tuple[str, str]
"""The text of a module, before and after a change."""

ZONES = ("us-east-1a", "us-east-1b", "us-east-1c")
SERVICE = "com.amazonaws.us-east-1.s3express"


def _vpc(name: str = "this", block: str = "10.0.0.0/16", more: str = "") -> str:
    return f"""
resource "aws_vpc" "{name}" {{
  cidr_block = "{block}"
  {more}
}}
resource "aws_internet_gateway" "{name}" {{
  vpc_id = aws_vpc.{name}.id
}}
resource "aws_eip" "{name}" {{
  domain = "vpc"
}}
resource "aws_subnet" "{name}_public" {{
  vpc_id     = aws_vpc.{name}.id
  cidr_block = cidrsubnet("{block}", 8, 200)
}}
resource "aws_route_table" "{name}_public" {{
  vpc_id = aws_vpc.{name}.id
  route {{
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.{name}.id
  }}
}}
resource "aws_route_table_association" "{name}_public" {{
  subnet_id      = aws_subnet.{name}_public.id
  route_table_id = aws_route_table.{name}_public.id
}}
resource "aws_nat_gateway" "{name}" {{
  allocation_id = aws_eip.{name}.id
  subnet_id     = aws_subnet.{name}_public.id
  depends_on    = [aws_internet_gateway.{name}]
}}
"""


def _endpoint(tables: str = "", more: str = "") -> str:
    listed = f"route_table_ids = {tables}" if tables else ""
    return f"""
resource "aws_vpc_endpoint" "s3express" {{
  vpc_id       = aws_vpc.this.id
  service_name = "{SERVICE}"
  {listed}
  {more}
}}
"""


def _attached(table: str, name: str) -> str:
    return f"""
resource "aws_vpc_endpoint_route_table_association" "{name}" {{
  vpc_endpoint_id = aws_vpc_endpoint.s3express.id
  route_table_id  = {table}
}}
"""


def _private(name: str, number: int, routes: str, *, separate: bool, table: bool = True) -> str:
    """Return a subnet with its own route table, unless it uses the main one."""
    text = f"""
resource "aws_subnet" "{name}" {{
  vpc_id            = aws_vpc.this.id
  cidr_block        = "10.0.{number}.0/24"
  availability_zone = "{ZONES[number % 3]}"
}}
"""
    if not table:
        return text
    inline = "" if separate else "\n".join(f"route {{\n{route}\n}}" for route in routes.split(";") if route)
    text += f"""
resource "aws_route_table" "{name}" {{
  vpc_id = aws_vpc.this.id
  {inline}
}}
resource "aws_route_table_association" "{name}" {{
  subnet_id      = aws_subnet.{name}.id
  route_table_id = aws_route_table.{name}.id
}}
"""
    for position, route in enumerate(route for route in routes.split(";") if route and separate):
        text += f"""
resource "aws_route" "{name}_{position}" {{
  route_table_id = aws_route_table.{name}.id
  {route.replace("ipv6_cidr_block", "destination_ipv6_cidr_block") if "ipv6" in route else "destination_" + route.strip()}
}}
"""
    return text


NAT_ROUTE = 'cidr_block = "0.0.0.0/0"\nnat_gateway_id = aws_nat_gateway.this.id'
INTERNET_ROUTE = 'cidr_block = "0.0.0.0/0"\ngateway_id = aws_internet_gateway.this.id'
SPECIFIC_ROUTE = 'cidr_block = "192.0.2.0/30"\nnat_gateway_id = aws_nat_gateway.this.id'


def plain(random: Random) -> Versions:
    """Return resources that are written one by one."""
    text, tables = _vpc(), []
    for number in range(1, random.randint(3, 5)):
        name = f"s{number}"
        routes = random.choice([NAT_ROUTE, NAT_ROUTE, INTERNET_ROUTE, "", f"{NAT_ROUTE};{SPECIFIC_ROUTE}"])
        has_table = random.random() < 0.8
        text += _private(name, number, routes, separate=random.random() < 0.5, table=has_table)
        if has_table and random.random() < 0.5:
            tables.append(f"aws_route_table.{name}.id")
    style = random.choice(["none", "listed", "attached"])
    if style == "listed":
        text += _endpoint(f"[{', '.join(tables)}]")
    elif style == "attached":
        text += _endpoint() + "".join(_attached(table, f"t{number}") for number, table in enumerate(tables))
    main = random.choice(["none", "default", "association"])
    if main == "default":
        text += f"""
resource "aws_default_route_table" "main" {{
  default_route_table_id = aws_vpc.this.default_route_table_id
  route {{
    {NAT_ROUTE}
  }}
}}
"""
    elif main == "association":
        text += """
resource "aws_route_table" "main" {
  vpc_id = aws_vpc.this.id
  route {
    cidr_block = "0.0.0.0/0"
    gateway_id = aws_internet_gateway.this.id
  }
}
resource "aws_main_route_table_association" "main" {
  vpc_id         = aws_vpc.this.id
  route_table_id = aws_route_table.main.id
}
"""
    return text, text


def count(random: Random) -> Versions:
    """Return resources with count, which are found by their position."""
    zones = random.randint(2, 3)
    each_nat = random.random() < 0.5
    nats = zones if each_nat else 1
    table = random.choice(
        ["element(aws_route_table.private[*].id, count.index)", "aws_route_table.private[count.index].id"]
    )
    nat = "element(aws_nat_gateway.private[*].id, count.index)" if each_nat else "aws_nat_gateway.private[0].id"
    text = (
        _vpc()
        + f"""
variable "with_nat" {{
  default = true
}}
locals {{
  zones  = {zones}
  vpc_id = aws_vpc.this.id
}}
resource "aws_subnet" "private" {{
  count             = local.zones
  vpc_id            = local.vpc_id
  cidr_block        = cidrsubnet("10.0.0.0/16", 8, count.index)
  availability_zone = element(["{'", "'.join(ZONES)}"], count.index)
}}
resource "aws_eip" "private" {{
  count  = {nats}
  domain = "vpc"
}}
resource "aws_nat_gateway" "private" {{
  count         = {nats}
  allocation_id = aws_eip.private[count.index].id
  subnet_id     = aws_subnet.this_public.id
}}
resource "aws_route_table" "private" {{
  count  = local.zones
  vpc_id = local.vpc_id
}}
resource "aws_route" "private" {{
  count                  = var.with_nat ? local.zones : 0
  route_table_id         = {table}
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = {nat}
}}
resource "aws_route_table_association" "private" {{
  count          = local.zones
  subnet_id      = element(aws_subnet.private[*].id, count.index)
  route_table_id = {table}
}}
"""
    )
    style = random.choice(["none", "each", "all"])
    if style == "each":
        text += (
            _endpoint()
            + f"""
resource "aws_vpc_endpoint_route_table_association" "private" {{
  count           = local.zones
  vpc_endpoint_id = aws_vpc_endpoint.s3express.id
  route_table_id  = {table}
}}
"""
        )
    elif style == "all":
        text += _endpoint("aws_route_table.private[*].id")
    return text, text


def for_each(random: Random) -> Versions:
    """Return resources with for_each, whose keys are the tiers of a network."""
    tiers = ["web", "app", "data", "batch"][: random.randint(2, 4)]
    to_nat = [tier for tier in tiers if random.random() < 0.6] or tiers[:1]
    private = [tier for tier in tiers if random.random() < 0.5]
    text = (
        _vpc()
        + f"""
locals {{
  tiers  = {{ {", ".join(f"{tier} = {number}" for number, tier in enumerate(tiers))} }}
  to_nat = toset([{", ".join(f'"{tier}"' for tier in to_nat)}])
  direct = toset([{", ".join(f'"{tier}"' for tier in private)}])
}}
resource "aws_subnet" "tier" {{
  for_each   = local.tiers
  vpc_id     = aws_vpc.this.id
  cidr_block = "10.0.${{each.value}}.0/24"
}}
resource "aws_route_table" "tier" {{
  for_each = local.tiers
  vpc_id   = aws_vpc.this.id
}}
resource "aws_route_table_association" "tier" {{
  for_each       = {random.choice(["local.tiers", "aws_subnet.tier"])}
  subnet_id      = aws_subnet.tier[each.key].id
  route_table_id = aws_route_table.tier[each.key].id
}}
resource "aws_route" "nat" {{
  for_each               = local.to_nat
  route_table_id         = aws_route_table.tier[each.key].id
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.this.id
}}
"""
    )
    style = random.choice(["each", "listed", "filtered"])
    if style == "each":
        text += (
            _endpoint()
            + """
resource "aws_vpc_endpoint_route_table_association" "tier" {
  for_each        = local.direct
  vpc_endpoint_id = aws_vpc_endpoint.s3express.id
  route_table_id  = aws_route_table.tier[each.value].id
}
"""
        )
    elif style == "listed":
        text += _endpoint("[for table in aws_route_table.tier : table.id]")
    else:
        wanted = random.choice(["contains(local.direct, tier)", f'tier != "{tiers[0]}"'])
        text += _endpoint(f"[for tier, table in aws_route_table.tier : table.id if {wanted}]")
    return text, text


def changes(random: Random) -> Versions:
    """Return a network and a change of it: what is replaced, moved, removed, or added."""
    start = _vpc() + _endpoint()
    for number, name in enumerate(("a", "b", "c"), 1):
        start += _private(name, number, NAT_ROUTE, separate=number == 2)
    start += _attached("aws_route_table.a.id", "a") + _attached("aws_route_table.b.id", "b")
    after = start
    for change in random.sample(sorted(_CHANGES), 2):
        after = _CHANGES[change](after)
    return start, after


def _without(text: str, head: str) -> str:
    """Return a configuration without the block that begins with a line."""
    before, found, rest = text.partition(head)
    return before + rest.partition("\n}\n")[2] if found else text


_CHANGES: dict[str, Callable[[str], str]] = {
    "remove an association with the endpoint": lambda text: _without(
        text, 'resource "aws_vpc_endpoint_route_table_association" "a"'
    ),
    "add a more specific route": lambda text: (
        text
        + """
resource "aws_route" "specific" {
  route_table_id         = aws_route_table.b.id
  destination_cidr_block = "192.0.2.0/30"
  nat_gateway_id         = aws_nat_gateway.this.id
}
"""
    ),
    "move a subnet": lambda text: text.replace(
        "  subnet_id      = aws_subnet.b.id\n  route_table_id = aws_route_table.b.id",
        "  subnet_id      = aws_subnet.b.id\n  route_table_id = aws_route_table.c.id",
    ),
    "replace a NAT gateway": lambda text: (
        text.replace("allocation_id = aws_eip.this.id", "allocation_id = aws_eip.other.id")
        + 'resource "aws_eip" "other" {\n  domain = "vpc"\n}\n'
    ),
    "use the main table": lambda text: _without(text, 'resource "aws_route_table_association" "c"'),
    "attach the third table": lambda text: text + _attached("aws_route_table.c.id", "c"),
    "add a subnet to a table": lambda text: (
        text
        + """
resource "aws_subnet" "d" {
  vpc_id     = aws_vpc.this.id
  cidr_block = "10.0.9.0/24"
}
resource "aws_route_table_association" "d" {
  subnet_id      = aws_subnet.d.id
  route_table_id = aws_route_table.a.id
}
"""
    ),
    "replace a subnet": lambda text: text.replace('"10.0.1.0/24"', '"10.0.77.0/24"'),
    "send a table to the internet gateway": lambda text: text.replace(
        'resource "aws_route_table" "c" {\n  vpc_id = aws_vpc.this.id\n  route {\ncidr_block = "0.0.0.0/0"\nnat_gateway_id = aws_nat_gateway.this.id',
        'resource "aws_route_table" "c" {\n  vpc_id = aws_vpc.this.id\n  route {\ncidr_block = "0.0.0.0/0"\ngateway_id = aws_internet_gateway.this.id',
    ),
    "rename a table": lambda text: (
        text.replace("aws_route_table.b.", "aws_route_table.renamed.").replace(
            'resource "aws_route_table" "b"', 'resource "aws_route_table" "renamed"'
        )
        + "moved {\n  from = aws_route_table.b\n  to   = aws_route_table.renamed\n}\n"
    ),
    "manage the main table": lambda text: (
        text
        + f"""
resource "aws_default_route_table" "main" {{
  default_route_table_id = aws_vpc.this.default_route_table_id
  route {{
    {NAT_ROUTE}
  }}
}}
"""
    ),
}


def existing(random: Random) -> Versions:
    """Return a network, and a change of zones, tags, routes, and what the endpoint and the main table have."""
    is_counted = random.random() < 0.5
    mains = [random.choice(["", NAT_ROUTE, INTERNET_ROUTE]) for _ in range(2)]
    # What happens to a table that is no longer adopted depends on the provider's version.
    mains[1] = mains[1] or mains[0]
    endpoints = random.choice(_ENDPOINTS)
    # Terraform deletes a table before it takes it off the list of an endpoint, which AWS refuses.
    zones = random.randint(1 if endpoints[0] == "attached" and endpoints[1] != "all" else 2, 3)
    return (
        _zonal(random, 2, mains[0], endpoints[0], is_counted=is_counted),
        _zonal(random, zones, mains[1], endpoints[1], is_counted=is_counted),
    )


_ENDPOINTS = (
    *(("attached", "attached"), ("attached", "all"), ("attached", "bare"), ("none", "attached"), ("bare", "first")),
    *(("all", "first"), ("all", "bare"), ("first", "all"), ("first", "attached"), ("all", "none")),
)
"""How an endpoint has routes in tables, before and after a change."""


def _zonal(random: Random, zones: int, main: str, endpoint: str, *, is_counted: bool) -> str:
    """Return a network with a subnet and a route table in each zone, by count or for_each."""
    key, first, tables = "count.index", "0", "aws_route_table.zone[*].id"
    if not is_counted:
        key, first, tables = "each.key", '"0"', "values(aws_route_table.zone)[*].id"
    listed = {"all": tables, "first": f"[aws_route_table.zone[{first}].id]"}

    def each(number: int) -> str:
        keys = ", ".join(f'"{one}"' for one in range(number))
        return f"count = {number}" if is_counted else f"for_each = toset([{keys}])"

    def tags() -> str:
        return random.choice(["", 'tags = { Name = "a" }', 'tags = { Name = "b" }'])

    def some() -> str:
        return each(random.choice([zones, zones, zones - 1]))

    target = random.choice(["nat_gateway_id = aws_nat_gateway.this.id", "gateway_id = aws_internet_gateway.this.id"])
    text = (
        _vpc(more=tags())
        + f"""
resource "aws_subnet" "zone" {{
  {each(zones)}
  vpc_id     = aws_vpc.this.id
  cidr_block = "10.0.${{{key}}}.0/24"
  {tags()}
}}
resource "aws_route_table" "zone" {{
  {each(zones)}
  vpc_id = aws_vpc.this.id
  {tags()}
}}
resource "aws_route_table_association" "zone" {{
  {some()}
  subnet_id      = aws_subnet.zone[{key}].id
  route_table_id = aws_route_table.zone[{random.choice([key, key, first])}].id
}}
resource "aws_route" "zone" {{
  {some()}
  route_table_id         = aws_route_table.zone[{key}].id
  destination_cidr_block = "0.0.0.0/0"
  {target}
}}
"""
    )
    if endpoint != "none":
        text += _endpoint(listed.get(endpoint, ""), tags())
    if endpoint == "attached":
        text += f"""
resource "aws_vpc_endpoint_route_table_association" "zone" {{
  {some()}
  vpc_endpoint_id = aws_vpc_endpoint.s3express.id
  route_table_id  = aws_route_table.zone[{key}].id
}}
"""
    if main:
        text += f"""
resource "aws_default_route_table" "main" {{
  default_route_table_id = aws_vpc.this.default_route_table_id
  {tags()}
  route {{
    {main}
  }}
}}
"""
    return text


def conditions(random: Random) -> Versions:
    """Return an association with one of two tables, by a value that is known only after the apply, over a network or alone."""
    a, b = random.sample(["aws_route_table.a.id", "aws_route_table.b.id"], 2)
    condition = random.choice(
        [
            'aws_vpc_endpoint.s3express.state == "available"',
            'aws_eip.new.public_ip != ""',
            "length(aws_nat_gateway.this.secondary_private_ip_addresses) > 0",
            'coalesce(aws_eip.new.carrier_ip, "none") == "none"',
            "try(length(aws_vpc_endpoint.s3express.cidr_blocks), 0) == 0",
            f"sort([{a}, {b}])[0] == {a}",
            f"tolist(toset([{a}, {b}]))[0] == {a}",
            f"element(keys({{ ({a}) = 1, ({b}) = 2 }}), 1) == {a}",
            f"one([for table in [{a}, {b}] : table if table != {a}]) == {b}",
            'aws_vpc.this.ipv6_cidr_block == ""',
        ]
    )
    before = _vpc() + _endpoint() + _private("a", 1, NAT_ROUTE, separate=False) + _private("b", 2, "", separate=False)
    more = 'resource "aws_eip" "new" {\n  domain = "vpc"\n}\n' + _attached(f"{condition} ? {a} : {b}", "chosen")
    return random.choice([before, ""]), before + more


def awkward(random: Random) -> Versions:
    """Return associations and endpoints by expressions that select, shift, filter, or swap what they refer to."""
    count = 3
    table = random.choice(
        [
            "aws_route_table.private[count.index].id",
            "element(aws_route_table.private[*].id, count.index + 1)",
            "reverse(aws_route_table.private[*].id)[count.index]",
            "aws_route_table.private[(count.index + 2) % 3].id",
            'lookup({ "0" = aws_route_table.private[1].id }, tostring(count.index), aws_route_table.private[0].id)',
        ]
    )
    subnet = random.choice(["aws_subnet.private[count.index].id", "element(aws_subnet.private[*].id, count.index + 1)"])
    listed = random.choice(
        [
            "slice(aws_route_table.private[*].id, 0, 1)",
            "[aws_route_table.private[2].id]",
            "[for number, table in aws_route_table.private : table.id if number > 0]",
            "coalescelist([aws_route_table.private[0].id], aws_route_table.private[*].id)",
            "[element(aws_route_table.private[*].id, 4)]",
            "distinct([aws_route_table.private[1].id, aws_route_table.private[1].id])",
        ]
    )
    swapped = random.random() < 0.5
    text = (
        _vpc()
        + f"""
resource "aws_subnet" "private" {{
  count      = {count}
  vpc_id     = aws_vpc.this.id
  cidr_block = cidrsubnet("10.0.0.0/16", 8, count.index)
}}
resource "aws_route_table" "private" {{
  count  = {count}
  vpc_id = aws_vpc.this.id
}}
resource "aws_route" "nat" {{
  count                  = {random.choice([2, 3])}
  route_table_id         = element(aws_route_table.private[*].id, count.index + 1)
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.this.id
}}
resource "aws_route_table_association" "private" {{
  count          = {count}
  subnet_id      = {subnet}
  route_table_id = {table}
}}
locals {{
  of = {{ {"a = 1, b = 0" if swapped else "a = 0, b = 1"} }}
}}
resource "aws_subnet" "keyed" {{
  for_each   = {{ a = 10, b = 11 }}
  vpc_id     = aws_vpc.this.id
  cidr_block = "10.0.${{each.value}}.0/24"
}}
resource "aws_route_table_association" "keyed" {{
  for_each       = local.of
  subnet_id      = aws_subnet.keyed[each.key].id
  route_table_id = aws_route_table.private[each.value].id
}}
"""
    )
    text += _endpoint(listed)
    return text, text


def transit(random: Random) -> Versions:
    """Return VPCs that reach the internet through the NAT gateway of another VPC, beyond a transit gateway."""
    own_tables = random.random() < 0.6
    default = "disable" if own_tables else "enable"
    out = random.choice(["nat", "nat", "blackhole", "none"])
    text = (
        _vpc(block="10.9.0.0/16")
        + f"""
resource "aws_ec2_transit_gateway" "this" {{
  default_route_table_association = "{default}"
  default_route_table_propagation = "{default}"
}}
resource "aws_subnet" "egress" {{
  vpc_id            = aws_vpc.this.id
  cidr_block        = "10.9.1.0/24"
  availability_zone = "us-east-1a"
}}
resource "aws_route_table" "egress" {{
  vpc_id = aws_vpc.this.id
  route {{
    {NAT_ROUTE}
  }}
}}
resource "aws_route_table_association" "egress" {{
  subnet_id      = aws_subnet.egress.id
  route_table_id = aws_route_table.egress.id
}}
resource "aws_ec2_transit_gateway_vpc_attachment" "egress" {{
  transit_gateway_id = aws_ec2_transit_gateway.this.id
  vpc_id             = aws_vpc.this.id
  subnet_ids         = [aws_subnet.egress.id]
  transit_gateway_default_route_table_association = {str(not own_tables).lower()}
  transit_gateway_default_route_table_propagation = {str(not own_tables).lower()}
}}
variable "spokes" {{
  default = ["one", "two"]
}}
resource "aws_vpc" "spoke" {{
  for_each   = toset(var.spokes)
  cidr_block = "10.${{length(each.key)}}.0.0/16"
}}
resource "aws_subnet" "spoke" {{
  for_each          = toset(var.spokes)
  vpc_id            = aws_vpc.spoke[each.key].id
  cidr_block        = "10.${{length(each.key)}}.0.0/24"
  availability_zone = "us-east-1a"
}}
resource "aws_route_table" "spoke" {{
  for_each = toset(var.spokes)
  vpc_id   = aws_vpc.spoke[each.key].id
}}
resource "aws_route" "spoke" {{
  for_each               = toset(var.spokes)
  route_table_id         = aws_route_table.spoke[each.key].id
  destination_cidr_block = "0.0.0.0/0"
  transit_gateway_id     = aws_ec2_transit_gateway.this.id
  depends_on             = [aws_ec2_transit_gateway_vpc_attachment.spoke]
}}
resource "aws_route_table_association" "spoke" {{
  for_each       = toset(var.spokes)
  subnet_id      = aws_subnet.spoke[each.key].id
  route_table_id = aws_route_table.spoke[each.key].id
}}
resource "aws_ec2_transit_gateway_vpc_attachment" "spoke" {{
  for_each           = toset(var.spokes)
  transit_gateway_id = aws_ec2_transit_gateway.this.id
  vpc_id             = aws_vpc.spoke[each.key].id
  subnet_ids         = [aws_subnet.spoke[each.key].id]
  transit_gateway_default_route_table_association = {str(not own_tables).lower()}
  transit_gateway_default_route_table_propagation = {str(not own_tables).lower()}
}}
"""
    )
    table = "aws_ec2_transit_gateway.this.association_default_route_table_id"
    if own_tables:
        table = "aws_ec2_transit_gateway_route_table.spokes.id"
        text += """
resource "aws_ec2_transit_gateway_route_table" "spokes" {
  transit_gateway_id = aws_ec2_transit_gateway.this.id
}
resource "aws_ec2_transit_gateway_route_table_association" "spoke" {
  for_each                       = aws_ec2_transit_gateway_vpc_attachment.spoke
  transit_gateway_attachment_id  = each.value.id
  transit_gateway_route_table_id = aws_ec2_transit_gateway_route_table.spokes.id
}
resource "aws_ec2_transit_gateway_route_table_propagation" "spoke" {
  for_each                       = aws_ec2_transit_gateway_vpc_attachment.spoke
  transit_gateway_attachment_id  = each.value.id
  transit_gateway_route_table_id = aws_ec2_transit_gateway_route_table.spokes.id
}
"""
    if out != "none":
        target = (
            "blackhole = true"
            if out == "blackhole"
            else "transit_gateway_attachment_id = aws_ec2_transit_gateway_vpc_attachment.egress.id"
        )
        text += f"""
resource "aws_ec2_transit_gateway_route" "out" {{
  destination_cidr_block         = "0.0.0.0/0"
  transit_gateway_route_table_id = {table}
  {target}
}}
"""
    return text, text


def modules(random: Random) -> Versions:
    """Return modules that give each other ids: a network, its way out, and its endpoint, each called once or more."""
    tiers = ["app", "data", "batch"][: random.randint(2, 3)]
    with_endpoint = [tier for tier in tiers if random.random() < 0.5]
    to_nat = [tier for tier in tiers if random.random() < 0.7]
    by_list = random.random() < 0.5
    text = (
        _vpc()
        + f"""
module "tier" {{
  source   = "./tier"
  for_each = toset([{", ".join(f'"{tier}"' for tier in tiers)}])
  vpc_id   = aws_vpc.this.id
  number   = index([{", ".join(f'"{tier}"' for tier in tiers)}], each.key)
  nat_id   = contains([{", ".join(f'"{tier}"' for tier in to_nat)}], each.key) ? aws_nat_gateway.this.id : null
  has_nat  = contains([{", ".join(f'"{tier}"' for tier in to_nat)}], each.key)
}}
module "endpoint" {{
  source = "./endpoint"
  vpc_id = aws_vpc.this.id
  tables = [{", ".join(f'module.tier["{tier}"].table_id' for tier in with_endpoint)}]
}}
"""
    )
    tier = """
variable "vpc_id" {}
variable "number" {}
variable "nat_id" { default = null }
variable "has_nat" {}
locals {
  network = { vpc = var.vpc_id }
}
resource "aws_subnet" "this" {
  count      = 2
  vpc_id     = local.network.vpc
  cidr_block = cidrsubnet("10.0.0.0/16", 8, 2 * var.number + count.index)
}
resource "aws_route_table" "this" {
  vpc_id = local.network.vpc
  dynamic "route" {
    for_each = var.has_nat ? [1] : []
    content {
      cidr_block     = "0.0.0.0/0"
      nat_gateway_id = var.nat_id
    }
  }
}
resource "aws_route_table_association" "this" {
  count          = length(aws_subnet.this)
  subnet_id      = aws_subnet.this[count.index].id
  route_table_id = aws_route_table.this.id
}
output "table_id" {
  value = aws_route_table.this.id
}
output "subnet_ids" {
  value = aws_subnet.this[*].id
}
"""
    listed = "route_table_ids = var.tables" if by_list else ""
    attached = (
        ""
        if by_list
        else """
resource "aws_vpc_endpoint_route_table_association" "this" {
  count           = length(var.tables)
  vpc_endpoint_id = aws_vpc_endpoint.this.id
  route_table_id  = var.tables[count.index]
}
"""
    )
    endpoint = f"""
variable "vpc_id" {{}}
variable "tables" {{}}
resource "aws_vpc_endpoint" "this" {{
  vpc_id       = var.vpc_id
  service_name = "{SERVICE}"
  {listed}
}}
{attached}
"""
    text += f"""
# file: tier/main.tf
{tier}
# file: endpoint/main.tf
{endpoint}
"""
    return text, text


def popular(
    *,
    nat: str,
    ipv6: bool = False,
    firewall: bool = False,
    transit_gateway: bool = False,
    database: bool = False,
    endpoint: str = "",
) -> str:
    """Return a module in the style of the VPC modules that people use most, in our own words.

    nat: none, single, or zone. endpoint: the route tables of an endpoint. Everything is counted, wrapped in try, and found
    by element, as they do it.
    """
    return f"""
# file: vpc/main.tf
variable "zones" {{}}
variable "enable_nat" {{}}
variable "single_nat" {{}}
variable "enable_ipv6" {{}}
variable "inspect" {{}}
variable "through_transit" {{}}
variable "own_database_tables" {{}}
variable "transit_gateway_id" {{ default = null }}
variable "create" {{ default = true }}
variable "names" {{
  type    = list(string)
  default = []
}}

locals {{
  count       = length(var.zones)
  nat_count   = var.enable_nat ? (var.single_nat ? 1 : local.count) : 0
  table_count = var.single_nat ? 1 : local.count
  vpc_id      = try(aws_vpc_ipv4_cidr_block_association.this[0].vpc_id, aws_vpc.this[0].id, "")
  make        = var.create && local.count > 0
  tables      = concat(aws_route_table.private[*].id, aws_route_table.intra[*].id)
}}
resource "aws_vpc" "this" {{
  count                            = var.create ? 1 : 0
  cidr_block                       = "10.0.0.0/16"
  assign_generated_ipv6_cidr_block = var.enable_ipv6 ? true : null
  tags                             = merge({{ Name = "main" }}, {{ }})
}}
resource "aws_vpc_ipv4_cidr_block_association" "this" {{
  count      = 0
  vpc_id     = aws_vpc.this[0].id
  cidr_block = "10.1.0.0/16"
}}
resource "aws_internet_gateway" "this" {{
  count  = local.make ? 1 : 0
  vpc_id = local.vpc_id
}}
resource "aws_egress_only_internet_gateway" "this" {{
  count  = local.make && var.enable_ipv6 ? 1 : 0
  vpc_id = local.vpc_id
}}
resource "aws_subnet" "public" {{
  count             = local.make ? local.count : 0
  vpc_id            = local.vpc_id
  availability_zone = element(var.zones, count.index)
  cidr_block        = cidrsubnet("10.0.0.0/16", 8, count.index)
  ipv6_cidr_block   = var.enable_ipv6 ? cidrsubnet(aws_vpc.this[0].ipv6_cidr_block, 8, count.index) : null
  tags              = {{ Name = try(var.names[count.index], format("public-%s", element(var.zones, count.index))) }}
}}
resource "aws_route_table" "public" {{
  count  = local.make ? 1 : 0
  vpc_id = local.vpc_id
}}
resource "aws_route_table_association" "public" {{
  count          = local.make ? local.count : 0
  subnet_id      = element(aws_subnet.public[*].id, count.index)
  route_table_id = element(aws_route_table.public[*].id, 0)
}}
resource "aws_route" "public" {{
  count                  = local.make ? 1 : 0
  route_table_id         = aws_route_table.public[count.index].id
  destination_cidr_block = "0.0.0.0/0"
  gateway_id             = aws_internet_gateway.this[0].id
}}
resource "aws_route" "public_ipv6" {{
  count                       = local.make && var.enable_ipv6 ? 1 : 0
  route_table_id              = aws_route_table.public[count.index].id
  destination_ipv6_cidr_block = "::/0"
  gateway_id                  = aws_internet_gateway.this[0].id
}}
resource "aws_subnet" "private" {{
  count             = local.make ? local.count : 0
  vpc_id            = local.vpc_id
  availability_zone = element(var.zones, count.index)
  cidr_block        = cidrsubnet("10.0.0.0/16", 8, count.index + 10)
  ipv6_cidr_block   = var.enable_ipv6 ? cidrsubnet(aws_vpc.this[0].ipv6_cidr_block, 8, count.index + 10) : null
}}
resource "aws_route_table" "private" {{
  count  = local.make ? local.table_count : 0
  vpc_id = local.vpc_id
}}
resource "aws_route_table_association" "private" {{
  count          = local.make ? local.count : 0
  subnet_id      = element(aws_subnet.private[*].id, count.index)
  route_table_id = element(aws_route_table.private[*].id, var.single_nat ? 0 : count.index)
}}
resource "aws_subnet" "database" {{
  count             = local.make ? local.count : 0
  vpc_id            = local.vpc_id
  availability_zone = element(var.zones, count.index)
  cidr_block        = cidrsubnet("10.0.0.0/16", 8, count.index + 40)
}}
resource "aws_route_table" "database" {{
  count  = local.make && var.own_database_tables ? local.table_count : 0
  vpc_id = local.vpc_id
}}
resource "aws_route_table_association" "database" {{
  count          = local.make ? local.count : 0
  subnet_id      = element(aws_subnet.database[*].id, count.index)
  route_table_id = element(coalescelist(aws_route_table.database[*].id, aws_route_table.private[*].id), var.single_nat ? 0 : count.index)
}}
resource "aws_subnet" "intra" {{
  count             = local.make ? local.count : 0
  vpc_id            = local.vpc_id
  availability_zone = element(var.zones, count.index)
  cidr_block        = cidrsubnet("10.0.0.0/16", 8, count.index + 20)
}}
resource "aws_route_table" "intra" {{
  count  = local.make ? 1 : 0
  vpc_id = local.vpc_id
}}
resource "aws_route_table_association" "intra" {{
  count          = local.make ? local.count : 0
  subnet_id      = element(aws_subnet.intra[*].id, count.index)
  route_table_id = element(aws_route_table.intra[*].id, 0)
}}
resource "aws_eip" "nat" {{
  count  = local.nat_count
  domain = "vpc"
}}
resource "aws_nat_gateway" "this" {{
  count         = local.nat_count
  allocation_id = element(aws_eip.nat[*].id, var.single_nat ? 0 : count.index)
  subnet_id     = element(aws_subnet.public[*].id, var.single_nat ? 0 : count.index)
  depends_on    = [aws_internet_gateway.this]
}}
resource "aws_route" "private_nat" {{
  count                  = local.make && var.enable_nat && !var.inspect ? local.nat_count : 0
  route_table_id         = element(aws_route_table.private[*].id, count.index)
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = element(aws_nat_gateway.this[*].id, count.index)
}}
resource "aws_route" "private_ipv6" {{
  count                       = local.make && var.enable_ipv6 ? local.table_count : 0
  route_table_id              = element(aws_route_table.private[*].id, count.index)
  destination_ipv6_cidr_block = "::/0"
  egress_only_gateway_id      = element(aws_egress_only_internet_gateway.this[*].id, 0)
}}
resource "aws_subnet" "firewall" {{
  count             = var.inspect ? local.count : 0
  vpc_id            = local.vpc_id
  availability_zone = element(var.zones, count.index)
  cidr_block        = cidrsubnet("10.0.0.0/16", 8, count.index + 30)
}}
resource "aws_route_table" "firewall" {{
  count  = var.inspect ? local.count : 0
  vpc_id = local.vpc_id
}}
resource "aws_route_table_association" "firewall" {{
  count          = var.inspect ? local.count : 0
  subnet_id      = element(aws_subnet.firewall[*].id, count.index)
  route_table_id = element(aws_route_table.firewall[*].id, count.index)
}}
resource "aws_route" "firewall" {{
  count                  = var.inspect ? local.count : 0
  route_table_id         = element(aws_route_table.firewall[*].id, count.index)
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = element(aws_nat_gateway.this[*].id, count.index)
}}
resource "aws_networkfirewall_firewall" "this" {{
  count               = var.inspect ? 1 : 0
  name                = "inspection"
  firewall_policy_arn = "arn:aws:network-firewall:us-east-1:123456789012:firewall-policy/inspection"
  vpc_id              = local.vpc_id
  dynamic "subnet_mapping" {{
    for_each = aws_subnet.firewall[*].id
    content {{
      subnet_id = subnet_mapping.value
    }}
  }}
}}
resource "aws_route" "private_firewall" {{
  count                  = var.inspect ? local.count : 0
  route_table_id         = element(aws_route_table.private[*].id, count.index)
  destination_cidr_block = "0.0.0.0/0"
  vpc_endpoint_id = element([
    for state in tolist(aws_networkfirewall_firewall.this[0].firewall_status[0].sync_states) : state.attachment[0].endpoint_id
  ], count.index)
}}
resource "aws_ec2_transit_gateway_vpc_attachment" "this" {{
  count              = var.through_transit ? 1 : 0
  transit_gateway_id = var.transit_gateway_id
  vpc_id             = local.vpc_id
  subnet_ids         = aws_subnet.private[*].id
}}
resource "aws_route" "intra_transit" {{
  count                  = var.through_transit ? 1 : 0
  route_table_id         = try(aws_route_table.intra[0].id, null)
  destination_cidr_block = "0.0.0.0/0"
  transit_gateway_id     = var.transit_gateway_id
  depends_on             = [aws_ec2_transit_gateway_vpc_attachment.this]
}}
output "vpc_id" {{
  value = try(aws_vpc.this[0].id, null)
}}
output "private_route_table_ids" {{
  value = aws_route_table.private[*].id
}}
output "database_route_table_ids" {{
  value = try(coalescelist(aws_route_table.database[*].id, aws_route_table.private[*].id), [])
}}
output "intra_route_table_ids" {{
  value = aws_route_table.intra[*].id
}}
output "attachment_id" {{
  value = try(aws_ec2_transit_gateway_vpc_attachment.this[0].id, null)
}}
# file: main.tf
{_TRANSIT if transit_gateway else ""}
module "vpc" {{
  source             = "./vpc"
  zones              = ["{'", "'.join(ZONES)}"]
  enable_nat         = {str(nat != "none").lower()}
  single_nat         = {str(nat == "single").lower()}
  enable_ipv6        = {str(ipv6).lower()}
  inspect            = {str(firewall).lower()}
  through_transit    = {str(transit_gateway).lower()}
  own_database_tables = {str(database).lower()}
  transit_gateway_id = {"aws_ec2_transit_gateway.this.id" if transit_gateway else "null"}
}}
{_VPC_ENDPOINT.replace("TABLES", endpoint) if endpoint else ""}
"""


_TRANSIT = """
resource "aws_ec2_transit_gateway" "this" {
}
"""
_VPC_ENDPOINT = f"""
resource "aws_vpc_endpoint" "s3express" {{
  vpc_id          = module.vpc.vpc_id
  service_name    = "{SERVICE}"
  route_table_ids = TABLES
}}
"""
POPULAR = {
    "none": popular(nat="none"),
    "single": popular(nat="single"),
    "zone": popular(nat="zone"),
    "ipv6": popular(nat="zone", ipv6=True),
    "firewall": popular(nat="zone", firewall=True),
    "transit gateway": popular(nat="zone", transit_gateway=True),
    "database": popular(nat="zone", database=True),
    "endpoint": popular(
        nat="zone", endpoint="flatten([module.vpc.private_route_table_ids, module.vpc.intra_route_table_ids])"
    ),
    "endpoint of one table, ipv6": popular(nat="single", ipv6=True, endpoint="module.vpc.private_route_table_ids"),
    "endpoint of either": popular(nat="single", database=True, endpoint="module.vpc.database_route_table_ids"),
}
"""The shapes of these modules."""


_BY_COUNT = """
resource "aws_subnet" "tier" {
  count      = 3
  vpc_id     = aws_vpc.this.id
  cidr_block = cidrsubnet("10.0.0.0/16", 8, count.index)
}
resource "aws_route_table" "tier" {
  count  = 3
  vpc_id = aws_vpc.this.id
}
resource "aws_route_table_association" "tier" {
  count          = 3
  subnet_id      = aws_subnet.tier[count.index].id
  route_table_id = aws_route_table.tier[count.index].id
}
resource "aws_route" "nat" {
  count                  = 3
  route_table_id         = aws_route_table.tier[count.index].id
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.this.id
}
variable "shared" {
  default = true
}
"""
_BY_KEY = """
variable "tiers" {
  default = {
    web  = { number = 1, table = "app" }
    app  = { number = 2, table = "web" }
    data = { number = 3, table = "data" }
  }
}
locals {
  of = { app = "data", data = "web" }
}
resource "aws_subnet" "tier" {
  for_each   = var.tiers
  vpc_id     = aws_vpc.this.id
  cidr_block = "10.0.${each.value.number}.0/24"
}
resource "aws_route_table" "tier" {
  for_each = aws_subnet.tier
  vpc_id   = each.value.vpc_id
}
resource "aws_route_table_association" "tier" {
  for_each       = var.tiers
  subnet_id      = aws_subnet.tier[each.key].id
  route_table_id = aws_route_table.tier[each.value.table].id
}
resource "aws_route" "nat" {
  for_each               = toset(["app", "data"])
  route_table_id         = aws_route_table.tier[each.key].id
  destination_cidr_block = "0.0.0.0/0"
  nat_gateway_id         = aws_nat_gateway.this.id
}
"""


def _associated(network: str, each: str, table: str) -> str:
    return (
        _vpc()
        + network
        + _endpoint()
        + f"""
resource "aws_vpc_endpoint_route_table_association" "tier" {{
  {each}
  vpc_endpoint_id = aws_vpc_endpoint.s3express.id
  route_table_id  = {table}
}}
"""
    )


ASSOCIATED = {
    "each": _associated(_BY_COUNT, "count = length(aws_route_table.tier)", "aws_route_table.tier[count.index].id"),
    # Terraform associates one table several times without an error
    "one for all": _associated(_BY_COUNT, "count = 3", "element(aws_route_table.tier[*].id, 0)"),
    "chosen": _associated(_BY_COUNT, "count = 3", "element(aws_route_table.tier[*].id, var.shared ? 0 : count.index)"),
    "some twice": _associated(_BY_COUNT, "count = 3", "aws_route_table.tier[count.index % 2].id"),
    "set": _associated(_BY_KEY, 'for_each = toset(["app", "web"])', "aws_route_table.tier[each.value].id"),
    "map": _associated(_BY_KEY, 'for_each = { app = "web", web = "web" }', "aws_route_table.tier[each.value].id"),
    "local value": _associated(_BY_KEY, "for_each = local.of", "aws_route_table.tier[each.value].id"),
    "tables": _associated(_BY_KEY, "for_each = aws_route_table.tier", "each.value.id"),
    "some tables": _associated(
        _BY_KEY, 'for_each = { for key, table in aws_route_table.tier : key => table.id if key != "app" }', "each.value"
    ),
}
"""Associations of an endpoint with the tables of a block, by expressions that refer to the same and select others."""


_ACCOUNT = "data.aws_caller_identity.me.account_id"
_TRUE = {
    "state": 'aws_vpc_endpoint.s3express.state == "available"',
    "state of each": '[for e in [aws_vpc_endpoint.s3express] : e.state][0] == "available"',
    "state in a text": '"${aws_vpc_endpoint.s3express.state}-x" == "available-x"',
    "owner": f"aws_subnet.a.owner_id == {_ACCOUNT}",
    "owner by key": f'local.subnet["owner_id"] == {_ACCOUNT}',
    "owner by any key": f'local.subnet[join("_", ["owner", "id"])] == {_ACCOUNT}',
    "owner by variable": f"local.subnet[var.name] == {_ACCOUNT}",
    "owner by lookup": f"lookup(local.subnet, var.name, null) == {_ACCOUNT}",
    "owner in a local value": f"local.subnet.owner_id == {_ACCOUNT}",
    "owner in a list": f"[for s in aws_subnet.many : s.owner_id][1] == {_ACCOUNT}",
    "owner of each": f"element(aws_subnet.many[*].owner_id, 0) == {_ACCOUNT}",
    "owner in JSON": f"jsondecode(jsonencode(aws_subnet.a)).owner_id == {_ACCOUNT}",
    "owner among all": f'one([for k, v in aws_subnet.a : v if k == "owner_id"]) == {_ACCOUNT}',
    "owner through a module": f"module.inner.owner == {_ACCOUNT}",
    "account in an ARN": f'split(":", aws_vpc.this.arn)[4] == {_ACCOUNT}',
    "table in an ARN": 'split("/", aws_route_table.a.arn)[1] == aws_route_table.a.id',
    "owner of a gateway": f"aws_internet_gateway.this.owner_id == {_ACCOUNT}",
    "a default that is true": "aws_vpc.this.enable_dns_support == true",
    "a default that is false": "aws_subnet.a.map_public_ip_on_launch == false",
    "a default that is a text": 'aws_nat_gateway.this.connectivity_type == "public"',
    "a default of a VPC": 'try(aws_vpc.this.instance_tenancy, "") == "default"',
    "an adopted table": "aws_default_route_table.d.id == aws_vpc.this.main_route_table_id",
    "a table under two names": "aws_vpc.this.main_route_table_id == aws_vpc.this.default_route_table_id",
    "the VPC of an adopted table": "aws_default_route_table.d.vpc_id == aws_vpc.this.id",
    "the VPC of each adopted table": "[for t in [aws_default_route_table.d] : t.vpc_id][0] == aws_vpc.this.id",
    "data of a VPC": 'data.aws_vpc.read.cidr_block == "10.0.0.0/16"',
    "data of a table": "data.aws_route_table.read.id == aws_route_table.a.id",
    "a zone": 'startswith(aws_subnet.a.availability_zone, "us-east-1")',
    "another list": 'startswith(aws_vpc.this.default_network_acl_id, "acl-")',
    "options": 'startswith(aws_vpc.this.dhcp_options_id, "dopt-")',
    "a first id": "sort(aws_route_table.many[*].id)[0] != aws_route_table.many[3].id || true",
    "tables of a transit gateway": (
        "aws_ec2_transit_gateway.t.association_default_route_table_id"
        " == aws_ec2_transit_gateway.t.propagation_default_route_table_id"
    ),
    "a trigger": 'coalesce(terraform_data.state.output, "available") == "available"',
}
"""Conditions that are true after the apply, and that a plan with made-up values takes for false."""


def misleading(condition: str) -> str:
    """Return a network with a subnet behind a NAT, whose table would have the endpoint if a condition were false."""
    return (
        _vpc()
        + _private("a", 1, NAT_ROUTE, separate=False)
        + _endpoint()
        + f"""
data "aws_caller_identity" "me" {{
}}
variable "name" {{
  default = "owner_id"
}}
locals {{
  subnet = aws_subnet.a
}}
resource "aws_subnet" "many" {{
  count      = 2
  vpc_id     = aws_vpc.this.id
  cidr_block = cidrsubnet("10.0.0.0/16", 8, 100 + count.index)
}}
resource "aws_route_table" "many" {{
  count  = 4
  vpc_id = aws_vpc.this.id
}}
resource "aws_default_route_table" "d" {{
  default_route_table_id = aws_vpc.this.default_route_table_id
}}
data "aws_vpc" "read" {{
  id = aws_vpc.this.id
}}
data "aws_route_table" "read" {{
  route_table_id = aws_route_table.a.id
}}
resource "aws_ec2_transit_gateway" "t" {{
}}
resource "terraform_data" "state" {{
  input = aws_vpc_endpoint.s3express.state
}}
module "inner" {{
  source = "./inner"
  subnet = aws_subnet.a
}}
resource "aws_vpc_endpoint_route_table_association" "chosen" {{
  vpc_endpoint_id = aws_vpc_endpoint.s3express.id
  route_table_id  = {condition} ? aws_route_table.this_public.id : aws_route_table.a.id
}}
# file: inner/main.tf
variable "subnet" {{}}
output "owner" {{
  value = var.subnet.owner_id
}}
"""
    )


MISLEADING = {name: misleading(condition) for name, condition in _TRUE.items()}
"""Networks in which a value that nobody knows before the apply decides."""


def files_of(text: str) -> dict[str, str]:
    """Return the files of a module. A line `# file: NAME` begins another one than main.tf."""
    files, name = {"main.tf": ""}, "main.tf"
    for line in text.splitlines(keepends=True):
        if line.startswith("# file: "):
            name = line.removeprefix("# file: ").strip()
            files.setdefault(name, "")
        else:
            files[name] += line
    return files


FAMILIES: dict[str, Callable[[Random], Versions]] = {
    "plain": plain,
    "count": count,
    "for_each": for_each,
    "modules": modules,
    "changes": changes,
    "transit": transit,
    "awkward": awkward,
    "existing": existing,
    "conditions": conditions,
}
