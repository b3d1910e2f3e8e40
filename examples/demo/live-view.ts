/**
 * Shows a run's stream in the terminal while it comes. A terminal cannot take back what it has written, so text that a
 * `reset` voids is followed by a note and begun anew.
 */
import type { StreamEvent } from '../../src/contract/stream-event.ts'
import type { Screen } from './screen.ts'
import { textAfter } from './visible-text.ts'

export function createLiveView(screen: Screen): (event: StreamEvent) => void {
  /** The current step's text, and how much of it stands on the screen. */
  let text = ''
  let shown = ''

  function show(): void {
    if (text === shown) return
    if (!text.startsWith(shown)) {
      screen.line('', '(the line above is void)', 'dim')
      shown = ''
    }
    screen.grow('assistant', text.slice(shown.length))
    shown = text
  }

  return (event) => {
    if (event.event === 'reset' && shown !== '') screen.line('', `(void: ${event.data.reason})`, 'dim')
    text = textAfter(text, event)
    switch (event.event) {
      case 'delta':
      case 'resync':
        return show()
      case 'step':
      case 'reset':
        shown = ''
        return
      case 'wait':
        return screen.line('wait', waiting(event.data), 'yellow')
      case 'tool_call':
        return screen.line(`tool ${event.data.n}`, event.data.label ?? 'at work', 'dim')
      case 'tool_result':
        return screen.line(`tool ${event.data.n}`, event.data.ok ? 'has answered' : 'has failed', 'dim')
      case 'done':
        return screen.line('done', doneText(event.data))
      default:
        // `start`, and whatever a later version sends.
        return
    }
  }
}

type Data<N extends StreamEvent['event']> = Extract<StreamEvent, { event: N }>['data']

function waiting({ reason, ms }: Data<'wait'>): string {
  return reason === 'retry' ? `the model could not answer; next try in ${ms} ms` : 'in the queue of this key'
}

function doneText({ status, pending, error }: Data<'done'>): string {
  const open = pending === 0 ? '' : `, calls that wait for a decision: ${pending}`
  return `${status}${open}${error === null ? '' : `: ${error.code}`}`
}
