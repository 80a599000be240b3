// @ts-check

/** @param {number[]} values */
export function median(values) {
  return quantile(values, 0.5);
}

/**
 * The smallest of the values that at least the share `q` of them does not exceed.
 * @param {number[]} values
 * @param {number} q
 */
export function quantile(values, q) {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * q) - 1)] ?? Number.NaN;
}

/**
 * @param {number} value
 * @param {number} [digits]
 */
export function round(value, digits = 0) {
  return Number(value.toFixed(digits));
}
