// Two curves over many directions: the canonical spectrum, and R^2 per dimension of new.
const MARGINS = { left: 46, top: 12, below: 46, right: 8 };

function spectrum(figure, view) {
  const { in_sample: seen, held_out: held } = view.spectrum;
  const count = Math.max(seen.length, held.length);
  const plot = figure.querySelector(".plot");
  if (!count) { plot.textContent = "not computed"; return; }
  const readout = figure.querySelector(".readout");
  const describe = index => `canonical direction ${index + 1} of ${count}: held-out ${digits(held[index])}, in sample ${digits(seen[index])}`;
  responsive(plot, 260, "Canonical correlations", (svg, width, height) => {
    const { left, top, below } = MARGINS, right = width - MARGINS.right, bottom = height - below;
    const lowest = Math.min(0, ...held.filter(known));
    const x = linear([1, Math.max(2, count)], [left, right]), y = linear([lowest, 1], [bottom, top]);
    leftAxis(svg, y, niceTicks(lowest, 1, 5), { left, right, format: tick => tick.toFixed(1) });
    indexAxis(svg, x, count, { bottom, centre: (left + right) / 2, title: "canonical direction" });
    const band = both => both.map(([place, value]) => `${x(place + 1)},${y(value)}`);
    const pairs = list => list.map((value, place) => [place, value]).filter(([, value]) => known(value));
    element(svg, "polygon", { class: "gap", points: [...band(pairs(seen)), ...band(pairs(held)).reverse()].join(" ") });
    curve(svg, "seen-line", band(pairs(seen)));
    curve(svg, "held-line", band(pairs(held)));
    const cursor = element(svg, "line", { class: "cursor", y1: top, y2: bottom, visibility: "hidden" });
    inspectable(svg, { count, label: "Canonical correlation by direction", describe,
      indexAt: place => Math.round(x.inverse(place)) - 1, show: index => moveCursor(cursor, x(index + 1), readout, describe(index)) });
  });
  tableBehind(figure, ["direction", "held-out", "in sample"],
    () => Array.from({ length: count }, (_, index) => [index + 1, digits(held[index]), digits(seen[index])]));
}

function dimensions(figure, view) {
  const r2 = view.r2, plot = figure.querySelector(".plot"), readout = figure.querySelector(".readout");
  if (!r2.length) { plot.textContent = "not computed"; return; }
  const order = r2.map((_, dimension) => dimension).sort((a, b) => (r2[b] ?? -Infinity) - (r2[a] ?? -Infinity));
  const describe = rank => `dimension ${order[rank]} of new, ${rank + 1} of ${r2.length}: held-out R² ${digits(r2[order[rank]])}`;
  const lowest = Math.max(-1, Math.min(0, ...r2.filter(known)));
  responsive(plot, 260, "Held-out R² of each dimension of new", (svg, width, height) => {
    const { left, top, below } = MARGINS, right = width - MARGINS.right, bottom = height - below;
    const slot = (right - left) / r2.length, y = linear([lowest, 1], [bottom, top]);
    leftAxis(svg, y, niceTicks(lowest, 1, 5), { left, right, format: tick => tick.toFixed(1) });
    const x = linear([1, r2.length + 1], [left, right]);
    order.forEach((dimension, rank) => {
      if (!known(r2[dimension])) return;
      const value = y(Math.max(lowest, r2[dimension]));
      element(svg, "rect", { class: r2[dimension] < 0 ? "barcol below" : "barcol", x: x(rank + 1),
        width: slot > 4 ? slot - 1.5 : slot + 0.4, y: Math.min(value, y(0)), height: Math.max(1, Math.abs(y(0) - value)) });
    });
    const floor = 1 - view.bounds.floor;
    for (const name of ["halo", "floor"]) {
      element(svg, "line", { class: name, x1: left, x2: right, y1: y(floor), y2: y(floor) });
    }
    indexAxis(svg, place => x(place) + slot / 2, r2.length, { bottom, centre: (left + right) / 2, title: "dimensions of new, best first" });
    const cursor = element(svg, "line", { class: "cursor", y1: top, y2: bottom, visibility: "hidden" });
    inspectable(svg, { count: r2.length, label: "Held-out R² by dimension, best first", describe,
      indexAt: place => Math.floor(x.inverse(place)) - 1,
      show: rank => moveCursor(cursor, x(rank + 1) + slot / 2, readout, describe(rank)) });
  });
  tableBehind(figure, ["dimension of new", "held-out R²"], () => order.map(dimension => [dimension, digits(r2[dimension])]));
}

function indexAxis(svg, x, count, { bottom, centre, title }) {
  const ticks = [1, ...niceTicks(1, count, 4).filter(tick => tick > 1 && tick < 0.94 * count && Number.isInteger(tick)), count];
  for (const tick of new Set(ticks)) {
    element(svg, "text", { x: x(tick), y: bottom + 17, "text-anchor": tick === count && count > 1 ? "end" : "middle" }, tick);
  }
  element(svg, "text", { x: centre, y: bottom + 38, "text-anchor": "middle" }, title);
}

function curve(svg, name, points) {
  if (points.length === 1) element(svg, "circle", { class: name, cx: points[0].split(",")[0], cy: points[0].split(",")[1], r: 4 });
  else element(svg, "polyline", { class: name, points: points.join(" ") });
}

function moveCursor(cursor, place, readout, text) {
  cursor.setAttribute("x1", place);
  cursor.setAttribute("x2", place);
  cursor.setAttribute("visibility", "visible");
  readout.textContent = text;
}
