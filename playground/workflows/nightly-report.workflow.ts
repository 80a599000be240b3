import { sleep } from '@svc/runtime';

/** One run at a time; a start that comes meanwhile is queued and begins when it is its turn. */
export const serial = true;

/** Five fields: minute, hour, day of the month, month, day of the week. */
export const schedules = [{ cron: '0 3 * * *', timeZone: 'Europe/Madrid', input: { day: 'yesterday' } }];

export async function nightlyReport(input: { day: string }) {
  'use workflow';
  const total = await sumOrders(input.day);
  await sleep('1s');
  return { day: input.day, total };
}

async function sumOrders(day: string) {
  'use step';
  return day.length * 1_000;
}
