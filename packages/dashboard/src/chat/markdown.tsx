import { memo, useMemo } from 'react';
import type { ReactNode } from 'react';
import { Cut } from '../ui/cut.tsx';
import { parseMarkdown } from './parse-markdown.ts';
import type { Block, Span } from './parse-markdown.ts';

/** A longer text is shown as it is. */
const MOST = 40_000;

/** What a model says. It is made of elements, never of HTML. */
export const Markdown = memo(function Markdown({ text }: { text: string }) {
  const blocks = useMemo(() => (text.length > MOST ? undefined : parseMarkdown(text)), [text]);
  if (!blocks) return <LongText text={text} />;
  return <div className="space-y-2">{blocks.map(toElement)}</div>;
});

// --- internal ---

function LongText({ text }: { text: string }) {
  return (
    <Cut text={text} first={20_000}>
      {(shown) => (
        <pre tabIndex={0} className="max-h-96 overflow-auto font-sans wrap-anywhere whitespace-pre-wrap">
          {shown}
        </pre>
      )}
    </Cut>
  );
}

function toElement(block: Block, key: number): ReactNode {
  switch (block.type) {
    case 'heading':
      // Below the headings of the screen, whatever its level.
      return (
        <p key={key} dir="auto" className={`font-semibold ${block.level < 3 ? 'text-base' : ''}`}>
          {block.spans.map(toSpan)}
        </p>
      );
    case 'paragraph':
      return (
        <p key={key} dir="auto" className="wrap-anywhere whitespace-pre-wrap">
          {block.spans.map(toSpan)}
        </p>
      );
    case 'list': {
      const items = block.items.map((blocks, n) => (
        <li key={n} className="space-y-1">
          {blocks.map(toElement)}
        </li>
      ));
      return block.isOrdered ? (
        <ol key={key} start={block.start} className="list-decimal space-y-1 pl-6">
          {items}
        </ol>
      ) : (
        <ul key={key} className="list-disc space-y-1 pl-6">
          {items}
        </ul>
      );
    }
    case 'quote':
      return (
        <blockquote key={key} className="space-y-2 border-l-2 border-line pl-3 text-muted">
          {block.blocks.map(toElement)}
        </blockquote>
      );
    case 'code':
      return (
        <pre
          key={key}
          tabIndex={0}
          aria-label={block.language === '' ? 'Code' : `Code: ${block.language}`}
          role="region"
          className="overflow-x-auto rounded border border-line bg-page p-3 font-mono text-xs"
        >
          {block.text}
        </pre>
      );
    case 'table':
      return (
        <div key={key} tabIndex={0} role="region" aria-label="Table" className="overflow-x-auto">
          <table className="border-collapse text-left">
            <thead>
              <tr>
                {block.head.map((cell, n) => (
                  <th key={n} scope="col" className="border border-line px-2 py-1">
                    {cell.map(toSpan)}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {block.rows.map((row, n) => (
                <tr key={n}>
                  {row.map((cell, m) => (
                    <td key={m} className="border border-line px-2 py-1">
                      {cell.map(toSpan)}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      );
    case 'rule':
      return <hr key={key} className="border-line" />;
  }
}

function toSpan(span: Span, key: number): ReactNode {
  switch (span.type) {
    case 'text':
      return span.text;
    case 'code':
      return (
        <code key={key} className="rounded bg-raised px-1 font-mono text-[0.92em]">
          {span.text}
        </code>
      );
    case 'strong':
      return <strong key={key}>{span.spans.map(toSpan)}</strong>;
    case 'em':
      return <em key={key}>{span.spans.map(toSpan)}</em>;
    case 'link':
      return (
        <a key={key} href={span.href} target="_blank" rel="noreferrer noopener" className="text-accent underline">
          {span.spans.map(toSpan)}
        </a>
      );
  }
}
