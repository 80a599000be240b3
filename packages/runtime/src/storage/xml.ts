import { parseXml, XmlElement } from '@rgrove/parse-xml';

export type { XmlElement };

/** The root of the document. Throws when it is not well formed, or has more in it than a backend says. */
export function readRoot(text: string): XmlElement {
  requireSmall(text);
  // The parser would copy what follows for each of them.
  const { root } = parseXml(text.replaceAll(/\r\n?/g, '\n'));
  if (!root) throw new Error('The document is empty.');
  return root;
}

/** The children of that name, whatever prefix a backend writes before it. */
export function listChildren(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter(
    (child): child is XmlElement => child instanceof XmlElement && child.name.replace(/^.*:/, '') === name,
  );
}

export function childText(element: XmlElement, name: string): string | undefined {
  return listChildren(element, name)[0]?.text;
}

// --- internal ---

/** A page of 1,000 keys has some 30,000. It is read in one go: all else of the process waits for it. */
const MOST_MARKS = 100_000;

function requireSmall(text: string): void {
  let marks = 0;
  for (const mark of ['<', '=', '&'])
    for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1))
      if (++marks > MOST_MARKS) throw new Error('The document has too much in it.');
}
