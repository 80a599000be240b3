/** What is counted, kept as plain numbers: no library is loaded before they are read. */
export interface Counter {
  readonly description: Description;
  readonly points: ReadonlyMap<string, Point>;
  /** `values` of the labels, in their order. */
  add(values: readonly string[], amount?: number): void;
}

export interface Histogram extends Counter {
  readonly bounds: readonly number[];
}

export interface Description {
  name: string;
  unit: string;
  text: string;
}

export interface Point {
  labels: Record<string, string | boolean>;
  count: number;
  /** Of a counter, its value. */
  sum: number;
  /** Of a histogram: how many up to each bound, and above all of them. */
  buckets: number[];
}

/** Sets of labels one figure may have: names in the program are few, and what a model makes up is not. */
export const MAX_POINTS = 1_000;

export function createCounter(description: Description, labels: readonly string[]): Counter {
  return createPoints(description, labels, []);
}

export function createHistogram(
  description: Description,
  labels: readonly string[],
  bounds: readonly number[],
): Histogram {
  return { ...createPoints(description, labels, bounds), bounds };
}

// --- internal ---

const OVERFLOW = { key: '\u0000', labels: { 'otel.metric.overflow': true } };

function createPoints(description: Description, names: readonly string[], bounds: readonly number[]): Counter {
  const points = new Map<string, Point>();
  const create = (key: string, labels: Point['labels']): Point => {
    const buckets = bounds.length > 0 ? Array.from({ length: bounds.length + 1 }, () => 0) : [];
    const point = { labels, count: 0, sum: 0, buckets };
    points.set(key, point);
    return point;
  };
  const pointOf = (values: readonly string[]): Point => {
    const key = values.join('\u0001');
    const known = points.get(key);
    if (known) return known;
    if (points.size >= MAX_POINTS) return points.get(OVERFLOW.key) ?? create(OVERFLOW.key, OVERFLOW.labels);
    // A label without a value is left out.
    return create(key, Object.fromEntries(names.flatMap((name, at) => (values[at] ? [[name, values[at]]] : []))));
  };
  return {
    description,
    points,
    add(values, amount = 1) {
      const point = pointOf(values);
      point.count += 1;
      point.sum += amount;
      if (bounds.length > 0) point.buckets[bucketOf(bounds, amount)]! += 1;
    },
  };
}

function bucketOf(bounds: readonly number[], value: number): number {
  let at = 0;
  while (at < bounds.length && value > (bounds[at] ?? Infinity)) at += 1;
  return at;
}
