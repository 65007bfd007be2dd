// The page: its parts, and their update when the state changes.

function show() {
    const found = matching();
    showFilters(found);
    showSummary();
    showWorklist(found);
    showVpcs(found);
    showTable(found);
}

function changed() {
    show();
    writeFragment();
}

makeSummary(changed);
makeParameters();
if (subnets.length > 0) {
    readFragment();
    makeRollups(changed);
    makeFilters(changed);
    makeWorklist();
    makeVpcs();
    makeTable(changed);
    document.querySelector(".skip").hidden = false;
    const [worst] = [...vpcs].sort((one, other) => other.crossing - one.crossing);
    openVpcs.add(worst.key);
    show();
    addEventListener("hashchange", () => {
        if (!location.hash.includes("=") && location.hash) return;
        readFragment();
        show();
    });
    isNarrow.addEventListener("change", show);
}
