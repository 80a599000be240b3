/** The order book. A real workspace would ask a database; this one has three orders, always the same. */
export interface Order {
  orderId: string;
  customer: string;
  item: string;
  /** In cents. */
  total: number;
  status: 'delivered' | 'shipped';
}

const ORDERS: readonly Order[] = [
  { orderId: 'A-100', customer: 'ada@example.com', item: 'Mechanical keyboard', total: 12_900, status: 'delivered' },
  { orderId: 'A-101', customer: 'ada@example.com', item: 'Desk lamp', total: 4_500, status: 'shipped' },
  { orderId: 'B-200', customer: 'lin@example.com', item: 'Office chair', total: 31_000, status: 'delivered' },
];

export function findOrder(orderId: string): Order | undefined {
  return ORDERS.find((order) => order.orderId === orderId);
}
