import { describe, expect, test } from 'vitest';
import { parseMarkdown } from '../../src/chat/parse-markdown.ts';
import { toRequestTexts } from '../../src/chat/requests.ts';

describe('the text of a model', () => {
  test.each([
    ['# Head', [{ type: 'heading', level: 1, spans: [{ type: 'text', text: 'Head' }] }]],
    [
      'a **b** `c`',
      [{ type: 'paragraph', spans: [{ text: 'a ' }, { type: 'strong' }, { text: ' ' }, { type: 'code', text: 'c' }] }],
    ],
    [
      '```ts\nlet a = "<b>";\n```\nx',
      [{ type: 'code', language: 'ts', text: 'let a = "<b>";' }, { type: 'paragraph' }],
    ],
    ['```\nhalf', [{ type: 'code', language: '', text: 'half' }]],
    [
      '- a\n- b\n  - c\n\n1. d',
      [{ type: 'list', isOrdered: false, items: [[{}], [{}, { type: 'list' }]] }, { isOrdered: true }],
    ],
    ['7. a\n8. b', [{ type: 'list', isOrdered: true, start: 7 }]],
    ['> a\n> > b', [{ type: 'quote', blocks: [{ type: 'paragraph' }, { type: 'quote' }] }]],
    [
      '| a | b |\n|---|---|\n| 1 | `2` |',
      [{ type: 'table', head: [[{ text: 'a' }], [{ text: 'b' }]], rows: [[[{}], [{ type: 'code' }]]] }],
    ],
    ['a\n\n---\n\nb', [{ type: 'paragraph' }, { type: 'rule' }, { type: 'paragraph' }]],
    [
      'snake_case_name and 2 * 3 * 4',
      [{ type: 'paragraph', spans: [{ type: 'text', text: 'snake_case_name and 2 * 3 * 4' }] }],
    ],
    ['see https://a.example/b.', [{ type: 'paragraph', spans: [{ text: 'see ' }, { type: 'link' }] }]],
  ])('%j is blocks', (text, blocks) => {
    expect(parseMarkdown(text)).toMatchObject(blocks);
  });

  test('HTML, and links that would run something, stay text', () => {
    const text = '<img src=x onerror=alert(1)> [a](javascript:alert(1)) [b](data:text/html,x)';
    expect(parseMarkdown(text)).toEqual([{ type: 'paragraph', spans: [{ type: 'text', text }] }]);
  });

  test.each([
    ['one long line', 'a'.repeat(1_000_000)],
    ['brackets without end', '['.repeat(200_000)],
    ['stars', '**a '.repeat(100_000)],
    ['backticks', '`a\n'.repeat(20_000)],
    ['fences', '```\n'.repeat(20_001)],
    ['quotes in quotes', '>'.repeat(100_000)],
    ['lists in lists', Array.from({ length: 1_000 }, (_, n) => `${' '.repeat(2 * n)}- a`).join('\n')],
    ['items', '- a\n'.repeat(20_000)],
    ['items with empty lines', '- a\n\n'.repeat(10_000)],
    ['pipes', '|'.repeat(100_000)],
    ['rules of tables', `|a|\n${'|-'.repeat(50_000)}`],
    ['hashes', `# ${'# '.repeat(100_000)}`],
  ])('%s are read at once', { timeout: 30_000 }, (_, text) => {
    expect(parseMarkdown(text).length).toBeGreaterThan(0);
  });
});

describe('the same request for other clients', () => {
  const request = { baseUrl: 'http://127.0.0.1:4242', agent: 'desk', threadId: 'ada-1', message: 'It\'s "ok"\n$HOME' };

  test('names the agent, the session and the message in each', () => {
    const texts = toRequestTexts(request);
    expect(texts.map(({ id }) => id)).toEqual(['curl', 'curl-b', 'curl-agui', 'openai', 'anthropic', 'ai-sdk']);
    for (const { text } of texts) for (const part of ['desk', 'ada-1', 'BOX_KEY']) expect(text).toContain(part);
  });

  test('what is said is quoted for a shell and for JavaScript', () => {
    const [curl, , , ...others] = toRequestTexts(request);
    expect(curl?.text).toContain(
      String.raw`-d '{"model":"desk","messages":[{"role":"user","content":"It'\''s \"ok\"\n$HOME"}]}'`,
    );
    for (const { text } of others) expect(text).toContain(String.raw`"It's \"ok\"\n$HOME"`);
  });
});
