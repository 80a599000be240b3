import type { Approval, ListedApproval } from '../approvals/approval.ts';
import type { Life } from './life.ts';

/** Something that waits for a person. */
export interface TestApproval extends Approval {
  approve(answer?: { note?: string; input?: unknown }): Promise<void>;
  reject(answer?: { note?: string }): Promise<void>;
  /** Approves with other arguments, or with what the workflow gets as `input`. */
  edit(input: unknown, answer?: { note?: string }): Promise<void>;
}

export interface TestApprovals {
  /** The oldest that is pending; waits for one, for 5 seconds at most. */
  next(): Promise<TestApproval>;
  /** All that are pending, oldest first, once nothing moves any more. */
  list(): Promise<TestApproval[]>;
}

export function createTestApprovals(life: () => Life): TestApprovals {
  const decide = async (id: string, decision: 'approve' | 'reject', answer: object = {}): Promise<void> =>
    void (await life().call(`POST /api/approvals/${id}/decide`, { decision, ...answer }));
  const toTestApproval = (approval: Approval): TestApproval => {
    const { approvalId: id } = approval;
    return {
      ...approval,
      approve: (answer) => decide(id, 'approve', answer),
      reject: (answer) => decide(id, 'reject', answer),
      edit: (input, answer) => decide(id, 'approve', { ...answer, input }),
    };
  };
  const read = async (): Promise<TestApproval[]> => {
    const route = 'GET /api/approvals?status=pending&limit=100';
    const { items } = await life().call<{ items: ListedApproval[] }>(route);
    const whole = await Promise.all(
      items.map(async ({ cut, ...approval }) =>
        cut.length === 0 ? approval : life().call<Approval>(`GET /api/approvals/${approval.approvalId}`),
      ),
    );
    return whole.map(toTestApproval).reverse();
  };
  return {
    async next() {
      const end = performance.now() + PATIENCE_MS;
      for (;;) {
        const [first] = await read();
        if (first) return first;
        if (performance.now() > end) throw new Error('Nothing waits for a person.');
        await life().alive(new Promise((resolve) => setTimeout(resolve, 5)));
      }
    },
    async list() {
      await life().settle(SETTLE_MS);
      return read();
    },
  };
}

// --- internal ---

const SETTLE_MS = 20_000;
const PATIENCE_MS = 5_000;
