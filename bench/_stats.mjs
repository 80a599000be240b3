// @ts-check

/** @param {number[]} values */
export function median(values) {
  return quantile(values, 0.5);
}

/**
 * The value that the share `q` of the others does not exceed.
 * @param {number[]} values
 * @param {number} q
 */
export function quantile(values, q) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN;
}

/**
 * @param {number} value
 * @param {number} [digits]
 */
export function round(value, digits = 0) {
  return Number(value.toFixed(digits));
}
