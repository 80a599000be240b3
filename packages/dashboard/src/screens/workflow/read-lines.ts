/** As many starts as one request takes. */
const MOST = 500;

export interface ReadLines {
  inputs: unknown[];
  /** What is wrong with the first line that is no JSON, or that there are too many. */
  problem?: string;
}

/** The inputs of many runs, JSON on each line. Empty lines are none. */
export function readLines(text: string): ReadLines {
  const inputs: unknown[] = [];
  for (const [at, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue;
    if (inputs.length === MOST) return { inputs, problem: `More than ${MOST} inputs: send the rest afterwards.` };
    try {
      inputs.push(JSON.parse(line));
    } catch (error) {
      return { inputs, problem: `Line ${at + 1} is not JSON: ${(error as Error).message}` };
    }
  }
  return { inputs };
}
