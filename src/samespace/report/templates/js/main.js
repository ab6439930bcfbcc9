// Finds the page's comparisons and draws each; the theme follows the system until the reader chooses.
const THEMES = ["auto", "light", "dark"];

function themes(button) {
  const stored = () => { try { return localStorage.getItem("samespace-theme"); } catch { return null; } };
  const apply = theme => {
    if (theme === "auto") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
    button.textContent = `Theme: ${theme}`;
    button.dataset.now = theme;
  };
  apply(THEMES.includes(stored()) ? stored() : "auto");
  button.addEventListener("click", () => {
    const next = THEMES[(THEMES.indexOf(button.dataset.now) + 1) % THEMES.length];
    try { localStorage.setItem("samespace-theme", next); } catch { /* pages from disk may have no storage */ }
    apply(next);
  });
}

const CHARTS = { intervals, spectrum, dimensions, points };

themes(document.getElementById("theme"));
const views = JSON.parse(document.getElementById("data").textContent);
for (const root of document.querySelectorAll("[data-comparison]")) {
  const view = views[Number(root.dataset.comparison)];
  lattice(root);
  for (const figure of root.querySelectorAll("[data-chart]")) CHARTS[figure.dataset.chart](figure, view);
}
