/** Who asks in the demo, and what the shop knows of them. */
import type { Order } from './shop.ts'

export const CUSTOMER = 'u_15'

export const exampleOrders: readonly Order[] = [
  {
    id: '12345',
    customer: CUSTOMER,
    item: 'blue teapot',
    state: 'delivered',
    delivered_on: '2026-11-28',
    total: 39.9,
    currency: 'EUR',
  },
  {
    id: '12399',
    customer: 'u_16',
    item: 'garden bench',
    state: 'in the warehouse',
    delivered_on: '',
    total: 180,
    currency: 'EUR',
  },
]
