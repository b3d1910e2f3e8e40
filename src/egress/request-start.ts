/**
 * Tells the moment at which a request begins to leave: its connection stands, and nothing of it was written before. It changes
 * nothing about the request. undici calls `onRequestStart` then, and not before.
 */
import { DecoratorHandler, type Dispatcher } from 'undici'

/** For `Dispatcher.compose`, of one request. */
export function noticeStart(onStart: () => void): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) => dispatch(options, new Noticing(handler, onStart))
}

class Noticing extends DecoratorHandler implements Dispatcher.DispatchHandler {
  readonly #handler: Dispatcher.DispatchHandler
  readonly #onStart: () => void

  constructor(handler: Dispatcher.DispatchHandler, onStart: () => void) {
    super(handler)
    this.#handler = handler
    this.#onStart = onStart
  }

  onRequestStart(...start: Parameters<NonNullable<Dispatcher.DispatchHandler['onRequestStart']>>): void {
    this.#onStart()
    this.#handler.onRequestStart?.(...start)
  }
}
