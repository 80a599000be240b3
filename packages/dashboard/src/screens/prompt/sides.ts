export interface DiffLine {
  kind: 'same' | 'added' | 'removed';
  text: string;
}

export interface Hunk {
  fromLine: number;
  toLine: number;
  lines: readonly DiffLine[];
}

/** A line of each side; undefined: that side has none here. */
export interface SidePair {
  left?: { line: number; text: string };
  right?: { line: number; text: string };
  isSame: boolean;
}

/** What was removed is beside what was added in its place. */
export function toSides({ fromLine, toLine, lines }: Hunk): SidePair[] {
  const pairs: SidePair[] = [];
  let removed: string[] = [];
  let added: string[] = [];
  let [left, right] = [fromLine, toLine];
  const flush = (): void => {
    for (let at = 0; at < Math.max(removed.length, added.length); at += 1) {
      const [before, after] = [removed[at], added[at]];
      pairs.push({
        isSame: false,
        ...(before === undefined ? {} : { left: { line: left++, text: before } }),
        ...(after === undefined ? {} : { right: { line: right++, text: after } }),
      });
    }
    [removed, added] = [[], []];
  };
  for (const { kind, text } of lines) {
    if (kind === 'removed') {
      if (added.length > 0) flush();
      removed.push(text);
    } else if (kind === 'added') added.push(text);
    else {
      flush();
      pairs.push({ isSame: true, left: { line: left++, text }, right: { line: right++, text } });
    }
  }
  flush();
  return pairs;
}
