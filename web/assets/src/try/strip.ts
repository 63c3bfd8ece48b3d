// The typing rhythm as the collector measures it: a bar for each key while it is held, in lanes by hand. The key itself is not
// stored.
import { keyOf } from "../../../../sdk/js/src/features/keys";

const svgNS = "http://www.w3.org/2000/svg";
const seconds = 6;
const width = 600;
const laneHeight = 22;
const lanes = ["left", "right", "space", "other"];
const gutter = 84;

interface Bar {
  lane: number;
  down: number;
  up: number | undefined;
}

export function svg(name: string, attributes: Record<string, string | number>, ...children: (Node | string)[]): SVGElement {
  const element = document.createElementNS(svgNS, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

export class Strip {
  private bars: Bar[] = [];
  private readonly held = new Map<string, Bar>();
  private readonly layer = svg("g", {});
  private drawing = false;

  constructor(into: HTMLElement) {
    const height = lanes.length * laneHeight;
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "strip", role: "img", "aria-label": "Bars for the keys of the last seconds, by hand" });
    lanes.forEach((lane, i) => {
      picture.append(svg("text", { x: 0, y: i * laneHeight + 15, class: "strip-name" }, lane));
      picture.append(svg("line", { x1: gutter, x2: width, y1: (i + 1) * laneHeight - 1, y2: (i + 1) * laneHeight - 1, class: "strip-line" }));
    });
    picture.append(this.layer);
    into.append(picture);
  }

  down(code: string, at: number): void {
    const group = keyOf(code).group;
    const lane = group < 4 ? 0 : group < 8 ? 1 : group === 8 ? 2 : 3;
    const bar: Bar = { lane, down: at, up: undefined };
    this.held.set(code, bar);
    this.bars.push(bar);
    this.draw();
  }

  up(code: string, at: number): void {
    const bar = this.held.get(code);
    if (!bar) return;
    bar.up = at;
    this.held.delete(code);
    this.draw();
  }

  private draw(): void {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      const newest = Math.max(0, ...this.bars.map((b) => b.up ?? b.down));
      const oldest = newest - seconds * 1000;
      this.bars = this.bars.filter((b) => (b.up ?? b.down) > oldest);
      const scale = (width - gutter) / (seconds * 1000);
      this.layer.replaceChildren(
        ...this.bars.map((b) => {
          const from = Math.max(b.down, oldest);
          const long = Math.max(((b.up ?? newest) - from) * scale, 2);
          return svg("rect", { x: (gutter + (from - oldest) * scale).toFixed(1), y: b.lane * laneHeight + 4, width: long.toFixed(1), height: laneHeight - 9, rx: 3, class: `strip-bar lane-${b.lane}` });
        }),
      );
    });
  }
}
