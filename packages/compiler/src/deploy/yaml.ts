export type YamlValue = string | number | boolean | YamlValue[] | { [key: string]: YamlValue | undefined };

/** YAML of plain data. Every string is quoted, so that none is read as anything else. */
export function toYaml(value: YamlValue, depth = 0): string {
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map((one) => JSON.stringify(one)).join(', ')}]`;
  const indent = '  '.repeat(depth);
  const entries = Object.entries(value).filter((entry): entry is [string, YamlValue] => entry[1] !== undefined);
  if (entries.length === 0) return '{}';
  return entries
    .map(([key, one]) => {
      const nested = typeof one === 'object' && !Array.isArray(one) && Object.keys(one).length > 0;
      return `${indent}${key}:${nested ? `\n${toYaml(one, depth + 1)}` : ` ${toYaml(one, depth + 1)}`}`;
    })
    .join('\n');
}
