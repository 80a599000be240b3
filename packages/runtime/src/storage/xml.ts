import { parseXml, XmlElement } from '@rgrove/parse-xml';

export type { XmlElement };

/** The root of the document. Throws when it is not well formed. */
export function readRoot(text: string): XmlElement {
  const { root } = parseXml(text);
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
