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

/** Show all rows and details, because paper has no buttons, or again what was shown before. */
function setPrinting(isStarting) {
    isPrinting = isStarting;
    show();
}

/** The theme is the system's until the button is pressed; nothing is stored. */
function makeTheme() {
    const system = matchMedia("(prefers-color-scheme: dark)");
    const isDark = () => (document.documentElement.dataset.theme ?? (system.matches ? "dark" : "light")) === "dark";
    const button = byId("theme");
    const showLabel = () => {
        button.textContent = isDark() ? "Light theme" : "Dark theme";
    };
    button.addEventListener("click", () => {
        document.documentElement.dataset.theme = isDark() ? "light" : "dark";
        showLabel();
    });
    system.addEventListener("change", showLabel);
    showLabel();
    button.hidden = false;
}

makeTheme();
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
    addEventListener("beforeprint", () => setPrinting(true));
    addEventListener("afterprint", () => setPrinting(false));
}
