/** The words for where a delivery stands and why an attempt failed: on the wire, in the journal, in the store. §2.4. */

/** `none`: there is no callback. `gone`: the receiver answered 410 and is sent nothing more. */
export const DELIVERY_STATES = ['none', 'pending', 'delivered', 'acked', 'undelivered', 'gone'] as const
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/**
 * Why an attempt failed, for programs; the sentence beside it is for people. The first three: an answer came and was no
 * 2xx. `not_sent`: refused by the egress rules, or nothing to sign it with. The others: no answer came, by where it
 * broke.
 */
export const DELIVERY_FAULTS = [
  'status',
  'redirect',
  'gone',
  'not_sent',
  'timeout',
  'dns',
  'connect',
  'tls',
  'reset',
  'protocol',
  'aborted',
] as const
export type DeliveryFault = (typeof DELIVERY_FAULTS)[number]
