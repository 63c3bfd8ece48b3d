// The status of operator continuity, frame by frame.
import { make } from "../lib/dom";
import { svg, widthOf } from "./strip";
import { plain, tone } from "./types";

const rows = ["confirmed", "likely", "uncertain", "not_confirmed", "insufficient_evidence"];
const labels: Record<string, string> = { insufficient_evidence: "too little" };
const rowHeight = 24;
const gutter = 105;
const spacing = 28; // between frames, at least
const most = 16;

export interface Point {
  status: string;
  handed: boolean; // typed after the user handed over the keyboard
}

export class Timeline {
  private points: Point[] = [];

  constructor(private readonly into: HTMLElement) {}

  add(point: Point): void {
    this.points.push(point);
    this.draw();
  }

  get all(): Point[] {
    return this.points;
  }

  restore(points: Point[]): void {
    this.points = points;
    if (points.length > 0) this.draw();
  }

  private draw(): void {
    const width = widthOf(this.into);
    const shown = Math.min(most, Math.floor((width - gutter) / spacing));
    const points = this.points.slice(-shown); // the newest
    const height = rows.length * rowHeight;
    const first = this.points.length - points.length + 1;
    const said = points.map((p, i) => `frame ${first + i}${p.handed ? ", handed over" : ""}: ${plain(p.status)}`).join("; ");
    const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, class: "timeline", role: "img", "aria-label": `Is it the person who enrolled? ${said}` });
    rows.forEach((row, i) => {
      picture.append(svg("text", { x: 0, y: i * rowHeight + 16, class: "strip-name" }, labels[row] ?? plain(row)));
      picture.append(svg("line", { x1: gutter, x2: width, y1: i * rowHeight + 12, y2: i * rowHeight + 12, class: "strip-line" }));
    });
    const x = (i: number): number => gutter + 16 + (i * (width - gutter - 32)) / (shown - 1);
    const y = (p: Point): number => Math.max(rows.indexOf(p.status), 0) * rowHeight + 12;
    const path = points.map((p, i) => `${i === 0 ? "M" : "L"}${x(i).toFixed(1)} ${y(p)}`).join("");
    picture.append(svg("path", { d: path, class: "timeline-path" }));
    points.forEach((p, i) => {
      if (p.handed && !points[i - 1]?.handed && i > 0) {
        const at = (x(i) + x(i - 1)) / 2;
        picture.append(svg("line", { x1: at, x2: at, y1: 0, y2: height, class: "timeline-mark" }));
      }
      picture.append(svg("circle", { cx: x(i).toFixed(1), cy: y(p), r: 6, class: `dot ${tone(p.status) || "none"}` }));
    });
    this.into.replaceChildren(make("h3", {}, "Is it the person who enrolled?"), picture);
    if (points.some((p) => p.handed)) this.into.append(make("p", { class: "fine" }, "The dashed line marks the handover. The service was not informed of it."));
  }
}
