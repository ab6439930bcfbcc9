// Elements, scales and axes: the little that the charts share. Text enters as text nodes only.
const SVG = "http://www.w3.org/2000/svg";

function element(parent, tag, attributes = {}, text) {
  const node = parent.namespaceURI === SVG || tag === "svg"
    ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}

function linear([low, high], [from, to]) {
  const scale = value => from + (value - low) / (high - low || 1) * (to - from);
  scale.inverse = place => low + (place - from) / (to - from) * (high - low);
  return scale;
}

function logarithmic([low, high], range) {
  const scale = linear([Math.log10(low), Math.log10(high)], range);
  return value => scale(Math.log10(Math.min(high, Math.max(low, value))));
}

function niceTicks(low, high, wanted) {
  const raw = (high - low) / wanted || 1;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find(factor => factor * power >= raw);
  const ticks = [];
  for (let index = Math.ceil(low / step); index * step <= high + step / 1e6; index += 1) ticks.push(index * step);
  return ticks;
}

function percent(share) {
  const value = 100 * share;
  return `${value >= 1000 ? value.toLocaleString("en") : Number(value.toPrecision(3))}%`;
}

const known = value => value !== null && value !== undefined;
const digits = (value, count = 4) => known(value) ? value.toFixed(count) : "not computed";

// Draws now and whenever the width changes: text keeps its size, so the drawing must follow the page.
function responsive(plot, height, label, draw) {
  let width = 0;
  const render = () => {
    const now = Math.round(plot.clientWidth);
    if (!now || now === width) return;
    width = now;
    plot.replaceChildren();
    const tall = typeof height === "function" ? height(width) : height;
    const svg = element(plot, "svg", { viewBox: `0 0 ${width} ${tall}`, role: "img", "aria-label": label });
    draw(svg, width, tall);
  };
  new ResizeObserver(render).observe(plot);
  render();
}

function leftAxis(svg, scale, ticks, { left, right, format }) {
  for (const tick of ticks) {
    element(svg, "line", { class: "grid", x1: left, x2: right, y1: scale(tick), y2: scale(tick) });
    element(svg, "text", { x: left - 8, y: scale(tick) + 4, "text-anchor": "end" }, format(tick));
  }
}

function bottomAxis(svg, scale, ticks, { top, bottom, format, title, centre }) {
  for (const tick of ticks) {
    element(svg, "line", { class: "grid", x1: scale(tick), x2: scale(tick), y1: top, y2: bottom });
    element(svg, "text", { x: scale(tick), y: bottom + 17, "text-anchor": "middle" }, format(tick));
  }
  if (title) element(svg, "text", { x: centre, y: bottom + 36, "text-anchor": "middle" }, title);
}

// One thing inspected at a time, by pointer or by arrow keys: a slider, as assistive technology knows it.
function inspectable(svg, { count, label, indexAt, show, describe }) {
  let index = -1;
  const choose = next => {
    index = Math.min(count - 1, Math.max(0, next));
    svg.setAttribute("aria-valuenow", index + 1);
    svg.setAttribute("aria-valuetext", describe(index));
    show(index);
  };
  const attributes = { role: "slider", tabindex: 0, "aria-label": label, "aria-valuemin": 1,
    "aria-valuemax": count, "aria-valuenow": 1, "aria-valuetext": describe(0) };
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
  for (const kind of ["pointermove", "pointerdown"]) svg.addEventListener(kind, event => {
    const box = svg.getBoundingClientRect();
    const found = indexAt(event.clientX - box.left, event.clientY - box.top);
    if (found !== null) choose(found);
  });
  svg.addEventListener("keydown", event => {
    const large = Math.max(1, Math.round(count / 10));
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: large, PageDown: -large }[event.key];
    const next = { Home: 0, End: count - 1 }[event.key] ?? (step && (index < 0 ? 0 : index + step));
    if (next === undefined) return;
    event.preventDefault();
    choose(next);
  });
}

// A table behind every curve, filled when it is opened: thousands of rows cost nothing until then.
function tableBehind(figure, headings, rows) {
  const details = element(figure, "details");
  element(details, "summary", {}, "The same numbers as a table");
  details.addEventListener("toggle", () => {
    const scroll = element(details, "div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "numbers" });
    const table = element(scroll, "table");
    const head = element(element(table, "thead"), "tr");
    for (const heading of headings) element(head, "th", { scope: "col" }, heading);
    const body = element(table, "tbody");
    for (const row of rows()) {
      const line = element(body, "tr");
      row.forEach((cell, place) => element(line, place ? "td" : "th", {}, cell));
    }
  }, { once: true });
}
