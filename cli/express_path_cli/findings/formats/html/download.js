// The filtered rows as a CSV file, with the columns of `express-path scan --format csv`.

/** A value that a spreadsheet would run as a formula gets an apostrophe. */
function csvCell(value) {
    const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const csvRow = (subnet) => [
    subnet.vpc.account,
    subnet.vpc.region,
    subnet.vpc.id,
    subnet.id,
    subnet.zone,
    subnet.table.id,
    subnet.compliance,
    subnet.reason.name,
    subnet.annotation,
    subnet.path.hops.map((hop) => `${hop.destination} -> ${hop.id}`).join(", then "),
    subnet.name,
    subnet.table.name,
    subnet.vpc.name,
    ...subnet.tags,
];

const csvOf = (rows) =>
    [data.csvColumns, ...rows.map(csvRow)].map((cells) => `${cells.map(csvCell).join(",")}\r\n`).join("");

function downloadCsv() {
    const address = URL.createObjectURL(new Blob([csvOf(listed)], { type: "text/csv;charset=utf-8" }));
    element("a", { href: address, download: "express-path-subnets.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
