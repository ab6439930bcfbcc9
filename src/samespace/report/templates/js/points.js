// Old, new and mapped points on new's principal plane; before and after move into each other.
function points(figure, view) {
  const data = view.points;
  if (!data) return;
  const control = name => figure.querySelector(`[data-control="${name}"]`);
  const state = { after: false, map: control("map").value, links: false, phase: 0, frame: 0 };
  const readout = figure.querySelector(".readout"), plot = figure.querySelector(".plot");
  const target = () => data.mapped[state.map] || data.old;
  let scene = null;

  responsive(plot, width => Math.min(520, Math.round(width * 0.9)), "Old and new points on a plane", (svg, width, height) => {
    scene = build(svg, data, width, height);
    scene.move(target(), state.phase, state.links);
    const describe = index => pointText(data, index, state);
    inspectable(svg, { count: data.new.length, label: "Row by row", describe,
      indexAt: (x, y) => scene.nearest(x, y), show: index => { scene.light(index); readout.textContent = describe(index); } });
  });

  const go = after => {
    state.after = after;
    for (const name of ["before", "after"]) control(name).setAttribute("aria-pressed", String((name === "after") === after));
    readout.textContent = after
      ? `After: old points (rings) through the ${state.map} map, over new points (dots).`
      : "Before: old points (rings) in their own principal plane, over new points (dots) in theirs.";
    const goal = after ? 1 : 0, start = state.phase, began = performance.now();
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    cancelAnimationFrame(state.frame);
    const step = now => {
      const share = still ? 1 : Math.min(1, (now - began) / 900);
      const eased = share < 0.5 ? 4 * share ** 3 : 1 - (-2 * share + 2) ** 3 / 2;
      state.phase = start + (goal - start) * eased;
      figure.dataset.phase = state.phase.toFixed(3);
      scene.move(target(), state.phase, state.links);
      if (share < 1) state.frame = requestAnimationFrame(step);
    };
    if (still) step(began); else state.frame = requestAnimationFrame(step);
  };
  control("before").addEventListener("click", () => go(false));
  control("after").addEventListener("click", () => go(true));
  control("map").addEventListener("change", event => { state.map = event.target.value; go(true); });
  control("links").addEventListener("change", event => {
    state.links = event.target.checked;
    scene.move(target(), state.phase, state.links);
  });
  go(false);
}

function build(svg, data, width, height) {
  const margin = { side: 14, top: 26, bottom: 30 }, all = [...data.new, ...data.old];
  const ends = axis => [Math.min(...all.map(point => point[axis])), Math.max(...all.map(point => point[axis]))];
  const [[left, right], [low, high]] = [ends(0), ends(1)];
  const tall = height - margin.top - margin.bottom;
  const unit = Math.min((width - 2 * margin.side) / (right - left || 1), tall / (high - low || 1));
  const x = value => width / 2 + (value - (left + right) / 2) * unit;
  const y = value => margin.top + tall / 2 - (value - (low + high) / 2) * unit;
  const inside = ([a, b]) => [Math.min(width - 5, Math.max(5, x(a))), Math.min(height - 5, Math.max(5, y(b)))];
  element(svg, "line", { class: "grid", x1: 0, x2: width, y1: y(0), y2: y(0) });
  element(svg, "line", { class: "grid", x1: x(0), x2: x(0), y1: 0, y2: height });
  element(svg, "text", { x: width, y: height - 4, "text-anchor": "end" }, `1st axis of new, ${data.shares_new[0]} of its variance →`);
  element(svg, "text", { x: 0, y: 12 }, `↑ 2nd axis, ${data.shares_new[1]}`);
  const fixed = data.new.map(inside);
  const links = data.new.map(([a, b]) => element(svg, "line", { class: "link", x1: x(a), y1: y(b), visibility: "hidden" }));
  for (const [a, b] of fixed) element(svg, "circle", { class: "new-point", cx: a, cy: b, r: 2.6 });
  const along = data.new.map(([a]) => a), newEnds = [Math.min(...along), Math.max(...along)];
  const rings = data.new.map(([a]) => {
    const ring = element(svg, "circle", { class: "old-point", r: 4 });
    const share = Math.round(100 * Math.min(1, Math.max(0, (a - newEnds[0]) / (newEnds[1] - newEnds[0] || 1))));
    const paint = `color-mix(in oklab, var(--high) ${share}%, var(--low))`;
    ring.style.stroke = paint;
    ring.style.fill = paint;
    return ring;
  });
  const lit = ["circle", "circle", "line"].map(tag => element(svg, tag, { class: "lit", r: 7, visibility: "hidden" }));
  const moving = fixed.map(point => point);
  let index = -1;
  const light = chosen => {
    index = chosen;
    const [a, b] = fixed[index], [c, d] = moving[index];
    for (const [node, place] of [[lit[0], { cx: a, cy: b }], [lit[1], { cx: c, cy: d }], [lit[2], { x1: a, y1: b, x2: c, y2: d }]]) {
      for (const [name, value] of Object.entries(place)) node.setAttribute(name, value);
      node.setAttribute("visibility", "visible");
    }
  };
  const move = (target, phase, linked) => {
    rings.forEach((ring, row) => {
      const [a, b] = data.old[row], [c, d] = target[row];
      const [cx, cy] = moving[row] = inside([a + (c - a) * phase, b + (d - b) * phase]);
      ring.setAttribute("cx", cx);
      ring.setAttribute("cy", cy);
      links[row].setAttribute("x2", cx);
      links[row].setAttribute("y2", cy);
      links[row].setAttribute("visibility", linked ? "visible" : "hidden");
    });
    if (index >= 0) light(index);
  };
  const nearest = (px, py) => {
    let best = null, least = 18 ** 2;
    for (const cloud of [moving, fixed]) cloud.forEach(([a, b], row) => {
      const distance = (a - px) ** 2 + (b - py) ** 2;
      if (distance < least) { best = row; least = distance; }
    });
    return best;
  };
  return { move, light, nearest };
}

function pointText(data, index, state) {
  const place = ([a, b]) => `(${a.toPrecision(3)}, ${b.toPrecision(3)})`;
  const old = state.after ? (data.mapped[state.map] || data.old)[index] : data.old[index];
  return `row ${data.keys[index]}: new at ${place(data.new[index])}, old ${state.after ? "mapped to" : "at"} ${place(old)}`;
}
