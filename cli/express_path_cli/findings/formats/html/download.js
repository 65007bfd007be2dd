// The filtered rows as a CSV file, with the columns of `express-path scan --format csv`.

/** Lines that a spreadsheet would run as a formula get an apostrophe, as in the command's CSV (formats/csv.py). */
function csvCell(value) {
    const text = value.replace(/(^|[\r\n])(?=[=+\-@\t\r\uff1d\uff0b\uff0d\uff20])/g, "$1'");
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
    subnet.remedy.text,
    subnet.remedy.command,
];

const csvOf = (rows) =>
    [data.csvColumns, ...rows.map(csvRow)].map((cells) => `${cells.map(csvCell).join(",")}\r\n`).join("");

function downloadCsv() {
    const address = URL.createObjectURL(new Blob([csvOf(listed)], { type: "text/csv;charset=utf-8" }));
    element("a", { href: address, download: "express-path-subnets.csv" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60_000);
}
