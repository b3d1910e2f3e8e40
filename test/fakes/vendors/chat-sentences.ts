/** What chat completions servers say of a broken request where a vendor has no words of its own: OpenAI's. */
import type { ChatSentences } from './chat-rules.ts'

export const CHAT_SENTENCES: ChatSentences = {
  unknownField: (field) => `Unrecognized request argument supplied: ${field}`,
  role: (index, role, allowed) =>
    `Invalid value: '${role}' at messages[${index}].role. Supported values are: ${allowed.join(', ')}.`,
  image: (index) => `Invalid content type at messages[${index}]. image_url is only supported by certain models.`,
  badParam: (field, allowed) => `Invalid value for '${field}': expected ${allowed}.`,
  forcedChoice: "Invalid value for 'tool_choice'.",
  reasoningMissing: (index) => `Missing \`reasoning_content\` field in the assistant message at message index ${index}`,
  empty: 'Invalid message: content or tool_calls must be set',
  noResults: (ids) =>
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${ids.join(', ')}`,
  noCall: () => "Messages with role 'tool' must be a response to a preceding message with 'tool_calls'.",
  badId: () => "Invalid 'tool_calls.id': string too long.",
  badArguments: (id) => `invalid function arguments json string, tool_call_id: ${id}`,
}
