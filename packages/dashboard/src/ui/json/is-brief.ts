/** Whether its JSON has about so many characters at the most. It looks at no more than that of it. */
export function isBrief(value: unknown, most: number): boolean {
  let left = most;
  const open: unknown[] = [value];
  while (open.length > 0 && left >= 0) {
    const one = open.pop();
    if (typeof one === 'string') left -= one.length + 2;
    else if (typeof one !== 'object' || one === null) left -= 8;
    else if (Array.isArray(one)) {
      left -= one.length + 2;
      if (left >= 0) open.push(...one);
    } else {
      left -= 2;
      // Without a list of all names, of which there may be a million.
      for (const name in one) {
        left -= name.length + 4;
        if (left < 0) break;
        open.push((one as Record<string, unknown>)[name]);
      }
    }
  }
  return left >= 0;
}
