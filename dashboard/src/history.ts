// The used share of each class since the page was opened: what a trend line shows.

import type { Totals } from "./cloud";

export interface Point {
  // Milliseconds since the epoch.
  at: number;
  share: number;
}

const MOST_POINTS = 240;

export class History {
  private readonly points = new Map<string, Point[]>();

  // The points of a class, the oldest first.
  of(name: string): readonly Point[] {
    return this.points.get(name) ?? [];
  }

  add(totals: ReadonlyMap<string, Totals>, at: number): void {
    for (const [name, { capacity, used }] of totals) {
      const point = { at, share: capacity > 0 ? used / capacity : 0 };
      this.points.set(name, thinned([...this.of(name), point]));
    }
  }
}

// Every other point goes once there are too many; the first and the last one stay.
function thinned(points: Point[]): Point[] {
  if (points.length <= MOST_POINTS) return points;
  const last = points.length - 1;
  return points.filter((_, index) => index % 2 === 0 || index === last);
}

const SMALLEST_RANGE = 0.01;

// The points of a class until now, for the same share since the last one.
export function untilNow(points: readonly Point[], now: number): readonly Point[] {
  const last = points.at(-1);
  return last === undefined ? [] : [...points, { ...last, at: Math.max(now, last.at + 1) }];
}

// The points of a polyline in a box of this size; a change of less than 1 % stays a small step.
export function polyline(points: readonly Point[], width: number, height: number): string {
  const [first, last] = [points[0], points.at(-1)];
  if (!first || !last) return "";
  const shares = points.map(({ share }) => share);
  const middle = (Math.min(...shares) + Math.max(...shares)) / 2;
  const range = Math.max(SMALLEST_RANGE, Math.max(...shares) - Math.min(...shares));
  const duration = last.at - first.at || 1;
  return points
    .map(({ at, share }) => {
      const x = (width * (at - first.at)) / duration;
      const y = height * (0.5 - (share - middle) / range);
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    })
    .join(" ");
}
