import { Document, HeadingLevel, Packer, Paragraph, Table, TableCell, TableRow } from 'docx';
import PdfDocument from 'pdfkit';

// Files as real programs write them.

export function toPdf(
  pages: readonly string[],
  options: PDFKit.PDFDocumentOptions = {},
): Promise<Uint8Array<ArrayBuffer>> {
  const pdf = new PdfDocument({ autoFirstPage: false, ...options });
  const chunks: Buffer[] = [];
  pdf.on('data', (chunk: Buffer) => chunks.push(chunk));
  const done = new Promise<void>((resolve) => pdf.on('end', resolve));
  for (const text of pages) pdf.addPage().text(text);
  pdf.end();
  return done.then(() => new Uint8Array(Buffer.concat(chunks)));
}

export async function toDocx(): Promise<Uint8Array<ArrayBuffer>> {
  const cell = (text: string) => new TableCell({ children: [new Paragraph(text)] });
  const document = new Document({
    sections: [
      {
        children: [
          new Paragraph({ text: 'Handbook', heading: HeadingLevel.HEADING_1 }),
          new Paragraph('How orders are refunded.'),
          new Paragraph({ text: 'Limits', heading: HeadingLevel.HEADING_2 }),
          new Paragraph({ text: 'Up to 50 euros: at once', bullet: { level: 0 } }),
          new Paragraph({ text: 'Above: a person decides', bullet: { level: 0 } }),
          new Table({
            rows: [
              new TableRow({ children: [cell('Country'), cell('Days')] }),
              new TableRow({ children: [cell('Österreich'), cell('14')] }),
            ],
          }),
        ],
      },
    ],
  });
  return new Uint8Array(await Packer.toBuffer(document));
}
