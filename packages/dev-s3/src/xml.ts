import { S3Error } from './errors.ts';

/** One element to print: text, or child elements in order. */
export type XmlNode = readonly [name: string, content: string | number | boolean | readonly XmlNode[]];

/** One element that was read. `text` is its own text, children left out. */
export interface XmlElement {
  name: string;
  text: string;
  children: XmlElement[];
}

/** A whole document. Every S3 answer but an error carries the S3 namespace. */
export function formatXml(root: XmlNode, options: { namespace?: boolean } = {}): string {
  const [name, content] = root;
  const attribute = options.namespace === false ? '' : ` xmlns="${NAMESPACE}"`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name}${attribute}>${formatContent(content)}</${name}>`;
}

/** Reads the small documents that S3 requests carry. Doctypes and unknown entities are refused as `MalformedXML`. */
export function parseXml(source: string): XmlElement {
  const root: XmlElement = { name: '', text: '', children: [] };
  const open = [root];
  let position = 0;
  // Sticky: the first place where nothing fits ends the loop.
  for (const match of source.matchAll(TOKEN)) {
    position += match[0].length;
    readToken(match, open);
  }
  const [document] = root.children;
  if (position !== source.length || open.length !== 1 || root.children.length !== 1 || !document) throw malformed();
  return document;
}

export function childText(element: XmlElement, name: string): string | undefined {
  return element.children.find((child) => child.name === name)?.text;
}

// --- internal ---

const NAMESPACE = 'http://s3.amazonaws.com/doc/2006-03-01/';
const TOKEN =
  /<\?[^>]*\?>|<!--[\s\S]*?-->|<!\[CDATA\[(?<cdata>[\s\S]*?)\]\]>|<\/(?<close>[\w:.-]+)\s*>|<(?<open>[\w:.-]+)(?:\s[^<>]*?)?(?<empty>\/?)>|(?<text>[^<]+)/gy;
const ENTITIES: ReadonlyMap<string, string> = new Map([
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
  ['apos', "'"],
]);
const MAX_DEPTH = 8;

function formatContent(content: XmlNode[1]): string {
  if (typeof content !== 'object') return escapeText(String(content));
  return content.map(([name, inner]) => `<${name}>${formatContent(inner)}</${name}>`).join('');
}

function escapeText(text: string): string {
  // Control characters too: a key may hold any of them, and a bare carriage return would be read back as a newline.
  // oxlint-disable-next-line no-control-regex
  return text.replaceAll(/[&<>"\u0000-\u001F\u007F\uFFFE\uFFFF]/g, (character) => {
    const named = ESCAPES.get(character);
    return named ?? `&#x${character.charCodeAt(0).toString(16).toUpperCase()};`;
  });
}

const ESCAPES: ReadonlyMap<string, string> = new Map([
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
]);

function readToken(match: RegExpExecArray, open: XmlElement[]): void {
  const parent = open.at(-1);
  const groups = match.groups ?? {};
  if (!parent) throw malformed();
  if (groups['text'] !== undefined) parent.text += decodeText(groups['text']);
  else if (groups['cdata'] !== undefined) parent.text += groups['cdata'];
  else if (groups['close'] !== undefined) closeElement(open, localName(groups['close']));
  else if (groups['open'] !== undefined) {
    if (open.length > MAX_DEPTH) throw malformed();
    const element: XmlElement = { name: localName(groups['open']), text: '', children: [] };
    parent.children.push(element);
    if (groups['empty'] === '') open.push(element);
  }
}

function closeElement(open: XmlElement[], name: string): void {
  if (open.length < 2 || open.pop()?.name !== name) throw malformed();
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

function decodeText(text: string): string {
  return text.replaceAll(/&([^;&\s]*);?/g, (_, name: string) => {
    const named = ENTITIES.get(name);
    if (named !== undefined) return named;
    const code = /^#x[0-9a-f]{1,6}$/i.test(name)
      ? Number.parseInt(name.slice(2), 16)
      : /^#\d{1,7}$/.test(name)
        ? Number(name.slice(1))
        : Number.NaN;
    if (!(code <= 0x10ffff)) throw malformed();
    return String.fromCodePoint(code);
  });
}

function malformed(): S3Error {
  return new S3Error('MalformedXML', 'The XML of the request body is not well formed, or is not what this call takes.');
}
