// The typing rhythm as the collector measures it: a bar for each key while it is held, in lanes by hand. The key itself is not
// stored.
import { keyOf } from "../../../../sdk/js/src/features/keys";

const svgNS = "http://www.w3.org/2000/svg";
const seconds = 6;
const usualWidth = 600;
const laneHeight = 22;
const lanes = ["left", "right", "space", "other"];
const gutter = 56;

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

/** The width in CSS pixels in which a plot is drawn. */
export const widthOf = (box: HTMLElement): number => box.clientWidth || usualWidth;

export class Strip {
  private bars: Bar[] = [];
  private readonly held = new Map<string, Bar>();
  private readonly layer = svg("g", {});
  private readonly picture: SVGElement;
  private drawing = false;

  constructor(private readonly into: HTMLElement) {
    const picture = svg("svg", { class: "strip", role: "img", "aria-label": "Bars for the keys of the last seconds, by hand" });
    this.picture = picture;
    this.fit();
    lanes.forEach((lane, i) => {
      picture.append(svg("text", { x: 0, y: i * laneHeight + 15, class: "strip-name" }, lane));
      picture.append(svg("line", { x1: gutter, x2: "100%", y1: (i + 1) * laneHeight - 1, y2: (i + 1) * laneHeight - 1, class: "strip-line" }));
    });
    picture.append(this.layer);
    into.append(picture);
  }

  /** Draws in the width of the box, so that letters have the same size in every window. */
  private fit(): number {
    const width = widthOf(this.into);
    this.picture.setAttribute("viewBox", `0 0 ${width} ${lanes.length * laneHeight}`);
    return width;
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
      const scale = (this.fit() - gutter) / (seconds * 1000);
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
