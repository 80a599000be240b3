/** What a function that can only print has printed, line by line. It must not wait for anything. */
export function captureLines(print: () => void): string[] {
  const lines: string[] = [];
  const own = console.log;
  console.log = (...parts: unknown[]) => void lines.push(parts.join(' '));
  try {
    print();
  } finally {
    console.log = own;
  }
  return lines;
}
