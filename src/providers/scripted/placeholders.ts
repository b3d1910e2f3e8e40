/**
 * Placeholders of a script: `{{last_user_message}}`, `{{results.<tool>}}` and `{{results.<tool>.orders.0.status}}`. Pure.
 *
 * A path goes into the newest result of that tool, by field names and list indexes. What is not there, or a call that ended
 * in an error, gives an empty text; other text in braces stays as it is. What is filled in is never read again.
 */
import { isJsonObject, type Json, type JsonObject } from '../../contract/json.ts'
import type { StoredMessage } from '../../contract/message.ts'

const PLACEHOLDER = /\{\{\s*(last_user_message|results\.[^{}\s]+)\s*\}\}/g
const ALONE = /^\{\{\s*(last_user_message|results\.[^{}\s]+)\s*\}\}$/

/** The time a user message is shown with. The model is asked not to repeat it, and this one obeys. */
const STAMP = /^\[[A-Z][a-z]{2} \d{4}-\d{2}-\d{2} \d{2}:\d{2} [+-]\d{2}:\d{2}\] ?/

export function fillText(template: string, messages: readonly StoredMessage[]): string {
  if (!template.includes('{{')) return template
  return template.replace(PLACEHOLDER, (_whole, name: string) => asText(lookUp(name, messages)))
}

/**
 * Arguments with their texts filled in. A text that is one placeholder and nothing else becomes the value itself, so that a
 * number stays a number.
 */
export function fillArgs(args: JsonObject, messages: readonly StoredMessage[]): JsonObject {
  return Object.fromEntries(Object.entries(args).map(([key, value]) => [key, fill(value, messages)]))
}

function fill(value: Json, messages: readonly StoredMessage[]): Json {
  if (typeof value === 'string') {
    const [, name] = ALONE.exec(value) ?? []
    return name === undefined ? fillText(value, messages) : (lookUp(name, messages) ?? '')
  }
  if (Array.isArray(value)) return value.map((item: Json) => fill(item, messages))
  return isJsonObject(value) ? fillArgs(value, messages) : value
}

function lookUp(name: string, messages: readonly StoredMessage[]): Json | undefined {
  if (name === 'last_user_message') return lastUserText(messages)
  const [, tool, ...path] = name.split('.')
  const newest = messages.findLast((message) => message.role === 'tool' && message.tool === tool)
  let value: Json | undefined = newest?.role === 'tool' && newest.is_error !== true ? newest.result : undefined
  for (const key of path) value = inside(value, key)
  return value
}

function inside(value: Json | undefined, key: string): Json | undefined {
  if (Array.isArray(value)) return /^\d{1,9}$/.test(key) ? (value[Number(key)] as Json | undefined) : undefined
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
}

function lastUserText(messages: readonly StoredMessage[]): string {
  const last = messages.findLast((message) => message.role === 'user')
  const texts = last?.role === 'user' ? last.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])) : []
  return texts.join('\n').replace(STAMP, '')
}

function asText(value: Json | undefined): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
