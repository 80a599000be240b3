import { randomBytes } from 'node:crypto';
import { crc32, deflateSync } from 'node:zlib';
import type { Page } from 'playwright-core';

/** A picture of so many pixels each way, of which no two are the same, so that it stays as large as it is. */
export function toPng(pixels: number): string {
  const chunk = (type: string, data: Buffer): Buffer => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
    length.writeUInt32BE(data.length);
    sum.writeUInt32BE(crc32(body));
    return Buffer.concat([length, body, sum]);
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(pixels, 0);
  head.writeUInt32BE(pixels, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const rows = Buffer.concat(
    Array.from({ length: pixels }, () => Buffer.concat([Buffer.of(0), randomBytes(pixels * 3)])),
  );
  const parts = [chunk('IHDR', head), chunk('IDAT', deflateSync(rows)), chunk('IEND', Buffer.alloc(0))];
  return Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), ...parts]).toString('base64');
}

/** Pixels of each picture that is drawn; 0: it is not. */
export function widthsOf(page: Page): Promise<number[]> {
  return page.evaluate(`[...document.querySelectorAll('img')].map((image) => image.naturalWidth)`);
}
