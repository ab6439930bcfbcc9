// The lattice of maps: nodes are buttons in the page already; here their edges and their reasons.
const EDGES = [["identity", "permutation"], ["identity", "orthogonal"], ["permutation", "affine"],
  ["orthogonal", "affine"], ["affine", "none"]];

function lattice(root) {
  const box = root.querySelector(".lattice");
  const because = root.querySelector(".because");
  const nodes = new Map([...box.querySelectorAll(".node")].map(node => [node.dataset.class, node]));
  const svg = element(box, "svg", { "aria-hidden": "true" });
  const connect = () => {
    svg.replaceChildren();
    const frame = box.getBoundingClientRect();
    const place = name => {
      const at = nodes.get(name).getBoundingClientRect();
      return { left: at.left - frame.left, right: at.right - frame.left, top: at.top - frame.top,
        bottom: at.bottom - frame.top, x: (at.left + at.right) / 2 - frame.left, y: (at.top + at.bottom) / 2 - frame.top };
    };
    for (const [from, to] of EDGES) edge(svg, place(from), place(to));
  };
  new ResizeObserver(connect).observe(box);
  const explain = node => { because.textContent = node.dataset.reason; };
  for (const node of nodes.values()) {
    for (const kind of ["click", "focus", "pointerenter"]) node.addEventListener(kind, () => explain(node));
  }
}

function edge(svg, from, to) {
  const gap = 7;
  if (to.left >= from.right) {
    const middle = (from.right + to.left) / 2;
    element(svg, "path", { class: "edge",
      d: `M${from.right},${from.y} C${middle},${from.y} ${middle},${to.y} ${to.left - gap},${to.y}` });
    element(svg, "path", { class: "head", d: `M${to.left - 1},${to.y} l-10,-5.5 v11 z` });
  } else {
    const middle = (from.bottom + to.top) / 2;
    element(svg, "path", { class: "edge",
      d: `M${from.x},${from.bottom} C${from.x},${middle} ${to.x},${middle} ${to.x},${to.top - gap}` });
    element(svg, "path", { class: "head", d: `M${to.x},${to.top - 1} l-5.5,-10 h11 z` });
  }
}
