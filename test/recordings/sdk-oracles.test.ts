/**
 * Every recorded answer through the SDK of the vendor whose protocol it is: text, tool calls and usage must be what our dialects
 * read. Where the SDK reads something else, or refuses an answer, the reason is listed; a listed difference that is none fails.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { text } from '../../src/providers/wire-value.ts'
import { readChunks } from './reading.ts'
import { bytesOf, perProvider, recordings, skipped, type Recording } from './recordings.ts'
import { sdkReading, type Gist } from './sdk-reading.ts'

const answers = recordings.filter(({ kind }) => kind !== 'error')

/** `refused`: the SDK throws. */
type Fact = keyof Gist | 'refused'

const ITERATIONS = 'the SDK keeps the fields of usage that it knows and drops `iterations`, in which other counts are'
const ERROR_INSIDE = 'an error inside the stream: the SDK throws it, ours is the fault of the reading'
const NO_REASON = 'the helper wants a finish reason; this server sends none'

const DIFFERS: readonly (readonly [file: string, fact: Fact, reason: string])[] = [
  ['anthropic/ai-compaction.sse', 'usage', ITERATIONS],
  ['anthropic/pyd-advisor-tool.sse', 'usage', ITERATIONS],
  ['anthropic/pyd-compaction-cache-usage.sse', 'usage', ITERATIONS],
  ['anthropic/sdk-fable-refusal.sse', 'usage', ITERATIONS],
  [
    'anthropic/sdk-max-tokens-in-tool-json.sse',
    'calls',
    'the SDK mends the arguments of a call that the length limit cut; a cut call is never run here',
  ],
  ['groq/pyd-tool-error-1.sse', 'refused', ERROR_INSIDE],
  ['openai/ai-error-insufficient-quota.sse', 'refused', ERROR_INSIDE],
  ['openrouter/pyd-minimax-error-in-chunk.sse', 'refused', ERROR_INSIDE],
  ['kimi/gomodel-thinking-length.sse', 'usage', 'the SDK does not look for usage inside a choice'],
  ['mistral/ai-glm-incremental-tool-call.sse', 'refused', 'the helper wants a role in the first delta'],
  [
    'mistral/pyd-magistral-thinking.sse',
    'text',
    'content as a list of parts is not in the types: the helper joins objects as if they were texts',
  ],
  ['openai/ai-apply-patch.sse', 'refused', 'events of a built-in tool that this version of the SDK does not know'],
  ['openai/ai-copilot-id-rotation.sse', 'refused', 'a gateway that changes the id of the response with every event'],
  ['openai/pyd-background-resume.sse', 'refused', 'a resumed stream has no `response.created`'],
  ['openai/pyd-moderation-chat.sse', 'usage', 'the helper lets the null of a later chunk stand'],
  ['openrouter/llm-kimi-noargs-a.sse', 'refused', NO_REASON],
  ['snowflake/pyd-text.sse', 'refused', NO_REASON],
]

function ourGist(recording: Recording): Gist {
  const { reading } = readChunks(recording, [bytesOf(recording)])
  return {
    text: reading.parts.map((part) => (part.type === 'text' ? part.text : '')).join(''),
    calls: reading.parts.flatMap((part) =>
      part.type === 'tool_call' ? [{ id: text(part.provider_data?.['id']), name: part.tool, args: part.args }] : [],
    ),
    usage: reading.rawUsage,
  }
}

/** What the SDK reads otherwise; null: there is no SDK for this protocol. */
async function differing(recording: Recording): Promise<Fact[] | null> {
  const asked = sdkReading(recording)
  if (asked === null) return null
  const theirs = await asked.then(
    (gist) => JSON.parse(JSON.stringify(gist)) as Gist,
    () => null,
  )
  if (theirs === null) return ['refused']
  const ours = ourGist(recording)
  return (['text', 'calls', 'usage'] as const).filter((fact) => !isDeepStrictEqual(theirs[fact], ours[fact]))
}

test('recorded answers are read as the SDKs of the vendors read them', { skip: skipped }, async (t) => {
  const compared: Recording[] = []
  const found: string[] = []
  for (const recording of answers) {
    const facts = await differing(recording)
    if (facts === null) continue
    compared.push(recording)
    found.push(...facts.map((fact) => `${recording.file}: ${fact}`))
  }
  t.diagnostic(`read by our dialects: ${perProvider(answers)}`)
  t.diagnostic(`compared with an SDK: ${perProvider(compared)}; GigaChat has none`)
  for (const [file, fact, reason] of DIFFERS) t.diagnostic(`differs: ${file}: ${fact}: ${reason}`)
  assert.deepEqual(found.toSorted(), DIFFERS.map(([file, fact]) => `${file}: ${fact}`).toSorted())
})
