// Held-out unexplained shares on a logarithmic axis, with the bounds that decide drawn in.
const SMALLEST = 1e-6;

function intervals(figure, view) {
  const classes = view.classes;
  const shown = classes.filter(entry => known(entry.unexplained));
  const values = [...shown.flatMap(entry => [entry.unexplained, entry.best, ...(entry.interval || []), ...(entry.null || [])]),
    view.bounds.floor, view.bounds.tolerance].filter(value => known(value) && value > 0);
  const low = Math.max(SMALLEST, 10 ** Math.floor(Math.log10(Math.min(...values) * 0.9)));
  const high = Math.max(2, Math.max(...values) * 1.3);
  const label = "Held-out unexplained share of each class: " +
    classes.map(entry => `${entry.name} ${entry.text.unexplained}, ${entry.text.interval}`).join("; ");
  responsive(figure.querySelector(".plot"), 4 * 54 + 78, label, (svg, width, height) => {
    const narrow = width < 520;
    const left = narrow ? 8 : 104, right = width - 12, top = 30, bottom = height - 48;
    const x = logarithmic([low, high], [left, right]);
    drawZone(svg, view.bounds, x, { left, top, bottom });
    const powers = [];
    for (let power = Math.round(Math.log10(low)); 10 ** power <= high; power += 1) powers.push(10 ** power);
    const step = Math.ceil(powers.length / Math.max(2, Math.floor((right - left) / 62)));
    bottomAxis(svg, x, powers.filter((_, place) => (powers.length - 1 - place) % step === 0), { top, bottom, format: percent,
      title: narrow ? "unexplained share of new, held out (log)" : "share of new's variance left unexplained on held-out rows (log)", centre: (left + right) / 2 });
    drawBounds(svg, view.bounds, x, { top, bottom });
    classes.forEach((entry, place) => drawClass(svg, entry, x, { y: top + 27 + 54 * place, left, narrow, low }));
  });
}

function drawZone(svg, bounds, x, { left, top, bottom }) {
  const limit = Math.min(...[bounds.floor, bounds.tolerance].filter(known));
  element(svg, "rect", { class: "zone", x: left, y: top, width: Math.max(0, x(limit) - left), height: bottom - top });
  element(svg, "text", { x: left + 4, y: top - 8 }, "holds here");
}

function drawBounds(svg, bounds, x, { top, bottom }) {
  for (const name of ["tolerance", "floor"].filter(name => known(bounds[name]))) {
    element(svg, "line", { class: name, x1: x(bounds[name]), x2: x(bounds[name]), y1: top, y2: bottom });
  }
}

function drawClass(svg, entry, x, { y, left, narrow, low }) {
  element(svg, "text", { class: "strong", x: narrow ? left + 4 : left - 10, y: narrow ? y - 11 : y + 4,
    "text-anchor": narrow ? "start" : "end" }, entry.name);
  if (!known(entry.unexplained)) {
    element(svg, "text", { x: left + (narrow ? 4 : 8), y: y + (narrow ? 6 : 4) }, entry.status === "absent" ? "does not apply" : "not computed");
    return;
  }
  const group = element(svg, "g", { class: `tone-${entry.status}` });
  element(group, "title", {}, `${entry.name}: ${entry.text.unexplained}, interval ${entry.text.interval}; ` +
    `in sample ${entry.text.in_sample}, corrected ${entry.text.best}; random pairs ${entry.text.null}`);
  if (entry.null) {
    element(group, "rect", { class: "nullband", x: x(entry.null[0]) - 1, y: y - 13, height: 26, rx: 2,
      width: Math.max(3, x(entry.null[2]) - x(entry.null[0]) + 2) });
  }
  if (entry.interval) {
    element(group, "line", { class: "span", x1: x(entry.interval[0]), x2: x(entry.interval[1]), y1: y, y2: y });
  }
  if (known(entry.best)) {
    element(group, "line", { class: "bracket", x1: x(entry.best), x2: x(entry.unexplained), y1: y, y2: y });
    element(group, "path", { class: "seen-dot", d: `M${x(entry.best)},${y - 7} l6,7 l-6,7 l-6,-7 z` });
  }
  element(group, "circle", { class: "dot", cx: x(entry.unexplained), cy: y, r: 6 });
  if (entry.unexplained < low) element(group, "text", { x: x(low) + 12, y: y - 10 }, `${entry.text.unexplained}, off the axis`);
}
