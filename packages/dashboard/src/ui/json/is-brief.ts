/** Whether its JSON, each level two spaces further in, has about so many characters at the most. It looks at no more than that of it. */
export function isBrief(value: unknown, most: number): boolean {
  let left = most;
  const open: unknown[] = [value];
  const depths: number[] = [0];
  while (open.length > 0 && left >= 0) {
    const one = open.pop();
    const depth = depths.pop() ?? 0;
    left -= 2 * depth;
    if (typeof one === 'string') left -= one.length + 2;
    else if (typeof one !== 'object' || one === null) left -= 8;
    else if (Array.isArray(one)) {
      left -= one.length + 2 + 2 * depth;
      if (left < 0) break;
      for (const each of one) {
        open.push(each);
        depths.push(depth + 1);
      }
    } else {
      left -= 2 + 2 * depth;
      // Without a list of all names, of which there may be a million.
      for (const name in one) {
        left -= name.length + 4;
        if (left < 0) break;
        open.push((one as Record<string, unknown>)[name]);
        depths.push(depth + 1);
      }
    }
  }
  return left >= 0;
}
