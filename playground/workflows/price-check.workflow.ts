import { getStepMetadata, RetryableError } from '@svc/runtime';

const SUPPLIERS = ['fen', 'harbour', 'meadow'];

/** Asks all suppliers at the same time and takes the lowest price. */
export async function priceCheck(input: { item: string }) {
  'use workflow';
  const offers = await Promise.all(SUPPLIERS.map((supplier) => askPrice(supplier, input.item)));
  const [best] = offers.toSorted((a, b) => a.price - b.price);
  return { item: input.item, best, offers };
}

async function askPrice(supplier: string, item: string) {
  'use step';
  // The first call to this supplier fails, so that the run shows what a second attempt looks like.
  if (supplier === 'harbour' && getStepMetadata().attempt === 1) {
    throw new RetryableError('The harbour is busy.', { retryAfter: 200 });
  }
  return { supplier, price: 1_000 + ((supplier.length * 37 + item.length * 101) % 500) };
}
askPrice.maxRetries = 2;
