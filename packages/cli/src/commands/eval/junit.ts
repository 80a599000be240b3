import type { EvalRun } from './eval-run.ts';

/** The results as JUnit XML: a test a case, which fails unless all of its samples pass. */
export function toJUnit(run: EvalRun): string {
  const tests = run.cases.map(toTest);
  const count = (kind: Test['kind']) => tests.filter((test) => test.kind === kind).length;
  const time = tests.reduce((sum, test) => sum + test.seconds, 0).toFixed(3);
  const attributes = { name: run.suite, tests: tests.length, failures: count('failure'), errors: count('error'), time };
  const properties = [
    ['evalRunId', run.id],
    ['status', run.status],
    ['passed', String(run.passed)],
    ['score', String(run.score)],
    ...run.summary.gates.map(({ gate, wanted, got }) => [`gate ${gate}`, `${got} of ${wanted}`]),
  ];
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites${toAttributes({ tests: tests.length, failures: attributes.failures, errors: attributes.errors, time })}>`,
    `  <testsuite${toAttributes({ ...attributes, timestamp: run.createdAt })}>`,
    '    <properties>',
    ...properties.map(([name = '', value = '']) => `      <property${toAttributes({ name, value })}/>`),
    '    </properties>',
    ...tests.map(({ lines }) => lines),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

// --- internal ---

interface Test {
  kind: 'passed' | 'failure' | 'error' | 'skipped';
  seconds: number;
  lines: string;
}

function toTest({ name, target, samples, cells, passRate, score }: EvalRun['cases'][number]): Test {
  const seconds = samples.reduce((sum, { latencyMs }) => sum + (latencyMs ?? 0), 0) / 1_000;
  const head = `    <testcase${toAttributes({ name, classname: `${target.kind}.${target.name}`, time: seconds.toFixed(3) })}`;
  if (passRate === null) return { kind: 'skipped', seconds, lines: `${head}><skipped/></testcase>` };
  const runs = samples.flatMap(({ runId }) => (runId === null ? [] : [`svc runs get ${runId}`])).join('\n');
  if (passRate === 1)
    return { kind: 'passed', seconds, lines: `${head}><system-out>${escapeText(runs)}</system-out></testcase>` };
  const broken = samples.find(({ error }) => error !== null);
  const kind = broken ? 'error' : 'failure';
  const failed = cells.filter((cell) => cell.passRate < 1);
  const message = broken?.error ?? `score ${score?.mean.toFixed(3)}: ${failed.map(({ scorer }) => scorer).join(', ')}`;
  const said = failed.map(
    ({ scorer, mean, note }) => `${scorer} ${mean.toFixed(3)}${note === null ? '' : `: ${note}`}`,
  );
  const body = escapeText([...said, runs].join('\n'));
  return { kind, seconds, lines: `${head}><${kind}${toAttributes({ message })}>${body}</${kind}></testcase>` };
}

function toAttributes(attributes: Record<string, string | number>): string {
  return Object.entries(attributes)
    .map(
      ([name, value]) =>
        ` ${name}="${escapeText(String(value))
          .replaceAll('"', '&quot;')
          .replaceAll(/[\n\t\r]/g, ' ')}"`,
    )
    .join('');
}

/** What XML may not hold at all is left out. */
function escapeText(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\t\n\r\u0020-\uD7FF\uE000-\uFFFD\u{10000}-\u{10FFFF}]/gu, '')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
