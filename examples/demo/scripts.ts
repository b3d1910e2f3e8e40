/**
 * What the scripted model plays (SPEC §3.2), one script a run: a list with one entry a step. The engine treats it like any
 * other model: its 429 is retried, its calls are checked and run, its text is streamed.
 */

/** A piece a few characters long each 25 ms: about the pace at which a model speaks. */
function said(text: string) {
  return { text, chunk: 4, pace_ms: 25 }
}

/** The first request is refused for being one too many; the second one looks the order up; then it answers. */
export const orderScript = [
  {
    attempts: [
      [{ status: 429, retry_after_s: 0.8 }],
      [said('One moment, I am looking it up.'), { tool_call: { name: 'getOrder', args: { orderId: '12345' } } }],
    ],
  },
  [
    said(
      'Order {{results.getOrder.id}}, the {{results.getOrder.item}}, was {{results.getOrder.state}} on ' +
        '{{results.getOrder.delivered_on}}. Has it not reached you?',
    ),
  ],
]

/** The order is known from the history, so the refund is asked for at once. */
export const refundScript = [
  [
    said('I am sorry to hear that. I have asked for your money back; a colleague decides in a moment.'),
    {
      tool_call: {
        name: 'createRefund',
        args: {
          orderId: '{{results.getOrder.id}}',
          amount: '{{results.getOrder.total}}',
          reason: '{{last_user_message}}',
        },
      },
    },
  ],
]

/** The run that goes on after the approval sees what came of it. */
export const approvedScript = [
  [
    said(
      'It is done: refund {{results.createRefund.refund_id}} of {{results.createRefund.amount}} ' +
        '{{results.createRefund.currency}} is on its way to you.',
    ),
  ],
]
