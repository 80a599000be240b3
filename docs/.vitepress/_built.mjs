// @ts-check
/** What is made of a site that is built: the check of its links to headings, and its pages as plain text for models. */
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { START, listGroups, readStart, toPath } from './_pages.mjs';

/**
 * @typedef {import('./_pages.mjs').Page} Page
 * @typedef {{ root: string, outDir: string, base: string }} Site
 */

/**
 * The links that name a heading which its page does not have. VitePress itself refuses those to pages that are not there.
 * @param {Site} site
 * @returns {string[]} page and link, a line each
 */
export function findDeadAnchors({ root, outDir, base }) {
  /** @type {Map<string, { anchors: Set<string>, links: URL[], file: string }>} by address */
  const known = new Map();
  for (const { file } of listPages(root)) {
    const address = new URL(`${base}${toPath(file)}.html`, 'http://site').pathname;
    const html = readFileSync(join(outDir, `${toPath(file)}.html`), 'utf8');
    const read = (/** @type {RegExp} */ pattern) => Array.from(html.matchAll(pattern), ([, text = '']) => text);
    known.set(address, {
      file,
      anchors: new Set(read(/ id="([^"]+)"/g)),
      links: read(/ href="([^"]*#[^"]+)"/g).map((href) => new URL(href, `http://site${address}`)),
    });
  }
  return Array.from(known.values()).flatMap(({ file, links }) =>
    links
      .filter(({ pathname, hash }) => {
        const page = known.get(pathname === base ? `${base}index.html` : pathname);
        return page && !page.anchors.has(decodeURIComponent(hash.slice(1)));
      })
      .map(({ pathname, hash }) => `${file}: ${pathname.replace(/\.html$/, '.md')}${hash}`),
  );
}

/**
 * Beside each page its text, `<page>.md`; `llms.txt`, which lists them; and `llms-full.txt`, which is all of them. What a
 * page links that is no page is put beside it, too.
 * @param {Site & { title: string, description: string }} site
 */
export function writeTexts({ root, outDir, base, title, description }) {
  const addressOf = (/** @type {Page} */ { file }) => `${base}${toPath(file)}.md`;
  const write = (/** @type {string} */ name, /** @type {string} */ text) => {
    mkdirSync(dirname(join(outDir, name)), { recursive: true });
    writeFileSync(join(outDir, name), text);
  };
  for (const page of listPages(root)) write(`${toPath(page.file)}.md`, `> All pages: ${base}llms.txt\n\n${page.text}`);
  // A link to the README as a file of the repository.
  write(START, readFileSync(join(outDir, 'index.md'), 'utf8'));
  const toLine = (/** @type {Page} */ page) => `- [${page.title}](${addressOf(page)}): ${summarise(page.text)}`;
  const lists = listGroups(root).map(({ text, pages }) => `## ${text}\n\n${pages.map(toLine).join('\n')}\n`);
  write('llms.txt', [`# ${title}\n`, `> ${description}\n`, `${toLine(readStart(root))}\n`, ...lists].join('\n'));
  const full = listPages(root).map((page) => `<!-- ${addressOf(page)} -->\n\n${page.text.trim()}\n`);
  write('llms-full.txt', full.join('\n'));
  for (const name of readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.json') && !name.startsWith('.')) cpSync(join(root, 'docs', name), join(outDir, 'docs', name));
}

// --- internal ---

/** @param {string} root */
function listPages(root) {
  return [readStart(root), ...listGroups(root).flatMap(({ pages }) => pages)];
}

/**
 * The first sentence of a page, as plain text on one line.
 * @param {string} text
 */
function summarise(text) {
  const [first = ''] = text.split(/\n{2,}/).filter((part) => !/^(?:#|<!|\||```)/.test(part));
  const plain = first.replaceAll('\n', ' ').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return (/^.*?\.(?= |$)/.exec(plain)?.[0] ?? plain).replace(/:$/, '.');
}
