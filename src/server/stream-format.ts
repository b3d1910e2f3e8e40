/**
 * The forms in which a run's stream can be read (SPEC §9.1): the engine's own, and those of `?format=`. Pure.
 *
 * A form is a writer of one reading: what it sends for each event as bytes of an event stream. An id of a foreign form is
 * the log's own with a mark behind it where that alone does not tell what its reader has.
 */
import type { StreamEvent } from '../contract/stream-event.ts'
import type { EventId, LoggedEvent } from '../runs/ports.ts'
import { createAgUiTranslator } from './ag-ui-stream.ts'
import { AI_SDK_HEADERS, createAiSdkTranslator } from './ai-sdk-stream.ts'
import { dataFrame, frame } from './sse.ts'
import type { Chunk, StreamTranslator } from './stream-translator.ts'

interface Format {
  readonly headers: Readonly<Record<string, string>>
  readonly create: () => StreamTranslator
}

const FORMATS = {
  'ai-sdk': { headers: AI_SDK_HEADERS, create: createAiSdkTranslator },
  'ag-ui': { headers: {}, create: createAgUiTranslator },
} as const satisfies Record<string, Format>

export type FormatName = keyof typeof FORMATS

/** What `?format=` may say. */
export const formatNames = Object.keys(FORMATS) as readonly FormatName[]

export function isFormat(name: string): name is FormatName {
  return Object.hasOwn(FORMATS, name)
}

/** The sign that sets a mark apart is never in an id of the log. */
const MARK_SIGN = '~'
const MARKED = /^([^~]*)~?(.*)$/s

/** One reading, in one form. */
interface StreamForm {
  /** Beside those of every event stream. */
  readonly headers: Readonly<Record<string, string>>
  /** The log's own id of the last event that the reader has whole. undefined: none. */
  readonly after: EventId | undefined
  /** Of what the reader has, in order; before `open`. */
  had(event: StreamEvent): void
  /** What stands before the first event. */
  open(): string
  write(event: LoggedEvent): string
  /** False where `had` need not be told anything. */
  readonly needsPast: boolean
}

/** `given`: the last id that the reader was sent in this form. */
export function openForm(name: FormatName | null, given: string | undefined): StreamForm {
  if (name === null) return ownForm(given)
  const { headers, create } = FORMATS[name]
  const translator = create()
  const [, log = '', mark = ''] = MARKED.exec(given ?? '') ?? []
  const after = log === '' ? undefined : log
  /** The last event that was sent whole. */
  let whole = after
  const bytes = (chunks: readonly Chunk[], id: EventId | undefined): string => {
    let text = ''
    for (const { data, place } of chunks) {
      const had = place?.whole === true ? id : whole
      text += dataFrame(data, place === null || had === undefined ? null : idOf(had, place.mark))
    }
    return text
  }
  return {
    headers,
    after,
    needsPast: after !== undefined,
    had: (event) => void translator.tell(event),
    open: () => bytes(translator.resume(mark), undefined),
    write({ id, event }) {
      const text = bytes(translator.tell(event), id)
      whole = id
      return text
    },
  }
}

function idOf(event: EventId, mark: string): string {
  return mark === '' ? event : `${event}${MARK_SIGN}${mark}`
}

/** The engine's own events. */
function ownForm(after: EventId | undefined): StreamForm {
  return { headers: {}, after, needsPast: false, had: () => undefined, open: () => '', write: frame }
}
