/** What calls of models have cost, in the currency of the workspace's prices. */
export function toCost(cost: number): string {
  return cost.toLocaleString('en', { maximumFractionDigits: 9 });
}
